"""Kernels for another processor's vector instructions than those of the machine that Inductor runs on."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from contextlib import contextmanager
from unittest import mock

from torch._inductor import cpu_vec_isa

from torch2cpp.backends.exported.export import NotExportable
from torch2cpp.toolchain.targets.target import Target, architecture_of

#: Inductor's settings for other machines: no flag and no layout of weights of this one.
FOR_OTHERS = {"cpp.march": "", "cpp.vec_isa_ok": True, "cpp.weight_prepack": False}
#: By processor, Inductor's name of the vectors that all of its kind have; of others, the compiler makes what it can of
#: kernels that work number by number.
_VECTORS = {"aarch64": cpu_vec_isa.VecNEON}


@contextmanager
def vectors_of(target: Target) -> Iterator[None]:
    """Inductor writes kernels for the target within; it would ask the processor at hand otherwise."""
    if target.native:
        yield
        return
    kind = _VECTORS.get(architecture_of(target).processor)
    known = [kind()] if kind is not None else []
    # All who pick one ask this function of the module, whatever name they know the picking one by.
    with mock.patch.object(cpu_vec_isa, "valid_vec_isa_list", lambda: known):
        yield


def check_vectors(definitions: Collection[str], target: Target) -> None:
    """Raises NotExportable where the code is not for the target's vectors: it would compile and compute garbage."""
    if target.native:
        return
    kind = _VECTORS.get(architecture_of(target).processor)
    wanted = kind._macro if kind is not None else []
    capabilities = {d for d in definitions if d.startswith("CPU_CAPABILITY")}
    if capabilities != {d for d in wanted if d.startswith("CPU_CAPABILITY")}:
        raise NotExportable(f"Inductor wrote code for {', '.join(sorted(capabilities)) or 'no vectors'}")
