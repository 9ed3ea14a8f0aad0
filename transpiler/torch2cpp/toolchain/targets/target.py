"""The machines that C++ can be built for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import final

from torch2cpp.toolchain.tools import ToolMissing

#: The machine that torch2cpp itself runs on.
NATIVE = "native"


class TargetError(ToolMissing):
    """The target is unknown, or something it needs is missing; the message says what to do."""


@final
@dataclass(frozen=True, slots=True)
class Target:
    """The machine the C++ is built for."""

    name: str = NATIVE
    #: Its processor as `-mcpu=` knows it; any processor of the architecture where None.
    cpu: str | None = None
    #: Whether its programs rest on libtorch.
    libtorch: bool = True

    @property
    def native(self) -> bool:
        """Whether it is the machine that torch2cpp runs on."""
        return self.name == NATIVE


@final
@dataclass(frozen=True, slots=True)
class Architecture:
    """What is known of a target before anything is installed for it."""

    #: As compilers call it.
    name: str
    #: As CMake calls its processor.
    processor: str
    #: As `readelf` calls its machine.
    machine: str
    #: The number of that machine in an ELF header, as it lies in the file.
    machine_bytes: str
    #: As the platform tags of Python's packages end.
    wheels: str
    #: Programs that run its binaries, the first one found is taken.
    emulators: tuple[str, ...]
    #: The processor that `-mcpu` names where the user names none: code for it runs on all of them. Empty where the
    #: compiler has no such option, and makes that code without.
    cpu: str
    #: The processor that is emulated for it.
    emulated_cpu: str
    #: What Debian and its like call the compiler and the emulator.
    packages: tuple[str, ...]


ARCHITECTURES: Mapping[str, Architecture] = {
    "aarch64-linux-gnu": Architecture(
        name="aarch64-linux-gnu",
        processor="aarch64",
        machine="AArch64",
        machine_bytes="b700",
        wheels="aarch64",
        emulators=("qemu-aarch64", "qemu-aarch64-static"),
        cpu="generic",
        emulated_cpu="cortex-a53",
        packages=("g++-aarch64-linux-gnu", "qemu-user"),
    )
}

#: Those that only programs without libtorch are built for.
STANDALONE: Mapping[str, Architecture] = {
    "arm-linux-gnueabihf": Architecture(
        name="arm-linux-gnueabihf",
        processor="arm",
        machine="ARM",
        machine_bytes="2800",
        wheels="armv7l",
        emulators=("qemu-arm", "qemu-arm-static"),
        cpu="generic-armv7-a+vfpv3-d16",
        emulated_cpu="cortex-a7",
        packages=("g++-arm-linux-gnueabihf", "qemu-user"),
    ),
    "riscv64-linux-gnu": Architecture(
        name="riscv64-linux-gnu",
        processor="riscv64",
        machine="RISC-V",
        machine_bytes="f300",
        wheels="riscv64",
        emulators=("qemu-riscv64", "qemu-riscv64-static"),
        cpu="",
        emulated_cpu="rv64",
        packages=("g++-riscv64-linux-gnu", "qemu-user"),
    ),
}

#: Targets that people ask for and that no backend can serve, with the reason and the way out.
_IMPOSSIBLE = {
    "arm-linux-gnueabihf": (
        "no backend serves 32-bit Arm: every backend's program rests on libtorch, which PyTorch does not publish for "
        "it, and neither ONNX Runtime nor OpenVINO publish a package there. Boards since the Raspberry Pi 3 "
        "run a 64-bit system: use that and --target aarch64-linux-gnu; or use --runtime slim, whose programs need no "
        "libtorch"
    )
}


def architecture_of(target: Target) -> Architecture:
    """What is known of a target's machine. Raises TargetError with the known ones.

    >>> architecture_of(Target("riscv64-linux-gnu", libtorch=False)).processor
    'riscv64'
    """
    if target.libtorch:
        return architecture(target.name)
    known = {**ARCHITECTURES, **STANDALONE}
    if target.name not in known:
        raise TargetError(f"there is no target {target.name}; there are {', '.join((NATIVE, *known))}")
    return known[target.name]


def architecture(name: str) -> Architecture:
    """What is known of the target. Raises TargetError with the known ones.

    >>> architecture("aarch64-linux-gnu").processor
    'aarch64'
    """
    if name in _IMPOSSIBLE:
        raise TargetError(f"target {name}: {_IMPOSSIBLE[name]}")
    if name not in ARCHITECTURES:
        raise TargetError(f"there is no target {name}; there are {', '.join((NATIVE, *ARCHITECTURES))}")
    return ARCHITECTURES[name]
