"""Loops over modules in emitted C++: `for` over region instances, equal to Python bit for bit."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import torch
from torch import nn

from torch2cpp.options import Options
from torch2cpp.pipeline import transpile
from torch2cpp.project import Project


class Block(nn.Module):
    def __init__(self, size: int) -> None:
        super().__init__()
        self.a = nn.Linear(size, size)
        self.b = nn.Linear(size, size)
        self.head = nn.Linear(size, 4)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x + self.b(torch.relu(self.a(x)))


class Stack(nn.Module):
    """Ways to go through a stack of equal blocks."""

    def __init__(self, count: int) -> None:
        super().__init__()
        self.blocks = nn.ModuleList(Block(8) for _ in range(count))

    def exits(self, x: torch.Tensor) -> tuple[torch.Tensor, int]:
        for i, block in enumerate(self.blocks):
            x = block(x)
            y = torch.softmax(block.head(x), -1)
            if y.max() > 0.6:
                return y, i
        return y, -1

    def breaks(self, x: torch.Tensor) -> tuple[torch.Tensor, int, float]:
        depth, last = 5, 0.0
        for i, block in enumerate(self.blocks):
            x = block(x)
            last = torch.sigmoid(block.head(x)).max().item()
            depth = 5 + 2 * i
            if last > 0.6 + (0.1 if i % 2 else 0.05):
                break
        return x, depth, last

    def skips(self, x: torch.Tensor) -> tuple[torch.Tensor, list[torch.Tensor], int]:
        scores, run = [], 0
        for block in self.blocks:
            score = torch.sigmoid(block.head(x)).mean()
            scores.append(score)
            if score > 0.5:
                x = block(x)
                run = run + 1
        return x, scores, run

    def chooses(self, x: torch.Tensor) -> torch.Tensor:
        policy = (x[0] > 0).float()
        for i, block in enumerate(self.blocks):
            action = policy[i % 8]
            if action.sum() == 0:
                continue
            x = torch.relu(block(x)) * action
        return x

    def groups(self, x: torch.Tensor) -> tuple[torch.Tensor, int]:
        for g in range(len(self.blocks) // 4):
            for b in range(4):
                x = self.blocks[4 * g + b](x)
                if x.max() > 3:
                    return x, 4 * g + b
            if x.sum() > 5:
                return x, -g
        return x, 100


def inputs() -> list[tuple[torch.Tensor]]:
    torch.manual_seed(3)
    return [(torch.randn(1, 8) * 0.4 * k,) for k in range(6)]


def emitted(count: int, folder: Path, entries: tuple[str, ...]) -> Project:
    torch.manual_seed(count)
    model = Stack(count).eval()
    options = Options(name="stack", entries=entries, backend="aten", out=folder)
    return Project(model, transpile(model, {entry: inputs() for entry in entries}, options))


def host_program(folder: Path) -> str:
    return (folder / "src/stack.cpp").read_text()


def test_the_host_program_is_as_long_for_any_number_of_blocks(tmp_path: Path) -> None:
    lines, distinct = set(), set()
    for count in (16, 32):
        project = emitted(count, tmp_path / str(count), ("exits", "groups"))
        lines.add(len(host_program(tmp_path / str(count)).splitlines()))
        distinct.add(len({use.distinct for use in project.transpiled.compiled.uses.values()}))
    assert len(lines) == len(distinct) == 1


@pytest.mark.slow
def test_results_are_those_of_python(tmp_path: Path) -> None:
    project = emitted(8, tmp_path / "out", ("exits", "breaks", "skips", "chooses", "groups"))
    text = host_program(tmp_path / "out")
    assert "for (int64_t i = 0; i < 8; ++i)" in text and re.search(r"regions_->blocks\w*\(i, ", text)
    project.build(runner=False, python=True)
    verdict = project.check()
    assert verdict.ok, verdict.mismatches
    assert verdict.max_abs_err == 0
