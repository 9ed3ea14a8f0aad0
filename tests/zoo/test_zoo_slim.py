"""The nine networks as programs without libtorch: the same decisions, numbers within tolerance."""

from __future__ import annotations

import pytest

from cpp_batch import Batch, assert_matches, build_batch
from model_files import load_model_file
from zoo_files import NETWORKS, ZOO


@pytest.fixture(scope="module")
def compiled(tmp_path_factory: pytest.TempPathFactory) -> Batch:
    files = [load_model_file(ZOO / f"{name}.py") for name in NETWORKS]
    return build_batch(files, "aotinductor", tmp_path_factory.mktemp("slim"), runtime="slim")


@pytest.mark.slow
@pytest.mark.parametrize("name", NETWORKS)
def test_without_libtorch(name: str, compiled: Batch) -> None:
    assert_matches(compiled, name)
