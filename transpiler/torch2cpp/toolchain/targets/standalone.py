"""Targets of programs without libtorch: a cross compiler is all they need, and nothing is set up or fetched."""

from __future__ import annotations

from torch2cpp.toolchain.targets.store import (
    Installed,
    find_compiler,
    find_target,
    libc_of,
    torch_release,
)
from torch2cpp.toolchain.targets.target import ARCHITECTURES, Architecture, TargetError
from torch2cpp.toolchain.tools import torch_folder


def installed_alone(known: Architecture) -> Installed:
    """Compiler and C library: those the target was set up with where it was, else the compiler on the PATH.

    Raises TargetError where there is none. Headers are the running torch's: they are the same for all machines.
    """
    compiler, sysroot = None, None
    if known.name in ARCHITECTURES:
        try:
            added = find_target(known.name)
            compiler, sysroot = added.compiler, added.sysroot
        except TargetError:
            pass
    chosen = find_compiler(known, compiler)
    glibc = libc_of(chosen, sysroot, known)
    return Installed(known.name, chosen, sysroot, str(torch_folder()), torch_release(), glibc)
