"""The small programs through emitted C++, those of each file as entries of one project."""

from __future__ import annotations

from pathlib import Path

import pytest

from meaning_cases import groups, read_cases
from meaning_merged import merged
from torch2cpp.model_file import load_model_file
from torch2cpp.project import transpile

#: Programs about which C++ says something of its own: what they print, and warnings of torch.
APART = {"print", "dropout_train", "eval", "environ"}


@pytest.mark.slow
@pytest.mark.parametrize("group", groups())
def test_same_in_cpp(group: str, tmp_path: Path) -> None:
    cases = [c for c in read_cases(group) if c.name not in APART]
    file = load_model_file(str(merged(cases, tmp_path / f"meaning_{group}.py")))
    project = transpile(
        file.make_model(), file.make_inputs(), entries=file.entries, backend="aten", out=tmp_path / "out", stateful=True
    )
    project.build()
    verdict = project.check()
    assert verdict.mismatches == []
    assert verdict.ok
