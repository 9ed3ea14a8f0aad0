"""Programs without libtorch for other machines: a cross compiler is enough, and they match on emulated processors."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from arm_target import assert_same_on_target
from model_files import ROOT, load_model_file
from own_rounding import ROUNDED_BY_SLIM, assert_as_near_to_float64
from torch2cpp.project import Project, transpile
from torch2cpp.toolchain.targets.target import Target, architecture_of

pytestmark = pytest.mark.arm
EXAMPLES = ("early_exit", "greedy_decoder", "nms", "skip_network")
#: Of the kinds that the numbers go by, two each.
CORPUS = ("006", "008", "012", "017", "023", "030", "031", "044", "050", "054")


def for_target(path: Path, target: str, out: Path) -> Project:
    """A model file's project for the target, one executable."""
    known = architecture_of(Target(target, libtorch=False))
    needed = (f"{target}-g++", known.emulators[0])
    missing = [name for name in needed if shutil.which(name) is None]
    if missing:
        pytest.skip(f"{' and '.join(missing)} not installed: apt-get install {' '.join(known.packages)}")
    file = load_model_file(path)
    return transpile(
        file.make_model(),
        file.make_inputs(),
        entries=file.entries,
        target=target,
        runtime="slim",
        static=True,
        threads=1,
        dynamic_shapes=file.dynamic_shapes,
        pin=file.pin,
        out=out,
        name=file.name,
        stateful=file.stateful,
    )


@pytest.mark.parametrize("name", EXAMPLES)
def test_examples_on_64_bit_arm(name: str, tmp_path: Path) -> None:
    project = for_target(ROOT / f"examples/{name}.py", "aarch64-linux-gnu", tmp_path / name)
    assert_same_on_target(project)
    runner = project.folder / f"build/aarch64-linux-gnu/{name}_run"
    subprocess.run(["aarch64-linux-gnu-strip", runner], check=True)
    assert runner.stat().st_size < {"greedy_decoder": 2_000_000}.get(name, 3_000_000)


@pytest.mark.parametrize("number", CORPUS)
def test_corpus_on_64_bit_arm(number: str, tmp_path: Path) -> None:
    (path,) = (ROOT / "tests/corpus/models").glob(f"{number}_*.py")
    project = for_target(path, "aarch64-linux-gnu", tmp_path / number)
    if path.stem in ROUNDED_BY_SLIM:
        project.build()
        assert_as_near_to_float64(project.check(), path)
    else:
        assert_same_on_target(project)


@pytest.mark.parametrize("target", ["arm-linux-gnueabihf", "riscv64-linux-gnu"])
@pytest.mark.parametrize("name", ["greedy_decoder", "nms"])
def test_kernels_without_vectors(name: str, target: str, tmp_path: Path) -> None:
    assert_same_on_target(for_target(ROOT / f"examples/{name}.py", target, tmp_path / name))
