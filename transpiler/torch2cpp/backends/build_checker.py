"""Builds the program that runs compiled regions on samples.

The launcher keeps every object by content: what is checked here is the object that the emitted
project links, compiled once.
"""

from __future__ import annotations

import platform
import subprocess
import sys
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from torch2cpp.backends.interface import Interface
from torch2cpp.backends.protocol import Package, Target, Unit
from torch2cpp.backends.runtimes import LIBTORCH, Runtime
from torch2cpp.backends.sample_file import SEED
from torch2cpp.emit.environment import render, shipped
from torch2cpp.toolchain import launcher
from torch2cpp.toolchain.targets.toolchain import Toolchain, toolchain_of
from torch2cpp.toolchain.tools import jobs

#: As the emitted project's release build compiles (templates/project/CMakeLists.txt.j2).
FLAGS = ("-O2", "-DNDEBUG", "-std=c++20", "-fPIC", "-fvisibility=hidden", "-fvisibility-inlines-hidden")
#: As that does on processors other than x86-64.
OTHER_FLAGS = ("-ffp-contract=off", "-fsigned-char")
#: What almost every region needs of the runtime library.
_USUAL_RUNTIME = ("arithmetic.cpp", "errors.cpp", "shim.cpp")


class BuildError(Exception):
    """The C++ compiler or linker failed; the message ends with what it said."""


def build_checker(
    interfaces: Sequence[Interface],
    sources: Mapping[str, str],
    units: Sequence[Unit],
    link: Iterable[str],
    folder: Path,
    cache: Path,
    packages: Sequence[Package] = (),
    toolchain: Toolchain | None = None,
    below: Runtime = LIBTORCH,
) -> Path:
    """Writes the sources below `folder`, compiles what is not in `cache`, links. Raises BuildError.

    Natively without `toolchain`, else for its target.
    """
    toolchain = toolchain or toolchain_of(Target())
    folder = folder.absolute()
    folder.mkdir(parents=True, exist_ok=True)
    if not (folder / "runtime").exists():
        (folder / "runtime").symlink_to(shipped("runtime_cpp"), target_is_directory=True)
    cache.mkdir(parents=True, exist_ok=True)
    given = {path: text for path, text in below.files().items() if not path.startswith("runtime/")}
    for path, text in (given | dict(sources)).items():
        target = folder / path
        target.parent.mkdir(parents=True, exist_ok=True)
        if not target.exists() or target.read_text(encoding="utf-8") != text:
            target.write_text(text, encoding="utf-8")
    main = folder / "check_regions.cpp"
    compiled = "src/regions/compiled_border.h" in sources
    main.write_text(
        render("regions/check_main.cpp.j2", regions=interfaces, compiled=compiled, slim=below.is_slim, seed=SEED),
        encoding="utf-8",
    )
    program = folder / "check_regions"
    source = folder / "runtime" / "src"

    def compile_all(wanted: Iterable[tuple[Path, Unit]]) -> list[Path]:
        with ThreadPoolExecutor(jobs()) as pool:
            return list(pool.map(lambda w: compile_unit(w[0], w[1], folder, cache, packages, toolchain, below), wanted))

    def link_all(objects: Iterable[Path]) -> None:
        options = _link_options(link, packages, toolchain, below)
        _run([toolchain.compiler, *toolchain.flags, *map(str, objects), "-o", str(program), *options])

    usual = (*_USUAL_RUNTIME, *below.support)
    runtime = [(source / name, Unit(name)) for name in usual]
    runtime += [(folder / u.path, u) for u in below.units(toolchain.target)]
    objects = compile_all([*((folder / u.path, u) for u in units), (main, Unit(main.name)), *runtime])
    try:
        link_all(objects)
    except BuildError:
        # Regions with unusual host operations need more of the runtime library.
        rest = sorted(p for p in source.glob("*.cpp") if p.name not in usual)
        link_all([*objects, *compile_all((path, Unit(path.name)) for path in rest)])
    return program


def compile_unit(
    source: Path,
    unit: Unit,
    folder: Path,
    cache: Path,
    packages: Sequence[Package],
    toolchain: Toolchain,
    below: Runtime = LIBTORCH,
) -> Path:
    """Compiles with the very command of the emitted project, so that either finds the other's objects."""
    out = folder / "objects" / f"{source.relative_to(folder)}.o"
    out.parent.mkdir(parents=True, exist_ok=True)
    definitions = sorted(f"-D{d}" for d in unit.definitions)
    includes = [f"-I{folder / 'src'}", f"-I{folder / 'runtime/include'}", *(f"-I{folder / i}" for i in below.includes)]
    for system in below.system_includes or (str(toolchain.torch / "include"),):
        includes += ["-isystem", str(folder / system)]
    if source.is_relative_to(folder / "runtime"):
        del includes[0]
    elif unit.path != source.name:
        # As the regions' library of the project has them.
        includes += [option for package in packages for option in package.compile_options]
    outputs = ["-MD", "-MT", str(out), "-MF", f"{out}.d", "-o", str(out)]
    keep = [sys.executable, "-S", "-E", launcher.__file__, str(cache), str(folder)]
    processor = toolchain.architecture.processor if toolchain.architecture else platform.machine()
    flags = (*toolchain.flags, *FLAGS, *(() if processor in ("x86_64", "AMD64") else OTHER_FLAGS), *below.flags)
    _run([*keep, toolchain.compiler, *definitions, *includes, *flags, *unit.flags, *outputs, "-c", str(source)])
    return out


def _link_options(link: Iterable[str], packages: Sequence[Package], toolchain: Toolchain, below: Runtime) -> list[str]:
    if below.is_slim:
        return list(below.link_options)
    lib = toolchain.torch / "lib"
    options = [f"-L{lib}", f"-Wl,-rpath,{lib}", f"-Wl,-rpath-link,{lib}", "-Wl,--no-as-needed"]
    options += ["-ltorch_cpu", "-lc10"]
    options += [option for package in packages for option in package.link_options]
    return [*options, "-fopenmp"] if "openmp" in link else options


def _run(command: Sequence[str]) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        errors = [line for line in done.stderr.splitlines() if "error" in line or "undefined" in line]
        raise BuildError("\n".join((errors or done.stderr.splitlines())[:12]))
