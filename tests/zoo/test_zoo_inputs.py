"""The nine networks in Python: their inputs spread over every way, and no decision is a matter of rounding."""

from __future__ import annotations

import json

import pytest

from branch_coverage import Trace, missed
from model_files import load_model_file, run_eager, same_decisions_when_jittered
from zoo_files import NETWORKS, ZOO, images_of, recorder


@pytest.mark.parametrize("name", NETWORKS)
def test_spread_is_the_recorded_one(name: str) -> None:
    recorded = json.loads((ZOO / "spread.json").read_text())
    assert recorder.spread(name) == recorded[name]


@pytest.mark.parametrize("name", NETWORKS)
def test_inputs_reach_every_line(name: str) -> None:
    file = load_model_file(ZOO / f"{name}.py")
    inputs = file.make_inputs()[: images_of(name)]
    trace = Trace(str(file.path))
    trace.watch(lambda: run_eager(file, inputs))
    assert [str(m) for m in missed(trace) if m.what == "never runs"] == []


@pytest.mark.parametrize("name", NETWORKS)
def test_no_decision_is_near_its_threshold(name: str) -> None:
    file = load_model_file(ZOO / f"{name}.py")
    assert same_decisions_when_jittered(file, file.make_inputs()[: images_of(name)], size=1e-6)
