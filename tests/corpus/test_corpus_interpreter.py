"""Every model of the corpus, as host IR in the reference interpreter, equals Python bit for bit."""

from __future__ import annotations

from pathlib import Path

import pytest

from model_files import ROOT, load_model_file
from pending_models import parameters
from through_interpreter import assert_same_as_python


@pytest.mark.parametrize("path", parameters(ROOT / "tests/corpus"))
def test_program_equals_python(path: Path) -> None:
    assert_same_as_python(load_model_file(path))
