"""Several entries of one model in one C++ class: in any order, with names that the class uses itself."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

import torch2cpp
from torch2cpp.diagnostics import SignatureError


class Listener(nn.Module):
    """Keys and values grow with every step; `reset` leaves the number of sessions; `clone` is the author's own."""

    def __init__(self):
        super().__init__()
        self.project = nn.Linear(3, 4)
        self.register_buffer("mean", torch.zeros(4))
        self.cache = None
        self.sessions = 1
        self.log = []

    def forward(self, x):
        step = self.project(x).unsqueeze(0)
        self.cache = step if self.cache is None else torch.cat([self.cache, step])
        self.mean.mul_(0.5).add_(step[0], alpha=0.5)
        self.log.append(self.cache.shape[0])
        weights = torch.softmax(self.cache @ step[0], 0)
        return weights @ self.cache, self.mean, self.log

    def reset(self):
        self.cache = None
        self.mean.zero_()
        self.log = []
        self.sessions += 1

    def reset_state(self, length: int):
        if self.cache is not None and length < self.cache.shape[0]:
            self.cache = self.cache[:length]
        return self.sessions

    def clone(self):
        return {"mean": self.mean.clone(), "steps": len(self.log)}


ENTRIES = ["forward", "reset", "reset_state", "clone"]


def calls() -> list[tuple[str, tuple[Any, ...]]]:
    torch.manual_seed(1)
    x = torch.randn(6, 3)
    return [
        ("clone", ()),
        ("forward", (x[0],)),
        ("forward", (x[1],)),
        ("forward", (x[2],)),
        ("reset_state", (2,)),
        ("forward", (x[3],)),
        ("clone", ()),
        ("reset", ()),
        ("reset_state", (5,)),
        ("forward", (x[4],)),
        ("clone", ()),
        ("forward", (x[5],)),
    ]


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> torch2cpp.Project:
    torch.manual_seed(0)
    out = tmp_path_factory.mktemp("entries") / "listener"
    return torch2cpp.transpile(
        Listener().eval(), calls(), entries=ENTRIES, backend="aten", stateful=True, out=out
    )  # fmt: skip


def test_calls_in_any_order_match(project: torch2cpp.Project) -> None:
    verdict = project.check()
    assert (verdict.ok, verdict.matched, verdict.mismatches) == (True, 12, [])


def test_the_models_own_names_come_first(project: torch2cpp.Project, tmp_path: Path) -> None:
    first, x = project.load(), torch.ones(3)
    first(x)
    first.save_state(str(tmp_path / "state.safetensors"))
    assert first.clone()["steps"] == 1
    # The class's own clone and reset, under other names.
    copy = first.clone_state()
    copy(x), first.reset_state_2()
    assert (first.clone()["steps"], copy.clone()["steps"]) == (0, 2)
    first.reset()
    assert first.reset_state(9) == 2
    first.load_state(str(tmp_path / "state.safetensors"))
    assert (first.reset_state(9), first.clone()["steps"]) == (1, 1)


def test_an_unknown_entry_is_told() -> None:
    with pytest.raises(SignatureError, match="examples of rewind, which is none of the entries forward, reset"):
        torch2cpp.transpile(Listener(), {"rewind": [()]}, entries=["forward", "reset"], backend="aten")
