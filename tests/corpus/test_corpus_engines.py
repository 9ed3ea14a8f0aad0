"""The corpus through C++ with the backends that have a run-time library: same decisions, numbers within tolerance.

A region that a backend refuses is eager's; every backend has regions of its own in some models. Where one input rounds
more than the tolerance in eager itself, an engine has to be as near to float64 as eager.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from cpp_batch import Batch, assert_matches, build_batch
from model_files import ROOT, load_model_file
from own_rounding import assert_as_near_to_float64
from untaken_ways import UNTAKEN

MODELS = sorted((ROOT / "tests/corpus/models").glob("*.py"))
BACKENDS = ("onnxruntime", "torchscript", "openvino")
#: The solver's 12 steps are fed their own results (see ../own_rounding.py).
ROUNDED_BY_ENGINES = {("openvino", "061_ik_solver")}


@pytest.fixture(scope="module", params=BACKENDS)
def compiled(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Batch:
    return build_batch([load_model_file(path) for path in MODELS], request.param, tmp_path_factory.mktemp("corpus"))


@pytest.mark.slow
@pytest.mark.parametrize("path", MODELS, ids=lambda path: path.stem)
def test_a_model(path: Path, compiled: Batch, request: pytest.FixtureRequest) -> None:
    backend = request.node.callspec.params["compiled"]
    if (backend, path.stem) in ROUNDED_BY_ENGINES:
        assert_as_near_to_float64(compiled.check(path.stem), path)
    else:
        assert_matches(compiled, path.stem, UNTAKEN.get(path.stem, ()))


@pytest.mark.slow
def test_it_has_regions_of_its_own(compiled: Batch, request: pytest.FixtureRequest) -> None:
    backend = request.node.callspec.params["compiled"]
    reports = [r for project in compiled.projects.values() for r in project.transpiled.compiled.reports]
    assert sum(report.chosen == backend for report in reports) > len(compiled.projects)
