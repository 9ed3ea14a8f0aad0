"""The 64-bit Arm target of tests: set up once where the cross compiler is installed, skipped elsewhere."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from filelock import FileLock

from model_files import load_model_file
from torch2cpp.project import Project, transpile
from torch2cpp.toolchain.targets.store import add_target, find_target, target_folder
from torch2cpp.toolchain.targets.target import TargetError

TARGET = "aarch64-linux-gnu"
#: Programs without which nothing of this can be tried.
NEEDED = (f"{TARGET}-g++", "qemu-aarch64")


def target_or_skip() -> str:
    """The target's name, set up; some hundred megabytes are fetched where that was never done."""
    missing = [name for name in NEEDED if shutil.which(name) is None]
    if missing:
        pytest.skip(f"{' and '.join(missing)} not installed: apt-get install g++-{TARGET} qemu-user")
    folder = target_folder(TARGET)
    folder.mkdir(parents=True, exist_ok=True)
    with FileLock(folder / "add.lock"):
        try:
            find_target(TARGET)
        except TargetError:
            add_target(TARGET)
    return TARGET


def for_target(path: Path, backend: str, out: Path, inputs: int | None = None, cpu: str | None = None) -> Project:
    """A model file's project for the target, with its first `inputs`; not built."""
    file = load_model_file(path)
    return transpile(
        file.make_model(),
        file.make_inputs()[:inputs],
        entries=file.entries,
        backend=backend,
        target=target_or_skip(),
        cpu=cpu,
        threads=1,
        dynamic_shapes=file.dynamic_shapes,
        pin=file.pin,
        out=out,
        name=file.name,
        stateful=file.stateful,
    )


def assert_same_on_target(project: Project) -> None:
    """Builds it, runs its inputs on the emulated processor, and compares with Python."""
    project.build()
    verdict = project.check()
    assert verdict.ok, (verdict.error, verdict.mismatches)
    assert verdict.decision_flips == 0
