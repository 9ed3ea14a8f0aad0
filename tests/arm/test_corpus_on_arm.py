"""Every second model of the corpus on an emulated 64-bit Arm processor."""

from __future__ import annotations

from pathlib import Path

import pytest

from arm_target import assert_same_on_target, for_target
from model_files import ROOT
from own_rounding import ROUNDED, assert_as_near_to_float64

MODELS = sorted((ROOT / "tests/corpus/models").glob("*.py"))[::2]


@pytest.mark.arm
@pytest.mark.parametrize("path", [p for p in MODELS if p.stem not in ROUNDED], ids=lambda path: path.stem)
def test_a_model(path: Path, tmp_path: Path) -> None:
    assert_same_on_target(for_target(path, "aten", tmp_path / path.stem))


@pytest.mark.arm
@pytest.mark.parametrize("path", [p for p in MODELS if p.stem in ROUNDED], ids=lambda path: path.stem)
def test_a_model_that_rounds_more_than_the_tolerance(path: Path, tmp_path: Path) -> None:
    project = for_target(path, "aten", tmp_path / path.stem)
    project.build()
    assert_as_near_to_float64(project.check(), path)
