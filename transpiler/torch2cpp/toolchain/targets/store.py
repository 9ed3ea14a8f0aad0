"""What targets are built with: found or fetched once by `torch2cpp target add`, kept in the cache folder."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import final

import torch

from torch2cpp.toolchain.targets.elf import Glibc, read_elf
from torch2cpp.toolchain.targets.libtorch import fetch_libtorch, libtorch_version
from torch2cpp.toolchain.targets.run_time_libraries import LIBRARIES, fetch_library
from torch2cpp.toolchain.targets.target import ARCHITECTURES, Architecture, TargetError, architecture
from torch2cpp.toolchain.tools import cache_folder

#: Called with what is being done.
Say = Callable[[str], None]


@final
@dataclass(frozen=True, slots=True)
class Installed:
    """What a target is built with."""

    name: str
    #: The C++ compiler for it.
    compiler: str
    #: Its root folder as that compiler should see it; the compiler's own where None.
    sysroot: str | None
    #: The libtorch for it, with include/ and lib/, and its release.
    libtorch: str
    torch: str
    #: The glibc of its C library.
    glibc: Glibc
    #: Libraries of backends, by the backend's name.
    libraries: Mapping[str, str] = field(default_factory=dict)


def torch_release() -> str:
    """The running torch's release, without what tells builds apart: 2.13.0."""
    return torch.__version__.split("+")[0]


def target_folder(name: str) -> Path:
    """Where everything of a target is kept."""
    return cache_folder() / "targets" / name


def add_target(
    name: str,
    *,
    libtorch: Path | None = None,
    sysroot: Path | None = None,
    compiler: str | None = None,
    backends: Sequence[str] | None = None,
    say: Say = lambda _: None,
) -> Installed:
    """Makes a target known: finds its compiler, fetches what is not given, checks all of it.

    `libtorch` and `sysroot` are folders the user has; `backends` are those whose library is fetched, by
    default those whose Python package is installed. Raises TargetError with what is missing.
    """
    known = architecture(name)
    chosen = find_compiler(known, compiler)
    if sysroot is not None and not sysroot.is_dir():
        raise TargetError(f"there is no sysroot {sysroot}")
    root = str(sysroot.resolve()) if sysroot else None
    glibc = libc_of(chosen, root, known)
    say(f"compiler {chosen}, glibc {glibc[0]}.{glibc[1]}")
    folder = target_folder(name)
    site = folder / "site-packages"
    if libtorch is None:
        libtorch = fetch_libtorch(known, glibc, torch_release(), site, say)
    libtorch = libtorch.resolve()
    found = libtorch_version(libtorch, known)
    if found != torch_release():
        raise TargetError(
            f"{libtorch} is libtorch {found}, and the PyTorch that transpiles is {torch_release()}: "
            "what is generated fits its own release only"
        )
    say(f"libtorch {found} in {libtorch}")
    libraries = {}
    for backend in _wanted(backends):
        libraries[backend] = str(fetch_library(backend, known, glibc, site, say))
    installed = Installed(name, chosen, root, str(libtorch), found, glibc, libraries)
    folder.mkdir(parents=True, exist_ok=True)
    # What is made of it anew: the emulated machine's files follow from compiler and sysroot.
    shutil.rmtree(folder / "emulated", ignore_errors=True)
    partial = folder / "target.json.part"
    partial.write_text(json.dumps(asdict(installed), indent=2) + "\n")
    partial.replace(folder / "target.json")
    return installed


def _wanted(backends: Sequence[str] | None) -> list[str]:
    if backends is None:
        return [name for name, library in LIBRARIES.items() if _version(library.package)]
    for name in backends:
        if name not in LIBRARIES:
            raise TargetError(f"no library is fetched for backend {name}; there are {', '.join(LIBRARIES)}")
        if not _version(LIBRARIES[name].package):
            raise TargetError(f"backend {name} is not installed: pip install 'torch2cpp[{name}]'")
    return list(backends)


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def find_compiler(known: Architecture, chosen: str | None) -> str:
    """The path of the C++ compiler for a target. Raises TargetError with how to get one."""
    if chosen is not None:
        found = shutil.which(chosen)
        if found is None:
            raise TargetError(f"there is no compiler {chosen}")
    else:
        candidates = [f"{known.name}-g++", *(f"{known.name}-g++-{n}" for n in range(20, 10, -1))]
        found = next((path for name in candidates if (path := shutil.which(name))), None)
        if found is None:
            raise TargetError(
                f"no C++ compiler for {known.name} was found: install {known.packages[0]} "
                "(its name on Debian and Ubuntu), or name one with --compiler"
            )
    machine = _output(found, "-dumpmachine")
    if not machine.startswith(f"{known.processor}-"):
        raise TargetError(f"{found} compiles for {machine or 'an unknown machine'}, not for {known.name}")
    return found


def libc_of(compiler: str, sysroot: str | None, known: Architecture) -> Glibc:
    """The version of the C library that programs are linked with. Raises TargetError for none, or another one."""
    path = Path(_output(compiler, *sysroot_flags(sysroot), "-print-file-name=libc.so.6"))
    if not path.is_file():
        place = f"the sysroot {sysroot}" if sysroot else f"what {compiler} links with"
        raise TargetError(f"there is no glibc (libc.so.6) in {place}; --sysroot says where the target's is")
    elf = read_elf(path)
    if elf.machine != known.machine:
        raise TargetError(f"{path} is for {elf.machine}, not for {known.machine}")
    return elf.defines


def sysroot_flags(sysroot: str | None) -> tuple[str, ...]:
    """How the compiler is told."""
    return (f"--sysroot={sysroot}",) if sysroot else ()


def _output(*command: str) -> str:
    return subprocess.run(command, capture_output=True, text=True, check=False).stdout.strip()


def find_target(name: str) -> Installed:
    """What a target is built with. Raises TargetError where it was not added, or for another release of torch."""
    architecture(name)
    path = target_folder(name) / "target.json"
    if not path.is_file():
        raise TargetError(f"target {name} is not set up here: run `torch2cpp target add {name}` once")
    try:
        entry = json.loads(path.read_text())
        installed = Installed(**{**entry, "glibc": tuple(entry["glibc"])})
    except (ValueError, TypeError, KeyError) as error:
        raise TargetError(f"{path} cannot be read ({error}): run `torch2cpp target add {name}` again") from error
    if installed.torch != torch_release():
        raise TargetError(
            f"target {name} was set up for PyTorch {installed.torch}, and this is {torch_release()}: "
            f"run `torch2cpp target add {name}` again"
        )
    for what in (installed.compiler, installed.libtorch, *installed.libraries.values()):
        if not Path(what).exists():
            raise TargetError(f"target {name} needs {what}, which is gone: run `torch2cpp target add {name}` again")
    return installed


def targets_added() -> list[str]:
    """The targets that were set up, whether or not they are still whole."""
    return [name for name in ARCHITECTURES if (target_folder(name) / "target.json").is_file()]
