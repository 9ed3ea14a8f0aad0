"""Programs of a target run on this machine by QEMU.

QEMU looks the files that a program opens up below a folder of our own first. There lie the target's C library and
the few files that describe a processor: what libtorch would read of this machine's makes no sense to it.
"""

from __future__ import annotations

import shutil
import subprocess
from functools import lru_cache
from pathlib import Path

from torch2cpp.toolchain.targets.store import Installed, sysroot_flags, target_folder
from torch2cpp.toolchain.targets.target import Architecture, TargetError

#: Part numbers of Arm's processors, as /proc/cpuinfo gives them.
_PARTS = {"cortex-a35": "0xd04", "cortex-a53": "0xd03", "cortex-a55": "0xd05", "cortex-a57": "0xd07",
          "cortex-a72": "0xd08", "cortex-a76": "0xd0b", "neoverse-n1": "0xd0c"}  # fmt: skip
#: QEMU's processor that has every instruction QEMU knows of.
ANY = "max"
_CPUINFO = """processor\t: 0
BogoMIPS\t: 100.00
Features\t: fp asimd evtstrm crc32 cpuid
CPU implementer\t: 0x41
CPU architecture: 8
CPU variant\t: 0x0
CPU part\t: {part}
CPU revision\t: 0
"""


def emulator_command(known: Architecture, installed: Installed, cpu: str | None) -> tuple[str, ...]:
    """What to write before a program's path. Raises TargetError where QEMU is missing."""
    emulated = emulated_processor(known, cpu)
    return (_program(known), "-cpu", emulated, "-L", str(emulated_root(known, installed, emulated)))


def emulated_processor(known: Architecture, cpu: str | None) -> str:
    """QEMU's name of the processor that programs for `cpu` run on here: `cpu`, or ANY for one that QEMU does not know.

    Raises TargetError where QEMU is missing, or too old to have ANY.
    """
    program = _program(known)
    chosen = cpu if cpu is not None and cpu != known.cpu else known.emulated_cpu
    if chosen in _processors(program):
        return chosen
    if ANY in _processors(program):
        return ANY
    raise TargetError(f"{program} cannot emulate a {chosen}, so programs for it cannot be checked here")


def _program(known: Architecture) -> str:
    program = next((path for name in known.emulators if (path := shutil.which(name))), None)
    if program is None:
        raise TargetError(
            f"programs for {known.name} cannot run here, so they cannot be checked: install {known.packages[1]} "
            f"(its name on Debian and Ubuntu), which brings {known.emulators[0]}"
        )
    return program


@lru_cache(maxsize=4)
def _processors(program: str) -> frozenset[str]:
    done = subprocess.run([program, "-cpu", "help"], capture_output=True, text=True, check=False)
    return frozenset(done.stdout.split())


def emulated_root(known: Architecture, installed: Installed, cpu: str) -> Path:
    """The folder that stands for the target's root: the C library and what describes the processor."""
    root = target_folder(known.name) / "emulated" / cpu
    part = _PARTS.get(cpu, _PARTS["cortex-a53"])
    register = root / "sys/devices/system/cpu/cpu0/regs/identification/midr_el1"
    if register.is_file():
        return root
    for name, place in (("libc.so.6", "lib"), ("libstdc++.so.6", "usr/lib")):
        folder = _folder_of(installed, name)
        _link(root / place, folder)
    for path in ("sys/devices/system/cpu/possible", "sys/devices/system/cpu/present"):
        _write(root / path, "0\n")
    _write(root / "proc/cpuinfo", _CPUINFO.format(part=part))
    # Last: where it is, the others are. The register holds what cpuinfo says: implementer, architecture, part.
    _write(register, f"0x00000000410f{part.removeprefix('0x')}0\n")
    return root


def _folder_of(installed: Installed, library: str) -> Path:
    """The folder where the target's compiler finds a library."""
    command = [installed.compiler, *sysroot_flags(installed.sysroot), f"-print-file-name={library}"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    path = Path(done.stdout.strip())
    if not path.is_file():
        raise TargetError(f"{installed.compiler} finds no {library} for {installed.name}")
    return path.resolve().parent


def _link(path: Path, to: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    if not path.is_symlink():
        path.symlink_to(to, target_is_directory=True)


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
