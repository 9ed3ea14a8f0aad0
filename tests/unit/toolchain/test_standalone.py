"""Targets of programs without libtorch need a cross compiler, and nothing that was fetched."""

from __future__ import annotations

import shutil

import pytest

from torch2cpp.toolchain.targets.standalone import installed_alone
from torch2cpp.toolchain.targets.target import STANDALONE, Target, TargetError, architecture_of
from torch2cpp.toolchain.targets.toolchain import toolchain_of

SMALL_ARM, RISCV = "arm-linux-gnueabihf", "riscv64-linux-gnu"


def test_more_machines_without_libtorch() -> None:
    assert architecture_of(Target(SMALL_ARM, libtorch=False)).processor == "arm"
    assert architecture_of(Target("aarch64-linux-gnu", libtorch=False)).processor == "aarch64"
    with pytest.raises(TargetError, match="--runtime slim"):
        architecture_of(Target(SMALL_ARM))
    with pytest.raises(TargetError, match="there is no target riscv64-linux-gnu"):
        architecture_of(Target(RISCV))
    with pytest.raises(TargetError, match="arm-linux-gnueabihf, riscv64-linux-gnu"):
        architecture_of(Target("pdp11", libtorch=False))


def test_without_a_compiler_it_says_which(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    with pytest.raises(TargetError, match=r"install g\+\+-riscv64-linux-gnu"):
        installed_alone(STANDALONE[RISCV])


@pytest.mark.parametrize(("name", "flags"), [(SMALL_ARM, ("-mcpu=generic-armv7-a+vfpv3-d16",)), (RISCV, ())])
def test_a_compiler_is_enough(name: str, flags: tuple[str, ...]) -> None:
    if shutil.which(f"{name}-g++") is None:
        pytest.skip(f"{name}-g++ is not installed")
    toolchain = toolchain_of(Target(name, libtorch=False))
    assert toolchain.flags == flags
    assert toolchain.build_folder == f"build/{name}"
    assert (toolchain.torch / "include").is_dir()
    assert toolchain.installed is not None and toolchain.installed.glibc > (2, 0)
