"""The corpus through C++: bit for bit with the reference backend, in one build per third."""

from __future__ import annotations

from pathlib import Path

import pytest

from cpp_batch import Batch, assert_matches, build_batch
from model_files import ROOT, load_model_file
from untaken_ways import UNTAKEN

MODELS = sorted((ROOT / "tests/corpus/models").glob("*.py"))
#: Every third model, spread over the kinds that the numbers go by.
SOME = MODELS[::3]
OTHERS = [path for path in MODELS if path not in SOME]


def ids(path: Path) -> str:
    return path.stem


@pytest.fixture(scope="module")
def some(tmp_path_factory: pytest.TempPathFactory) -> Batch:
    return build_batch([load_model_file(path) for path in SOME], "aten", tmp_path_factory.mktemp("some"))


@pytest.fixture(scope="module")
def others(tmp_path_factory: pytest.TempPathFactory) -> Batch:
    return build_batch([load_model_file(path) for path in OTHERS], "aten", tmp_path_factory.mktemp("others"))


@pytest.mark.parametrize("path", SOME, ids=ids)
def test_a_third_is_exact(path: Path, some: Batch) -> None:
    assert_matches(some, path.stem, UNTAKEN.get(path.stem, ()))


@pytest.mark.slow
@pytest.mark.parametrize("path", OTHERS, ids=ids)
def test_the_others_are_exact(path: Path, others: Batch) -> None:
    assert_matches(others, path.stem, UNTAKEN.get(path.stem, ()))
