"""Every second model of the corpus on an emulated 64-bit Arm processor."""

from __future__ import annotations

from pathlib import Path

import pytest

from arm_target import assert_same_on_target, for_target
from model_files import ROOT

MODELS = sorted((ROOT / "tests/corpus/models").glob("*.py"))[::2]


@pytest.mark.arm
@pytest.mark.parametrize("path", MODELS, ids=lambda path: path.stem)
def test_a_model(path: Path, tmp_path: Path) -> None:
    assert_same_on_target(for_target(path, "aten", tmp_path / path.stem))
