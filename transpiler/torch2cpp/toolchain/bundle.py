"""The folder that is copied to a device: it holds everything the program needs but the C library.

NAME_run, verify       the command-line program and the self-test; they look for libraries in lib/ beside them
lib/                   the libraries they need, and those these need
weights.safetensors    the weights
golden/                inputs and results recorded from Python, for the self-test
model.json             what it was made from
"""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import final

from torch2cpp.toolchain.build import BuildFailed, Built, build
from torch2cpp.toolchain.targets.elf import Glibc, closure, find_in, read_elf
from torch2cpp.toolchain.targets.store import sysroot_flags
from torch2cpp.toolchain.targets.target import Target, TargetError
from torch2cpp.toolchain.targets.toolchain import Toolchain, toolchain_of
from torch2cpp.toolchain.tools import cmake

#: Libraries of the compiler, which the device may have in an older version.
_OF_COMPILER = ("libstdc++.so.6", "libgcc_s.so.1")


@final
@dataclass(frozen=True, slots=True)
class Bundle:
    """What was made."""

    folder: Path
    #: File or folder, and its size in bytes.
    parts: tuple[tuple[str, int], ...]
    #: The oldest glibc of a device that it runs on.
    glibc: Glibc


def make_bundle(project: Path, out: Path, target: str | None = None) -> Bundle:
    """Builds the project for its target and gathers what a device needs in `out`, which is replaced.

    Raises TargetError for a folder that is no project, one that is not whole, or one for another target than
    `target`, and where `out` is something else than a bundle; BuildFailed where it does not compile.
    """
    name, machine = _made_for(project)
    if target is not None and target != machine.name:
        raise TargetError(
            f"{project} was compiled for {machine.name}, not for {target}: compile it with --target {target}"
        )
    toolchain = toolchain_of(machine)
    for part in ("weights.safetensors", "golden"):
        if not (project / part).exists():
            raise TargetError(f"{project} has no {part}: compile it again")
    if out.exists() and not _is_bundle(out):
        raise TargetError(f"{out} is there and is no bundle: name another folder")
    # Without libtorch one executable needs no libraries beside it.
    settings = {"TORCH2CPP_BUNDLE": "ON"} | ({} if machine.libtorch else {"TORCH2CPP_STATIC": "ON"})
    built = build(project, name, target=machine, more=settings)
    shutil.rmtree(out, ignore_errors=True)
    _install(built, out)
    for each in ("weights.safetensors", "model.json"):
        shutil.copy(project / each, out / each)
    shutil.copytree(project / "golden", out / "golden")
    programs = [out / f"{name}_run", out / "verify"]
    libraries = _libraries(programs, built, toolchain)
    copies = {out / "lib" / soname: path for soname, path in libraries.items()}
    for copy, path in copies.items():
        copy.parent.mkdir(exist_ok=True)
        shutil.copy(path, copy)
    return Bundle(out, _parts(out), _glibc([*programs, *copies], toolchain))


def _made_for(project: Path) -> tuple[str, Target]:
    """Name and target of a project."""
    path = project / "model.json"
    try:
        manifest = json.loads(path.read_text())
        target = manifest["target"]
        # Projects of earlier versions do not say: they rest on libtorch.
        libtorch = manifest.get("runtime", "libtorch") == "libtorch"
        return manifest["name"], Target(target["name"], target.get("cpu"), libtorch=libtorch)
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise TargetError(f"{project} is no project of torch2cpp: its model.json cannot be read ({error})") from error


def _is_bundle(folder: Path) -> bool:
    if not folder.is_dir():
        return False
    return not any(folder.iterdir()) or ((folder / "verify").exists() and (folder / "model.json").exists())


def _install(built: Built, out: Path) -> None:
    command = [cmake(), "--install", str(built.folder), "--component", "bundle", "--strip"]
    done = subprocess.run([*command, "--prefix", str(out.absolute())], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise BuildFailed(f"could not install the emitted project:\n{done.stdout}{done.stderr}")


def _libraries(programs: Iterable[Path], built: Built, toolchain: Toolchain) -> dict[str, Path]:
    """By soname, what the programs need."""
    folders = [toolchain.torch / "lib", built.folder / "onnxruntime"]
    folders += [path.parent for path in toolchain.libraries.values()]
    find = find_in([*folders, *_compiler_folders(toolchain)])
    return {soname: path.resolve() for soname, path in closure(programs, find).items()}


def _compiler_folders(toolchain: Toolchain) -> list[Path]:
    sysroot = toolchain.installed.sysroot if toolchain.installed else None
    out = []
    for name in _OF_COMPILER:
        command = [toolchain.compiler, *sysroot_flags(sysroot), f"-print-file-name={name}"]
        path = Path(subprocess.run(command, capture_output=True, text=True, check=False).stdout.strip())
        if path.is_file():
            out.append(path.parent)
    return out


def _glibc(files: Iterable[Path], toolchain: Toolchain) -> Glibc:
    """The newest glibc that a file needs. Raises TargetError for a file of another machine."""
    newest: Glibc = (0, 0)
    for path in files:
        elf = read_elf(path)
        if toolchain.architecture is not None and elf.machine != toolchain.architecture.machine:
            raise TargetError(f"{path.name} is for {elf.machine}, not for {toolchain.architecture.machine}")
        newest = max(newest, elf.glibc)
    if toolchain.installed is not None and newest > toolchain.installed.glibc:
        needed, there = (".".join(map(str, each)) for each in (newest, toolchain.installed.glibc))
        raise TargetError(f"it needs glibc {needed}, and the target's is {there}")
    return newest


def _parts(folder: Path) -> tuple[tuple[str, int], ...]:
    def size(path: Path) -> int:
        return sum(p.stat().st_size for p in path.rglob("*") if p.is_file()) if path.is_dir() else path.stat().st_size

    entries = [p for p in sorted(folder.iterdir()) if p.name != "lib"] + sorted((folder / "lib").glob("*"))
    return tuple((str(p.relative_to(folder)), size(p)) for p in entries)
