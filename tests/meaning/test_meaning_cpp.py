"""The small programs through emitted C++, many of them as entries of one project."""

from __future__ import annotations

from pathlib import Path

import pytest

from meaning_cases import groups, read_cases
from meaning_merged import merged
from torch2cpp.model_file import load_model_file
from torch2cpp.project import transpile

#: Programs about which C++ says something of its own: what they print, and warnings of torch.
APART = {"print", "dropout_train", "eval", "environ"}


#: Entries of one project: each round of binding is over all of them.
CHUNK = 30
CASES = [case for group in groups() for case in read_cases(group) if case.name not in APART]


@pytest.mark.slow
@pytest.mark.parametrize("start", range(0, len(CASES), CHUNK))
def test_same_in_cpp(start: int, tmp_path: Path) -> None:
    file = load_model_file(str(merged(CASES[start : start + CHUNK], tmp_path / f"meaning_{start}.py")))
    project = transpile(
        file.make_model(),
        file.make_inputs(),
        entries=file.entries,
        backend="aten",
        out=tmp_path / "out",
        name=file.name,
        stateful=True,
    )
    project.build()
    verdict = project.check()
    assert verdict.mismatches == []
    assert verdict.ok
