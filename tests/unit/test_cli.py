"""The command line: exit codes, messages, the JSON line, dumps."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from torch2cpp import pipeline
from torch2cpp.cli import DIFFERS, FAULT, OK, REFUSED, app
from torch2cpp.parity.run import Outcome
from torch2cpp.pipeline import STAGES

GOOD = """
import torch
from torch import nn


class Steps(nn.Module):
    def forward(self, x, n):
        while x.sum() < n:
            x = x * 2
        return x


def make_model():
    return Steps()


def make_inputs():
    return [(torch.tensor([1.0, 2.0]), 20), (torch.tensor([5.0, 2.0]), 1)]
"""
REFUSED_MODEL = GOOD.replace("x = x * 2", "x = yield x")


@pytest.fixture
def model(tmp_path: Path) -> Path:
    path = tmp_path / "steps.py"
    path.write_text(GOOD)
    return path


def invoke(*args: object) -> tuple[int, str, str]:
    done = CliRunner().invoke(app, [str(a) for a in args])
    return done.exit_code, done.stdout, done.stderr


def test_explain_shows_lines_regions_and_host_program(model: Path, tmp_path: Path):
    code, out, _ = invoke("explain", model, "--dump-dir", tmp_path / "dump")
    assert code == OK
    assert "tensor" in out and "== Regions ==" in out and "while True" in out
    names = sorted(p.name for p in (tmp_path / "dump").iterdir())
    assert names == [f"{i:02}_{s}.txt" for i, s in enumerate(STAGES[: STAGES.index("observe")], 1)]


def test_passes_can_be_left_out(model: Path, tmp_path: Path):
    code, _, _ = invoke("explain", model, "--passes", "all,-hoist_invariants", "--dump-dir", tmp_path)
    assert code == OK
    assert "hoist_invariants" not in " ".join(p.name for p in tmp_path.iterdir())


def test_a_pass_that_is_none_is_refused(model: Path):
    code, _, err = invoke("explain", model, "--passes", "all,-faster")
    assert code == REFUSED
    assert "there is no pass 'faster'" in err and "drop_dead" in err


def test_refusals_name_the_place_and_exit_with_2(tmp_path: Path):
    path = tmp_path / "bad.py"
    path.write_text(REFUSED_MODEL)
    code, _, err = invoke("explain", path)
    assert code == REFUSED
    assert "bad.py:9:" in err and "^" in err and "help:" in err


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("x = 1\n", "defines no function make_model()"),
        ("def make_model(): ...\n", "defines no function make_inputs()"),
    ],
)
def test_what_is_no_model_file_is_refused(tmp_path: Path, text: str, said: str):
    path = tmp_path / "other.py"
    path.write_text(text)
    code, _, err = invoke("check", path)
    assert (code, said in err) == (REFUSED, True)


def test_a_missing_file_is_refused_with_json(tmp_path: Path):
    code, out, _ = invoke("check", tmp_path / "absent.py", "--json")
    verdict = json.loads(out)
    assert (code, verdict["ok"], "does not exist" in verdict["error"]) == (REFUSED, False, True)


def test_our_own_faults_exit_with_70(model: Path, monkeypatch: pytest.MonkeyPatch):
    def broken(*_: object, **__: object) -> None:
        raise AssertionError("a hole in the emitter")

    monkeypatch.setattr(pipeline, "write_project", broken)
    code, out, err = invoke("check", model, "--backend", "aten", "--json")
    assert code == FAULT
    assert json.loads(out)["error"] == "AssertionError: a hole in the emitter"
    assert "fault of torch2cpp" in err


def test_check_builds_and_compares(model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    code, out, _ = invoke("check", model, "--backend", "aten", "--json", "-o", tmp_path / "out", "--dump-dir",
                          tmp_path / "dump")  # fmt: skip
    verdict = json.loads(out)
    assert code == OK, out
    assert (verdict["ok"], verdict["inputs"], verdict["matched"]) == (True, 2, 2)
    assert verdict["branches"] == verdict["branches_taken"] == 1
    assert (tmp_path / "out/src/steps.cpp").is_file()
    names = sorted(p.name for p in (tmp_path / "dump").iterdir())
    assert names == [f"{i:02}_{s}.txt" for i, s in enumerate(STAGES, 1)]

    # Against a Python that answers something else, the same program differs.
    monkeypatch.setattr(pipeline, "run_python", lambda *_: [Outcome(1), Outcome(2)])
    monkeypatch.setattr(pipeline, "write_golden", lambda *_, **__: 0)
    code, out, _ = invoke("check", model, "--backend", "aten", "--json", "-o", tmp_path / "out")
    assert (code, json.loads(out)["matched"]) == (DIFFERS, 0)


def test_unknown_rivals_and_backends_are_named(model: Path):
    code, _, err = invoke("bench", model, "--against", "eager,wrong")
    assert code == REFUSED
    assert "there is no rival wrong; there are eager, compile, torchscript, onnxruntime" in err
    code, _, err = invoke("check", model, "--backend", "wrong")
    assert code == REFUSED
    assert "there is no backend wrong; there are aten, aotinductor" in err
