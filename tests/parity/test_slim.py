"""A program without libtorch equals Python, and what cannot do without it is refused."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
import torch
from torch import nn

from torch2cpp import Refused
from torch2cpp.project import transpile

pytestmark = pytest.mark.slow


class Steps(nn.Module):
    """Refines a state until it is sure, at most ten times."""

    def __init__(self) -> None:
        super().__init__()
        self.cell = nn.GRUCell(8, 8)
        self.sure = nn.Linear(8, 1)

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, int]:
        state = torch.zeros_like(x)
        for step in range(10):
            state = self.cell(x, state)
            if torch.sigmoid(self.sure(state)).mean() > 0.55:
                return state, step
        return state * 2, -1


def test_program_has_no_libtorch(tmp_path: Path) -> None:
    torch.manual_seed(0)
    examples = [(torch.randn(n, 8) * scale,) for n, scale in ((1, 1.0), (3, 0.1), (5, 4.0))]
    project = transpile(Steps().eval(), examples, runtime="slim", static=True, out=tmp_path / "steps", name="steps")
    assert project.check().ok
    runner = project.build(python=False).runner
    assert "not a dynamic executable" in _output("ldd", str(runner))
    golden = subprocess.run([runner, "--golden", tmp_path / "steps/golden"], check=False, capture_output=True)
    assert golden.returncode == 0, golden.stdout + golden.stderr
    assert runner.stat().st_size < 6_000_000


def _output(*command: str) -> str:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return done.stdout + done.stderr


class Spectrum(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.fft.rfft(x).abs()


def test_what_is_lacking_is_refused(tmp_path: Path) -> None:
    with pytest.raises(Refused, match="T2C340") as refused:
        transpile(Spectrum(), [(torch.randn(8),)], runtime="slim", out=tmp_path, name="spectrum")
    assert "test_slim.py" in str(refused.value)
    assert "--runtime libtorch" in str(refused.value)
