"""The same model as another emitted program, which one is measured against."""

from __future__ import annotations

import copy
from dataclasses import replace
from functools import lru_cache

from torch2cpp.backends.registry import UnknownBackend
from torch2cpp.bench.result import LIBTORCH
from torch2cpp.bench.rivals import CannotRun
from torch2cpp.pipeline import transpile
from torch2cpp.project import Project


@lru_cache(maxsize=2)
def otherwise(project: Project, name: str) -> Project:
    """Transpiles the project's model again with the same options, but over libtorch, and with ONNX Runtime for its
    regions where the rival `name` says so. Raises CannotRun.
    """
    options = project.transpiled.options
    backend = options.backend if name == LIBTORCH else "onnxruntime"
    if options.runtime == "libtorch" and backend == options.backend:
        raise CannotRun("the program itself is this one; bench it with --runtime slim")
    every = project.transpiled.calls
    examples = [args for _, args in every] if len(options.entries) == 1 else list(every)
    out = options.out.parent / f"{options.out.name}_{name}"
    changed = replace(options, runtime="libtorch", backend=backend, static=False, max_sizes={}, out=out, dump_dir=None)
    try:
        other = Project(project.model, transpile(copy.deepcopy(project.model), examples, changed))
    except UnknownBackend as error:
        raise CannotRun(str(error)) from error
    other.build(runner=False)
    return other
