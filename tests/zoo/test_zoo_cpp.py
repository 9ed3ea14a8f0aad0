"""The nine networks through C++: a hundred inputs each, the same decisions, bit for bit with the reference backend."""

from __future__ import annotations

import pytest

from cpp_batch import Batch, assert_matches, build_batch
from model_files import load_model_file
from zoo_files import NETWORKS, ZOO


def compiled(backend: str, tmp_path_factory: pytest.TempPathFactory) -> Batch:
    files = [load_model_file(ZOO / f"{name}.py") for name in NETWORKS]
    return build_batch(files, backend, tmp_path_factory.mktemp(backend))


@pytest.fixture(scope="module")
def aten(tmp_path_factory: pytest.TempPathFactory) -> Batch:
    return compiled("aten", tmp_path_factory)


@pytest.fixture(scope="module")
def aotinductor(tmp_path_factory: pytest.TempPathFactory) -> Batch:
    return compiled("aotinductor", tmp_path_factory)


@pytest.mark.slow
@pytest.mark.parametrize("name", NETWORKS)
def test_aten_is_exact(name: str, aten: Batch) -> None:
    assert_matches(aten, name)


@pytest.mark.slow
@pytest.mark.parametrize("name", NETWORKS)
def test_aotinductor_is_within_tolerance(name: str, aotinductor: Batch) -> None:
    assert_matches(aotinductor, name)
