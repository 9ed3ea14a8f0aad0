"""What the README shows is what happens."""

from __future__ import annotations

from pathlib import Path

from branch_coverage import Trace, missed
from model_files import run_eager
from readme_example import blocks, emitted_forward, model_file, refusal
from through_interpreter import assert_same_as_python

AFRESH = "`python tests/readme_example.py` writes it afresh"


def test_the_model_takes_every_branch(tmp_path: Path) -> None:
    file = model_file(tmp_path)
    trace = Trace(str(file.path))
    trace.watch(lambda: run_eager(file))
    assert [str(m) for m in missed(trace)] == []


def test_the_model_works(tmp_path: Path) -> None:
    assert_same_as_python(model_file(tmp_path))


def test_the_cpp_shown_is_what_is_emitted(tmp_path: Path) -> None:
    assert blocks("cpp")[0] == emitted_forward(tmp_path), AFRESH


def test_the_refusal_shown_is_what_is_said(tmp_path: Path) -> None:
    assert blocks("")[-1] == refusal(tmp_path), AFRESH
