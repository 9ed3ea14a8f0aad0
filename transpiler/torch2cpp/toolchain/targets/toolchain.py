"""What builds and runs the programs of one target."""

from __future__ import annotations

import contextlib
import os
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import final

from torch2cpp.toolchain.targets.emulator import emulator_command
from torch2cpp.toolchain.targets.standalone import installed_alone
from torch2cpp.toolchain.targets.store import Installed, find_target, sysroot_flags
from torch2cpp.toolchain.targets.target import Architecture, Target, TargetError, architecture_of
from torch2cpp.toolchain.tools import compiler, torch_folder


@final
@dataclass(frozen=True, slots=True)
class Toolchain:
    """Compiler, libtorch and emulator of a target."""

    target: Target
    compiler: str
    #: libtorch, with include/ and lib/.
    torch: Path
    #: Options of every compilation.
    flags: tuple[str, ...] = ()
    #: Libraries of backends by the backend's name; natively they are where their Python packages are.
    libraries: Mapping[str, Path] = field(default_factory=dict)
    #: Both None natively.
    architecture: Architecture | None = None
    installed: Installed | None = None

    def command(self, program: Path, *arguments: str | Path) -> list[str]:
        """How a program of the target is run here. Raises TargetError where it cannot be."""
        return [*self.emulator(), str(program), *map(str, arguments)]

    def emulator(self) -> tuple[str, ...]:
        """What is written before a program's path; nothing natively. Raises TargetError where it is missing."""
        if self.architecture is None or self.installed is None:
            return ()
        return emulator_command(self.architecture, self.installed, self.target.cpu)

    @property
    def build_folder(self) -> str:
        """Where a project's binaries of this target are, below the project."""
        return "build" if self.target.native else f"build/{self.target.name}"

    @property
    def cmake_settings(self) -> dict[str, str]:
        """CMake's variables that select it; the path of the toolchain file is below the project."""
        settings = {"CMAKE_CXX_COMPILER": self.compiler, "TORCH2CPP_TORCH": str(self.torch)}
        if self.installed is None:
            return settings
        if self.installed.sysroot is not None:
            settings["CMAKE_SYSROOT"] = self.installed.sysroot
        if "onnxruntime" in self.libraries:
            settings["ONNXRUNTIME_ROOT"] = str(self.libraries["onnxruntime"].parent)
        with contextlib.suppress(TargetError):
            # For ctest; building needs none.
            settings["CMAKE_CROSSCOMPILING_EMULATOR"] = ";".join(self.emulator())
        return settings


def toolchain_of(target: Target) -> Toolchain:
    """The toolchain of a target. Raises TargetError for one that is unknown or not set up."""
    if target.native:
        if target.cpu is not None:
            raise TargetError("--cpu is for other targets; native code is for the processor of this machine")
        return Toolchain(target, compiler(), torch_folder())
    known = architecture_of(target)
    installed = find_target(target.name) if target.libtorch else installed_alone(known)
    cpu = target.cpu or known.cpu
    if cpu:
        _check_cpu(installed.compiler, cpu)
    return Toolchain(
        target,
        installed.compiler,
        Path(installed.libtorch),
        (*((f"-mcpu={cpu}",) if cpu else ()), *sysroot_flags(installed.sysroot)),
        {name: Path(path) for name, path in installed.libraries.items()},
        known,
        installed,
    )


def library_of(target: Target, backend: str) -> Path:
    """The library of a backend for another machine. Raises TargetError where the target was set up without it."""
    libraries = find_target(target.name).libraries
    if backend not in libraries:
        raise TargetError(
            f"target {target.name} was set up without the library of backend {backend}: "
            f"run `torch2cpp target add {target.name} --with {backend}`"
        )
    return Path(libraries[backend])


@lru_cache(maxsize=16)
def _check_cpu(program: str, cpu: str) -> None:
    command = [program, f"-mcpu={cpu}", "-E", "-x", "c++", os.devnull]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        said = next((line for line in done.stderr.splitlines() if "valid" in line), "")
        raise TargetError(f"{program} knows no processor {cpu}{': ' + said.strip() if said else ''}")
