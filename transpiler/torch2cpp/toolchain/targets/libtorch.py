"""libtorch of a target: out of PyTorch's package for that platform, or a folder that the user has."""

from __future__ import annotations

import re
import shutil
import zipfile
from collections.abc import Callable
from pathlib import Path, PurePosixPath

from torch2cpp.toolchain.targets.elf import Glibc, of_glibc, read_elf
from torch2cpp.toolchain.targets.fetch import downloaded, platforms, unpack
from torch2cpp.toolchain.targets.target import Architecture, TargetError

#: Libraries that libtorch_cpu links with in builds for CUDA, and the packages they are in. It loads them and,
#: where there is no GPU, never calls them.
_CUDA = {
    "libcudart.so": "nvidia-cuda-runtime==13.0.96",
    "libcupti.so": "nvidia-cuda-cupti==13.0.85",
}
#: What the toolchain brings.
_OF_TOOLCHAIN = ("libstdc++.so", "libgcc_s.so")


def fetch_libtorch(known: Architecture, glibc: Glibc, release: str, site: Path, say: Callable[[str], None]) -> Path:
    """Unpacks libtorch's CPU part of a release below `site`; gives the folder with include/ and lib/."""
    tags = platforms(known, glibc)
    folder = site / "torch"
    say(f"fetching libtorch {release} for {known.name}, some hundred megabytes")
    with downloaded(f"torch=={release}", tags) as wheel:
        say(f"unpacking {wheel.name}")
        shutil.rmtree(site, ignore_errors=True)
        unpack(wheel, lambda name: name.startswith("torch/include/"), site)
        missing = _unpack_libraries(wheel, "libtorch_cpu.so", site)
    for name in sorted(missing):
        package = next((p for prefix, p in _CUDA.items() if name.startswith(prefix)), None)
        if package is None:
            raise TargetError(f"libtorch_cpu.so of {release} needs {name}, and no package is known that has it")
        say(f"fetching {package} for {name}")
        with downloaded(package, tags) as wheel:
            found = unpack(wheel, _named(name), site)
        if not found:
            raise TargetError(f"{package} has no {name}")
        # Beside libtorch, where its own libraries are looked for first.
        shutil.move(found[0], folder / "lib" / name)
    return folder


def _named(name: str) -> Callable[[str], bool]:
    return lambda path: PurePosixPath(path).name == name


def _unpack_libraries(wheel: Path, first: str, site: Path) -> set[str]:
    """A library and what it needs of the same wheel; gives what that has not."""
    with zipfile.ZipFile(wheel) as archive:
        places = {PurePosixPath(name).name: name for name in archive.namelist() if ".so" in PurePosixPath(name).name}
    todo, done, missing = [first], {first}, set()
    while todo:
        name = todo.pop()
        if name not in places:
            missing.add(name)
            continue
        path = unpack(wheel, places[name].__eq__, site)[0]
        more = [
            n for n in read_elf(path).needed if n not in done and not of_glibc(n) and not n.startswith(_OF_TOOLCHAIN)
        ]
        done |= set(more)
        todo += more
    return missing


def libtorch_version(folder: Path, known: Architecture) -> str:
    """The release of a libtorch. Raises TargetError for a folder that is none, or one for another machine."""
    library = folder / "lib" / "libtorch_cpu.so"
    header = folder / "include/torch/headeronly/version.h"
    for path in (library, header):
        if not path.is_file():
            raise TargetError(f"{folder} is no libtorch: it has no {path.relative_to(folder)}")
    machine = read_elf(library).machine
    if machine != known.machine:
        raise TargetError(f"{library} is for {machine}, not for {known.machine}")
    version = header_version(header.read_text())
    if version is None:
        raise TargetError(f"{header} names no release")
    return version


def header_version(text: str) -> str | None:
    """The release that a `version.h` of libtorch names.

    >>> header_version("#define TORCH_VERSION_MAJOR 2\\n#define TORCH_VERSION_MINOR 13\\n#define TORCH_VERSION_PATCH 0")
    '2.13.0'
    """
    numbers = [re.search(rf"TORCH_VERSION_{part} (\d+)", text) for part in ("MAJOR", "MINOR", "PATCH")]
    return ".".join(n[1] for n in numbers if n) if all(numbers) else None
