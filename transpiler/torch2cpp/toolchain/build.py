"""Configures and builds an emitted project with CMake and Ninja."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import sysconfig
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import final

import pybind11

from torch2cpp.toolchain import launcher
from torch2cpp.toolchain.targets.target import Target
from torch2cpp.toolchain.targets.toolchain import Toolchain, toolchain_of
from torch2cpp.toolchain.tools import cache_folder, cmake, jobs, ninja

#: Called with (steps done, steps in all, what is being built).
Progress = Callable[[int, int, str], None]
_STEP = re.compile(r"^\[(\d+)/(\d+)\] (.*)")
#: How much of a compiler's output is shown.
_MOST_LINES, _MOST_PLACES = 40, 8
_PLACE = re.compile(r"^(/[^:]+):(\d+):(?:\d+:)? (?:fatal )?error: ", re.MULTILINE)


class BuildFailed(RuntimeError):
    """The emitted project did not configure or compile: a fault of ours. Carries the compiler's words."""


@final
@dataclass(frozen=True, slots=True)
class Built:
    """Where the binaries of a project are."""

    folder: Path
    name: str

    @property
    def runner(self) -> Path:
        """The command-line program."""
        return self.folder / f"{self.name}_run"

    @property
    def module(self) -> Path:
        """The pybind11 module."""
        suffix = sysconfig.get_config_var("EXT_SUFFIX")
        return self.folder / "python" / f"{self.name}{suffix}"

    @property
    def library(self) -> Path:
        """The static library."""
        return self.folder / f"lib{self.name}.a"


def build(
    project: Path,
    name: str,
    *,
    python: bool = False,
    runner: bool = True,
    warnings: bool = False,
    progress: Progress | None = None,
    target: Target | None = None,
    more: dict[str, str] | None = None,
) -> Built:
    """Builds `project` in its folder build/, for another machine in a folder of that name below.

    `more` are further settings of CMake. Raises BuildFailed with the emitted lines that did not compile,
    TargetError for a target that is not set up.
    """
    toolchain = toolchain_of(target or Target())
    folder = project / toolchain.build_folder
    settings = (
        _settings(project, python, warnings, toolchain)
        | (more or {})
        | {
            f"{name.upper()}_RUNNER": "ON" if runner else "OFF",
            f"{name.upper()}_C_API": "ON" if runner else "OFF",
        }
    )
    _configure(project, folder, settings)
    _run([cmake(), "--build", str(folder), "-j", str(jobs())], "build", project, progress)
    return Built(folder, name)


def build_together(
    folder: Path,
    projects: Sequence[tuple[Path, str]],
    *,
    python: bool = False,
    warnings: bool = False,
    progress: Progress | None = None,
) -> None:
    """Builds the libraries of several projects (folder below `folder`, name) in one CMake run.

    Each has its binaries in its own folder build/, as `build` leaves them. Raises BuildFailed, after all
    that compiles is built.
    """
    lines = ["cmake_minimum_required(VERSION 3.25)", "project(together LANGUAGES CXX)"]
    for project, _ in projects:
        # Objects are found again by what is the same wherever a project lies, so each names its own folder.
        lines.append(f'set(CMAKE_CXX_COMPILER_LAUNCHER "{";".join(_launcher(project))}")')
        lines.append(f'add_subdirectory("{project}" "{project / "build"}")')
    (folder / "CMakeLists.txt").write_text("\n".join(lines) + "\n")
    _configure(folder, folder / "build", _settings(folder, python, warnings, toolchain_of(Target())))
    command = [cmake(), "--build", str(folder / "build"), "-j", str(jobs()), "--", "-k", "0"]
    _run(command, "build", folder, progress)


def _settings(project: Path, python: bool, warnings: bool, toolchain: Toolchain) -> dict[str, str]:
    settings = toolchain.cmake_settings | {
        "CMAKE_BUILD_TYPE": "Release",
        "CMAKE_MAKE_PROGRAM": ninja(),
        "CMAKE_CXX_COMPILER_LAUNCHER": ";".join(_launcher(project)),
        # Where the packages of Python are that bring further libraries.
        "TORCH2CPP_PYTHON_PROGRAM": sys.executable,
        "TORCH2CPP_PYTHON": "ON" if python else "OFF",
        "TORCH2CPP_WARNINGS": "ON" if warnings else "OFF",
        "TORCH2CPP_BUNDLE": "OFF",
    }
    if not toolchain.target.native:
        settings["CMAKE_TOOLCHAIN_FILE"] = str(project.absolute() / f"cmake/toolchains/{toolchain.target.name}.cmake")
    if python:
        settings |= {"pybind11_DIR": pybind11.get_cmake_dir(), "Python3_EXECUTABLE": sys.executable}
    return settings


def _configure(project: Path, folder: Path, settings: Mapping[str, str]) -> None:
    command = [cmake(), "-S", str(project), "-B", str(folder), "-G", "Ninja"]
    _run([*command, *(f"-D{key}={value}" for key, value in settings.items())], "configure", project, None)


def _launcher(project: Path) -> Iterable[str]:
    # The folder as CMake spells it in commands; -S -E: start in milliseconds.
    return (sys.executable, "-S", "-E", launcher.__file__, str(cache_folder()), str(project.absolute()))


def _run(command: list[str], what: str, project: Path, progress: Progress | None) -> None:
    env = {**os.environ, "NINJA_STATUS": "[%f/%t] "}
    lines: list[str] = []
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=env) as process:
        assert process.stdout is not None
        for line in process.stdout:
            lines.append(line)
            step = _STEP.match(line)
            if step and progress is not None:
                progress(int(step[1]), int(step[2]), step[3])
    if process.returncode != 0:
        raise BuildFailed(f"could not {what} the emitted project:\n{explain_errors(''.join(lines), project)}")


def explain_errors(output: str, project: Path) -> str:
    """The output from its first failure on, with the lines of `project` around each error.

    >>> explain_errors("[1/2] x.o\\nFAILED: x.o\\nno place\\n", Path("/p"))
    'FAILED: x.o\\nno place\\n'
    """
    failed = output[max(output.find("FAILED:"), 0) :]
    # Templates make compilers write thousands of lines of candidates; what matters comes first.
    lines = failed.splitlines(keepends=True)
    shown = "".join(lines[:_MOST_LINES]) + ("...\n" if len(lines) > _MOST_LINES else "")
    places = [(Path(m[1]), int(m[2])) for m in _PLACE.finditer(failed)][:_MOST_PLACES]
    excerpts = [_excerpt(path, line) for path, line in places if path.is_relative_to(project.absolute())]
    return shown + "".join(dict.fromkeys(excerpts))


def _excerpt(path: Path, line: int) -> str:
    try:
        text = path.read_text().splitlines()
    except OSError:
        return ""
    first = max(0, line - 4)
    shown = [f"{'>' if i == line else ' '} {i:5} {t}" for i, t in enumerate(text[first : line + 3], first + 1)]
    return f"\n{path}:{line}\n" + "\n".join(shown) + "\n"
