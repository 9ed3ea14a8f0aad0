"""GPT-2 of `transformers` in loops of users, through C++: with and without its cache."""

from __future__ import annotations

import pytest

from cpp_batch import Batch, assert_matches, build_batch
from model_files import ROOT, load_model_file

MODELS = ("transformers_greedy", "transformers_greedy_cache", "transformers_batch_cache", "transformers_llama_cache",
          "transformers_bert_exit")  # fmt: skip


@pytest.fixture(scope="module", params=["aten", "aotinductor"])
def compiled(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Batch:
    files = [load_model_file(ROOT / f"tests/models_of_users/models/{name}.py") for name in MODELS]
    return build_batch(files, request.param, tmp_path_factory.mktemp("transformers"))


@pytest.mark.slow
@pytest.mark.parametrize("name", MODELS)
def test_program_equals_python(name: str, compiled: Batch) -> None:
    assert_matches(compiled, name)
