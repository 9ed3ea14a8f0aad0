"""The users' models through C++, with eager's own operators: same decisions, numbers within tolerance."""

from __future__ import annotations

from pathlib import Path

import pytest

from cpp_batch import build_batch
from model_files import ROOT, load_model_file
from pending_models import pending

FOLDER = ROOT / "tests/models_of_users"
PENDING = pending(FOLDER / "pending.txt")
MODELS = [path for path in sorted((FOLDER / "models").glob("*.py")) if path.stem not in PENDING]
#: As many are built in one CMake run, and their folders deleted before the next.
AT_ONCE = 6


@pytest.mark.slow
@pytest.mark.parametrize("first", range(0, len(MODELS), AT_ONCE))
def test_some(first: int, tmp_path: Path) -> None:
    paths = MODELS[first : first + AT_ONCE]
    batch = build_batch([load_model_file(path) for path in paths], "aten", tmp_path)
    different: dict[str, object] = {}
    for path in paths:
        try:
            verdict = batch.check(path.stem)
        except Exception as error:  # of this model; the others are looked at too
            different[path.stem] = error
        else:
            if not verdict.ok or verdict.decision_flips:
                different[path.stem] = verdict.mismatches
    assert different == {}
