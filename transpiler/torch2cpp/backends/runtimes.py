"""What lies below the C ABI of an emitted program: libtorch, or slim, which is part of the program."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import final

from torch2cpp.backends.protocol import Backend, Unit
from torch2cpp.backends.registry import REFERENCE, UnknownBackend, create
from torch2cpp.toolchain.targets.target import Target


def _no_units(target: Target) -> tuple[Unit, ...]:
    return ()


def _no_files() -> Mapping[str, str]:
    return {}


@final
@dataclass(frozen=True, slots=True)
class Runtime:
    """One of the two."""

    name: str
    #: The backend that takes what the others do not.
    reference: str
    #: A backend by its name; raises UnknownBackend for one that does not go with the runtime.
    create: Callable[[str], Backend]
    #: Folders of headers in the project beyond its own, `-I` ones and `-isystem` ones; libtorch's are elsewhere.
    includes: tuple[str, ...] = ()
    system_includes: tuple[str, ...] = ()
    #: Compiler and linker options beyond the project's.
    flags: tuple[str, ...] = ()
    link_options: tuple[str, ...] = ()
    #: Translation units that a program for a machine needs beside the support library, by their paths in the project.
    units: Callable[[Target], tuple[Unit, ...]] = _no_units
    #: Sources of the support library that those units call.
    support: tuple[str, ...] = ()
    #: Files that a project gets, by path; the runtime's own sources lie in runtime/ wherever regions are checked.
    files: Callable[[], Mapping[str, str]] = _no_files

    @property
    def is_slim(self) -> bool:
        """Whether programs need no libtorch."""
        return self.name == "slim"


class UnknownRuntime(ValueError):
    """There is no runtime of that name."""


#: What a program does not use is left out of it.
_SECTIONS, _UNUSED = ("-ffunction-sections", "-fdata-sections"), "-Wl,--gc-sections"
LIBTORCH = Runtime("libtorch", REFERENCE, create, flags=_SECTIONS, link_options=(_UNUSED,))


def choose_runtime(name: str) -> Runtime:
    """The runtime of that name. Raises UnknownRuntime."""
    if name == LIBTORCH.name:
        return LIBTORCH
    if name == "slim":
        return _slim()
    raise UnknownRuntime(f"there is no runtime {name}; there are libtorch, slim")


def _slim() -> Runtime:
    from torch2cpp.backends.slim.files import HEADERS, INCLUDES, slim_files, slim_units

    return Runtime(
        "slim",
        "slim",
        _create_slim,
        includes=INCLUDES,
        system_includes=(HEADERS,),
        flags=_SECTIONS,
        link_options=(_UNUSED, "-pthread", "-fopenmp"),
        units=slim_units,
        support=("dtypes.cpp", "slice.cpp", "tensor.cpp", "tensor_ops.cpp", "tensor_views.cpp"),
        files=slim_files,
    )


def _create_slim(name: str) -> Backend:
    from torch2cpp.backends.slim import SlimBackend, SlimInductorBackend

    if name == SlimBackend.name:
        return SlimBackend()
    if name == SlimInductorBackend.name:
        return SlimInductorBackend()
    raise UnknownBackend(f"backend {name} needs libtorch: with --runtime slim there is aotinductor")
