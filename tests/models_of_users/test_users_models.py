"""Ten models in the styles of ten communities, written without looking at what is supported."""

from __future__ import annotations

from pathlib import Path

import pytest

from branch_coverage import Trace, missed
from model_files import ROOT, differences, equal, load_model_file, run_eager

MODELS = sorted((ROOT / "tests/models_of_users/models").glob("*.py"))


@pytest.mark.parametrize("path", MODELS, ids=lambda p: p.stem)
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
