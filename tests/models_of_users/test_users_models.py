"""Models in the styles of many communities, written without looking at what is supported: see README.md."""

from __future__ import annotations

from pathlib import Path

import pytest

from branch_coverage import Trace, missed
from model_files import ROOT, differences, equal, load_model_file, run_eager

MODELS = sorted((ROOT / "tests/models_of_users/models").glob("*.py"))
#: The first ones, whose inputs reach every branch; those of the later rounds reach most.
FIRST_TEN = {
    "control_mpc", "detection_tracker", "diffusion_sampler", "graph_message_passing", "llm_speculative",
    "recommender_cascade", "rl_tree_search", "robotics_grasp", "speech_endpointer", "tabular_soft_trees",
}  # fmt: skip


@pytest.mark.parametrize("path", [m for m in MODELS if m.stem in FIRST_TEN], ids=lambda p: p.stem)
def test_inputs_reach_everything(path: Path) -> None:
    file = load_model_file(path)
    trace = Trace(str(path))
    trace.watch(lambda: run_eager(file))
    assert [str(m) for m in missed(trace)] == []


@pytest.mark.parametrize("path", MODELS, ids=lambda p: p.stem)
def test_inputs_and_results_are_fixed(path: Path) -> None:
    file = load_model_file(path)
    assert equal(file.make_inputs(), file.make_inputs())
    assert differences(run_eager(file), run_eager(file)) == []
