"""The same model over libtorch: what a program without it is measured against."""

from __future__ import annotations

import copy
from dataclasses import replace
from functools import lru_cache

from torch2cpp.bench.rivals import CannotRun
from torch2cpp.pipeline import transpile
from torch2cpp.project import Project


@lru_cache(maxsize=1)
def over_libtorch(project: Project) -> Project:
    """Transpiles the project's model again, with the same options but the runtime. Raises CannotRun."""
    options = project.transpiled.options
    if options.runtime == "libtorch":
        raise CannotRun("the program itself runs over libtorch; bench it with --runtime slim")
    every = project.transpiled.calls
    examples = [args for _, args in every] if len(options.entries) == 1 else list(every)
    out = options.out.parent / f"{options.out.name}_libtorch"
    changed = replace(options, runtime="libtorch", static=False, max_sizes={}, out=out, dump_dir=None)
    other = Project(project.model, transpile(copy.deepcopy(project.model), examples, changed))
    other.build(runner=False)
    return other
