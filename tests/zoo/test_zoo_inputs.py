"""The nine networks in Python: their inputs spread over every way, and no decision is a matter of rounding."""

from __future__ import annotations

import json

import pytest
import torch

from branch_coverage import Trace, missed
from model_files import ROOT, call, jitter, load_model_file, outcome_difference

ZOO = ROOT / "examples/zoo"
recorder = load_model_file(ZOO / "record_spread.py").module
#: Functions that only training or calibration calls.
NOT_DEPLOYED = {"only_output", "forward_full", "initialize_weights"}


def images_of(name: str) -> int:
    """How many of the hundred inputs the slower checks take."""
    return 6 if name in recorder.CAPTIONERS else 100


@pytest.mark.parametrize("name", recorder.NETWORKS)
def test_spread_is_the_recorded_one(name: str) -> None:
    recorded = json.loads((ZOO / "spread.json").read_text())
    assert recorder.spread(name) == recorded[name]


@pytest.mark.parametrize("name", recorder.NETWORKS)
def test_inputs_reach_every_line(name: str) -> None:
    file = load_model_file(ZOO / f"{name}.py")
    model, inputs = file.make_model(), file.make_inputs()[: images_of(name)]
    trace = Trace(str(file.path))
    trace.watch(lambda: [file.make_model(), [call(file.function(model), args) for args in inputs]])
    assert [str(m) for m in missed(trace) if m.what == "never runs"] == []


@pytest.mark.parametrize("name", recorder.NETWORKS)
def test_no_decision_is_near_its_threshold(name: str) -> None:
    file = load_model_file(ZOO / f"{name}.py")
    model, inputs = file.make_model(), file.make_inputs()[: images_of(name)]
    generator = torch.Generator().manual_seed(0)
    for args in inputs:
        want = call(file.function(model), args)
        got = call(file.function(model), jitter(args, generator, 1e-6))
        assert outcome_difference(want, got, rtol=1e-2, atol=1e-2) is None
