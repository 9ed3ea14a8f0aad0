"""A project is known again by all that decides what it is."""

from __future__ import annotations

import hashlib
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

from torch2cpp.model_file import load_model_file
from torch2cpp.options import Options
from torch2cpp.passes.order import ALL
from torch2cpp.up_to_date import fingerprint, is_up_to_date, name_of

SOURCE = """
import torch
from torch import nn

LIMIT = {"high": 2.0}

class Gate(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second = nn.Linear(3, 3), nn.Linear(3, 3)
        self.register_buffer("seen", torch.zeros((), dtype=torch.int64))

    def forward(self, x):
        return self.first(x) if x.sum() > LIMIT["high"] else self.second(x)

def make_model():
    torch.manual_seed(0)
    return Gate().eval()

def make_inputs():
    return [(torch.ones(2, 3),), (torch.zeros(2, 3),)]
"""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    (tmp_path / "gate.py").write_text(SOURCE)
    return tmp_path / "gate.py"


DEFAULT = Options()


def mark(path: Path, options: Options = DEFAULT, change: Any = None) -> str | None:
    file = load_model_file(str(path))
    model, inputs = file.make_model(), file.make_inputs()
    if change is not None:
        change(file.module, model, inputs)
    return fingerprint(model, inputs, options)


def test_the_same_is_the_same(path: Path) -> None:
    first = mark(path)
    assert first is not None
    assert first == mark(path)
    assert first == mark(path, Options(out=Path("elsewhere"), dump_dir=Path("dumps")))


def change_weight(_: Any, model: Any, inputs: Any) -> None:
    with torch.no_grad():
        model.first.weight[0, 0] += 1e-6


def change_buffer(_: Any, model: Any, inputs: Any) -> None:
    model.seen = torch.zeros((), dtype=torch.int32)


def change_input(_: Any, model: Any, inputs: Any) -> None:
    inputs[1] = (torch.zeros(2, 3).T.contiguous().T,)


def change_attribute(_: Any, model: Any, inputs: Any) -> None:
    model.second.note = "other"


def change_global(module: Any, model: Any, inputs: Any) -> None:
    module.LIMIT["high"] = 3.0


@pytest.mark.parametrize("change", [change_weight, change_buffer, change_input, change_attribute, change_global])
def test_what_decides_counts(path: Path, change: Any) -> None:
    assert mark(path) != mark(path, change=change)


@pytest.mark.parametrize(
    "other",
    [{"backend": "aten"}, {"threads": 3}, {"passes": ALL - {"roll_loops"}}, {"profile": True}, {"pin": {"n": 1}}],
)
def test_options_count(path: Path, other: dict[str, Any]) -> None:
    assert mark(path) != mark(path, replace(Options(), **other))


def test_the_source_counts(path: Path) -> None:
    before = mark(path)
    path.write_text(SOURCE.replace("> LIMIT", "< LIMIT"))
    assert mark(path) != before


def test_what_does_not_pickle_is_never_up_to_date(path: Path, tmp_path: Path) -> None:
    def add_lambda(_: Any, model: Any, inputs: Any) -> None:
        model.first.activation = lambda x: x

    assert mark(path, change=add_lambda) is None
    assert not is_up_to_date(tmp_path, None)


def test_a_project_is_current_while_its_files_are(path: Path, tmp_path: Path) -> None:
    project = tmp_path / "project"
    assert not is_up_to_date(project, mark(path))
    (project / "src").mkdir(parents=True)
    (project / "src/gate.cpp").write_text("int x;\n")
    known = "sha256:6c2a1fcb5f4b5e5b4d5fd1f4d0a6f0e6"
    about = {"name": "gate", "fingerprint": mark(path), "files": {"src/gate.cpp": known}}
    (project / "model.json").write_text(json.dumps(about))
    assert not is_up_to_date(project, mark(path))
    about["files"] = {"src/gate.cpp": f"sha256:{hashlib.sha256(b'int x;' + bytes([10])).hexdigest()}"}
    (project / "model.json").write_text(json.dumps(about))
    assert is_up_to_date(project, mark(path))
    assert not is_up_to_date(project, mark(path, Options(backend="aten")))
    assert name_of(project) == "gate"
    (project / "src/gate.cpp").unlink()
    assert not is_up_to_date(project, mark(path))
