"""Builds the program that runs compiled regions on samples, with the objects kept for reuse.

Objects are named by what they are made from (compiler, flags, every source and header of the
artifact and the runtime), so that a region is compiled once however often it is checked.
"""

from __future__ import annotations

import hashlib
import re
import shutil
import subprocess
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from pathlib import Path

import torch

from torch2cpp.backends.interface import Interface
from torch2cpp.backends.protocol import Unit
from torch2cpp.emit.environment import render, shipped

#: As the emitted project's release build compiles.
FLAGS = ("-std=c++20", "-O2", "-fPIC", "-fvisibility=hidden")
#: What almost every region needs of the runtime library.
_USUAL_RUNTIME = ("arithmetic.cpp", "errors.cpp", "shim.cpp")
TORCH = Path(torch.__file__).parent


class BuildError(Exception):
    """The C++ compiler or linker failed; the message ends with what it said."""


def runtime_root() -> Path:
    """The runtime library's folder."""
    return shipped("runtime_cpp")


@lru_cache(maxsize=1)
def compiler() -> str:
    """The C++ compiler."""
    found = shutil.which("g++") or shutil.which("c++")
    if found is None:
        raise BuildError("no C++ compiler was found: install g++")
    return found


def build_checker(
    interfaces: Sequence[Interface],
    sources: Mapping[str, str],
    units: Sequence[Unit],
    link: Iterable[str],
    folder: Path,
    cache: Path,
) -> Path:
    """Writes the sources below `folder`, compiles what is not in `cache`, links. Raises BuildError."""
    folder.mkdir(parents=True, exist_ok=True)
    cache.mkdir(parents=True, exist_ok=True)
    for path, text in sources.items():
        target = folder / path
        target.parent.mkdir(parents=True, exist_ok=True)
        if not target.exists() or target.read_text(encoding="utf-8") != text:
            target.write_text(text, encoding="utf-8")
    main = folder / "check_regions.cpp"
    compiled = "src/regions/aoti_border.h" in sources
    main.write_text(render("regions/check_main.cpp.j2", regions=interfaces, compiled=compiled), encoding="utf-8")
    objects = [_compile(folder / u.path, _options(u), folder, cache) for u in units]
    objects.append(_compile(main, (), folder, cache))
    program = folder / "check_regions"

    def link_with(runtime: Iterable[Path]) -> None:
        made = [*objects, *(_compile(path, (), folder, cache) for path in sorted(runtime))]
        _run([compiler(), *map(str, made), "-o", str(program), *_link_options(link)])

    source = runtime_root() / "src"
    try:
        link_with(source / name for name in _USUAL_RUNTIME)
    except BuildError:
        # Regions with unusual host operations need more of the runtime library.
        link_with(source.glob("*.cpp"))
    return program


def _options(unit: Unit) -> tuple[str, ...]:
    return (*unit.flags, *(f"-D{d}" for d in unit.definitions))


_INCLUDE = re.compile(r'^\s*#include\s+["<]([^">]+)[">]', re.MULTILINE)


def _text_with_includes(source: Path, folder: Path) -> str:
    """The file and all that it includes from the project and the runtime, each once."""
    seen: dict[Path, str] = {}
    todo = [source.resolve()]
    while todo:
        path = todo.pop()
        if path in seen:
            continue
        seen[path] = path.read_text(encoding="utf-8")
        for name in _INCLUDE.findall(seen[path]):
            places = (path.parent, folder / "src", runtime_root() / "include")
            todo += [(p / name).resolve() for p in places if (p / name).is_file()][:1]
    return "\0".join(f"{path.name}\0{seen[path]}" for path in sorted(seen))


def _compile(source: Path, options: tuple[str, ...], folder: Path, cache: Path) -> Path:
    includes = (
        f"-I{folder / 'src'}",
        f"-I{runtime_root() / 'include'}",
        f"-isystem{TORCH / 'include'}",
        f"-isystem{TORCH / 'include/torch/csrc/api/include'}",
    )
    parts = (torch.__version__, _version(), *FLAGS, *options, _text_with_includes(source, folder))
    out = cache / f"{hashlib.sha256(chr(0).join(parts).encode()).hexdigest()[:32]}.o"
    if not out.exists():
        partial = out.with_suffix(".partial")
        _run([compiler(), *FLAGS, *options, *includes, "-c", str(source), "-o", str(partial)])
        partial.rename(out)
    return out


@lru_cache(maxsize=1)
def _version() -> str:
    return subprocess.run([compiler(), "--version"], capture_output=True, text=True, check=True).stdout


def _link_options(link: Iterable[str]) -> list[str]:
    lib = TORCH / "lib"
    options = [f"-L{lib}", f"-Wl,-rpath,{lib}", "-Wl,--no-as-needed", "-ltorch", "-ltorch_cpu", "-lc10"]
    return [*options, "-fopenmp"] if "openmp" in link else options


def _run(command: Sequence[str]) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        errors = [line for line in done.stderr.splitlines() if "error" in line or "undefined" in line]
        raise BuildError("\n".join((errors or done.stderr.splitlines())[:12]))
