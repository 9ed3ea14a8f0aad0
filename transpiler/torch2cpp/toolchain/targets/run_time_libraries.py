"""Run-time libraries of backends for a target, out of the package of the version that is installed here."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import final

from torch2cpp.toolchain.targets.elf import Glibc, read_elf
from torch2cpp.toolchain.targets.fetch import downloaded, platforms, unpack
from torch2cpp.toolchain.targets.target import Architecture, TargetError


@final
@dataclass(frozen=True, slots=True)
class Library:
    """Where a package has the library."""

    package: str
    #: How the paths of the files wanted begin.
    prefixes: tuple[str, ...]
    #: How the library's file name begins.
    file: str


#: By backend.
LIBRARIES: Mapping[str, Library] = {
    "onnxruntime": Library("onnxruntime", ("onnxruntime/capi/libonnxruntime.so",), "libonnxruntime.so"),
}


def fetch_library(backend: str, known: Architecture, glibc: Glibc, site: Path, say: Callable[[str], None]) -> Path:
    """The path of the backend's library for the target, unpacked below `site`. Raises TargetError."""
    library = LIBRARIES[backend]
    release = version(library.package)
    say(f"fetching {library.package} {release}")
    shutil.rmtree(site / library.package, ignore_errors=True)
    with downloaded(f"{library.package}=={release}", platforms(known, glibc)) as wheel:
        files = unpack(wheel, lambda name: name.startswith(library.prefixes), site)
    found = next((path for path in files if path.name.startswith(library.file)), None)
    if found is None:
        raise TargetError(f"the package {library.package} {release} for {known.name} has no {library.file}")
    machine = read_elf(found).machine
    if machine != known.machine:
        raise TargetError(f"{found} is for {machine}, not for {known.machine}")
    return found.resolve()
