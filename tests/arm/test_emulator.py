"""The emulated processor has the instructions of the one it stands for and no others: a run there counts."""

from __future__ import annotations

import signal
import subprocess
from pathlib import Path

import pytest

from arm_target import TARGET, target_or_skip
from torch2cpp.toolchain.targets.target import Target
from torch2cpp.toolchain.targets.toolchain import toolchain_of

pytestmark = pytest.mark.arm

#: Adds in one instruction where the processor has one for it (ARMv8.1), else in a loop.
PROGRAM = """
#include <atomic>
std::atomic<long> n;
int main(int count, char**) { n.fetch_add(count); return n == 1 ? 0 : 1; }
"""


def run(compiled_for: str | None, runs_on: str, folder: Path) -> int:
    """The exit status of the program; negative for the signal that ended it."""
    toolchain = toolchain_of(Target(target_or_skip(), compiled_for))
    (folder / "add.cpp").write_text(PROGRAM)
    program = folder / "add"
    command = [toolchain.compiler, *toolchain.flags, "-O2", str(folder / "add.cpp"), "-o", str(program)]
    subprocess.run(command, check=True, capture_output=True)
    done = subprocess.run(toolchain_of(Target(TARGET, runs_on)).command(program), capture_output=True, check=False)
    return done.returncode


@pytest.mark.parametrize("runs_on", ["cortex-a53", "cortex-a72"])
@pytest.mark.parametrize("compiled_for", [None, "cortex-a53", "cortex-a72"])
def test_code_for_old_processors_runs_on_them(compiled_for: str | None, runs_on: str, tmp_path: Path) -> None:
    assert run(compiled_for, runs_on, tmp_path) == 0


def test_code_for_a_later_processor_is_found_out(tmp_path: Path) -> None:
    assert run("neoverse-n1", "neoverse-n1", tmp_path) == 0
    assert run("neoverse-n1", "cortex-a53", tmp_path) == -signal.SIGILL


def test_code_for_a_processor_that_qemu_does_not_know_runs_on_its_stand_in(tmp_path: Path) -> None:
    assert run("neoverse-v1", "neoverse-v1", tmp_path) == 0
