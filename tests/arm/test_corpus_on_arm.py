"""Every second model of the corpus on an emulated 64-bit Arm processor."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import pytest
import torch

from arm_target import assert_same_on_target, for_target
from model_files import ROOT, load_model_file
from torch2cpp.parity.compare import tensors_in

#: Models whose own rounding is above the tolerance, so that no other machine's kernels meet it; with the input.
ROUNDED = {"030_spread_sampling_cloud": 4, "060_factor_with_retries": 2}
MODELS = sorted((ROOT / "tests/corpus/models").glob("*.py"))[::2]


@pytest.mark.arm
@pytest.mark.parametrize("path", [p for p in MODELS if p.stem not in ROUNDED], ids=lambda path: path.stem)
def test_a_model(path: Path, tmp_path: Path) -> None:
    assert_same_on_target(for_target(path, "aten", tmp_path / path.stem))


@pytest.mark.arm
@pytest.mark.parametrize("name", ROUNDED)
def test_a_model_that_rounds_more_than_the_tolerance(name: str, tmp_path: Path) -> None:
    """The same decisions everywhere; the one input is as near to float64 as eager is, up to a factor of two."""
    path = ROOT / f"tests/corpus/models/{name}.py"
    own, tolerances = _distance_from_float64(path, ROUNDED[name])
    assert tolerances > 1, "eager is within the tolerance, and so must the program be"
    project = for_target(path, "aten", tmp_path / name)
    project.build()
    verdict = project.check()
    assert verdict.error is None
    assert verdict.decision_flips == 0
    assert [number for number, _ in verdict.mismatches] == [ROUNDED[name]]
    assert verdict.max_abs_err <= 2 * own


def _distance_from_float64(path: Path, number: int) -> tuple[float, float]:
    """The largest error of eager's float32, and how many tolerances of `check` the worst element is away."""
    file = load_model_file(path)
    model, args = file.make_model(), file.make_inputs()[number]
    with torch.no_grad():
        single = tensors_in(copy.deepcopy(model)(*args))
        before = torch.get_default_dtype()
        torch.set_default_dtype(torch.float64)
        try:
            double = tensors_in(model.double()(*map(_double, args)))
        finally:
            torch.set_default_dtype(before)
    pairs = [(a.double(), b) for a, b in zip(single, double, strict=True) if a.is_floating_point()]
    worst = max(float((a - b).abs().max()) for a, b in pairs)
    return worst, max(float(((a - b).abs() / (1e-5 + 1e-4 * b.abs())).max()) for a, b in pairs)


def _double(value: Any) -> Any:
    return value.double() if isinstance(value, torch.Tensor) and value.is_floating_point() else value
