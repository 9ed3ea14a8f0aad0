"""What a call or an iteration learns about its own lists is bound again there, not in a round over the program."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from model_files import load_model_file
from through_interpreter import assert_same_as_python
from torch2cpp.binding import entry


@pytest.fixture
def rounds(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Grows by one with each round."""
    found: list[int] = []
    new_round: Callable[..., Any] = entry._new_round

    def counted(*args: Any) -> Any:
        found.append(1)
        return new_round(*args)

    monkeypatch.setattr(entry, "_new_round", counted)
    return found


SOURCE = '''
import torch
from torch import nn

class Tiles(nn.Module):
    def __init__(self, size):
        super().__init__()
        self.size = size
        self.net = nn.Linear(4, 4)

    def forward(self, x):
        """Lists of run-time lengths, and a generator that is walked in the part that is bound again."""
        n = len(x)
        starts = list(range(0, max(n - self.size, 0), self.size)) + [max(n - self.size, 0)]
        gains = (0.5 + i for i in range(3))
        out = torch.zeros_like(x)
        seen = []
        for start, scale in zip(starts, [1.0, 2.0]):
            if x[start].sum() > 0:
                seen.append(start)
            out[start : start + self.size] += self.net(x[start : start + self.size]) * scale
        return out * sum(gains), seen

class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.parts = nn.ModuleList(Tiles(1 + i % 3) for i in range(12))

    def forward(self, x):
        places = []
        for part in self.parts:
            x, seen = part(x)
            places.extend(seen)
        return x, places

def make_model():
    torch.manual_seed(0)
    return Model().eval()

def make_inputs():
    return [(torch.randn(n, 4, generator=torch.Generator().manual_seed(n)),) for n in (2, 3, 5, 8)]
'''


def test_each_iteration_learns_by_itself(tmp_path: Path, rounds: list[int]) -> None:
    path = tmp_path / "tiles.py"
    path.write_text(SOURCE)
    assert_same_as_python(load_model_file(path))
    assert len(rounds) < 6
