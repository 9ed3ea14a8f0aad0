"""For which vector instructions Inductor writes kernels: the target's, and on this machine all that it has."""

from __future__ import annotations

import subprocess
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from functools import lru_cache
from unittest import mock

from torch._inductor import cpu_vec_isa

from torch2cpp.backends.exported.export import NotExportable
from torch2cpp.toolchain.targets.target import Target, architecture_of
from torch2cpp.toolchain.tools import compiler

#: Inductor's settings for other machines: no flag and no layout of weights of this one.
FOR_OTHERS = {"cpp.march": "", "cpp.vec_isa_ok": True, "cpp.weight_prepack": False}
#: By processor, Inductor's name of the vectors that all of its kind have; of others, the compiler makes what it can of
#: kernels that work number by number.
_VECTORS = {"aarch64": cpu_vec_isa.VecNEON}
#: The first compilers with all instructions that Inductor may ask for, but for those of `_NEWER`.
_LEAST = {"__GNUC__": 12, "__clang_major__": 16}
_NEWER = "-mamx-fp16"


@contextmanager
def vectors_of(target: Target) -> Iterator[None]:
    """Inductor writes kernels for the target within; it would ask the processor at hand otherwise."""
    if target.native:
        with mock.patch.object(cpu_vec_isa.VecISA, "check_build", _compiles):
            yield
        return
    kind = _VECTORS.get(architecture_of(target).processor)
    known = [kind()] if kind is not None else []
    # All who pick one ask this function of the module, whatever name they know the picking one by.
    with mock.patch.object(cpu_vec_isa, "valid_vec_isa_list", lambda: known):
        yield


_asking = cpu_vec_isa.VecISA.check_build


def _compiles(vectors: cpu_vec_isa.VecISA, code: str) -> bool:
    """Whether the compiler knows the processor's vectors. Inductor compiles a program for each, some seconds in all."""
    return (_is_new(compiler()) and _NEWER not in vectors.build_arch_flags()) or _asking(vectors, code)


@lru_cache
def _is_new(path: str) -> bool:
    command = [path, "-x", "c++", "-E", "-dM", "/dev/null"]
    told = subprocess.run(command, capture_output=True, text=True, check=False).stdout
    found = dict(line.split(maxsplit=2)[1:] for line in told.splitlines() if len(line.split()) > 2)
    # Clang gives itself out as an old GCC too.
    name = "__clang_major__" if "__clang_major__" in found else "__GNUC__"
    return int(found.get(name, 0)) >= _LEAST[name]


def check_vectors(definitions: Collection[str], target: Target) -> None:
    """Raises NotExportable where the code is not for the target's vectors: it would compile and compute garbage."""
    if target.native:
        return
    kind = _VECTORS.get(architecture_of(target).processor)
    wanted = kind._macro if kind is not None else []
    capabilities = {d for d in definitions if d.startswith("CPU_CAPABILITY")}
    if capabilities != {d for d in wanted if d.startswith("CPU_CAPABILITY")}:
        raise NotExportable(f"Inductor wrote code for {', '.join(sorted(capabilities)) or 'no vectors'}")
