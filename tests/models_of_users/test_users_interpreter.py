"""The users' models, as host IR in the reference interpreter, equal Python bit for bit."""

from __future__ import annotations

from pathlib import Path

import pytest

from model_files import ROOT, load_model_file
from pending_models import parameters
from through_interpreter import assert_same_as_python


@pytest.mark.parametrize("path", parameters(ROOT / "tests/models_of_users"))
def test_program_equals_python(path: Path) -> None:
    assert_same_as_python(load_model_file(path))
