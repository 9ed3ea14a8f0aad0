"""`torch.tensor` of a run-time list that is empty: float32 in Python, which no C++ of one dtype can be."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from model_files import load_model_file
from through_interpreter import bound
from torch2cpp.hostir.interpret import Interpreter
from torch2cpp.hostir.pyerror import PyError

MODEL = """
import torch
from torch import nn

class M(nn.Module):
    def forward(self, x):
        kept = [i for i, row in enumerate(x) if row.sum() > 0]
        sums = torch.tensor([row.sum().item() for row in x])
        return torch.tensor(kept), sums, torch.tensor(kept, dtype=torch.long)

def make_model(): return M()
def make_inputs(): return [(torch.ones(3, 2),), (torch.ones(1, 2),)]
"""


def test_it_raises_rather_than_giving_another_dtype(tmp_path: Path) -> None:
    path = tmp_path / "model.py"
    path.write_text(MODEL)
    file = load_model_file(path)
    interpreter = Interpreter(bound(file))
    kept, sums, named = interpreter.run("forward", (torch.ones(3, 2),))
    assert kept.dtype is named.dtype is torch.int64
    assert sums.dtype is torch.float32
    with pytest.raises(PyError, match=r"torch.float32 in Python and torch.int64 here: give it dtype=torch.int64"):
        interpreter.run("forward", (-torch.ones(3, 2),))
