"""The short form that `make test` runs where the cross compiler is installed."""

from __future__ import annotations

from pathlib import Path

from arm_target import assert_same_on_target, for_target
from model_files import ROOT
from readme_example import model_file


def test_readmes_model_by_aten(tmp_path: Path) -> None:
    assert_same_on_target(for_target(model_file(tmp_path).path, "aten", tmp_path / "halting"))


def test_an_example_by_aotinductor(tmp_path: Path) -> None:
    assert_same_on_target(for_target(ROOT / "examples/greedy_decoder.py", "aotinductor", tmp_path / "decoder"))
