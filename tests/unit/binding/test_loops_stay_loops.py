"""No iteration count is ever baked in; static iteration over modules unrolls and keeps its run-time exits."""

from __future__ import annotations

import re

import torch
from torch import nn

from torch2cpp.binding.entry import bind
from torch2cpp.hostir.interpret import Interpreter
from torch2cpp.hostir.ops import Loop, walk
from torch2cpp.hostir.printer import print_program
from torch2cpp.hostir.program import Program
from torch2cpp.passes.order import ALL, run_passes


class Decoder(nn.Module):
    def __init__(self, limit: int) -> None:
        super().__init__()
        self.limit = limit
        self.cell = nn.GRUCell(4, 4)
        self.out = nn.Linear(4, 6)

    def forward(self, state: torch.Tensor) -> torch.Tensor:
        tokens = []
        for step in range(self.limit):
            state = self.cell(state, state)
            token = self.out(state).argmax(-1)
            tokens.append(token)
            if (token == 0).all():
                break
        return torch.stack(tokens, 1)


def _program(limit: int) -> Program:
    torch.manual_seed(0)
    return run_passes(bind(Decoder(limit).eval(), [(torch.randn(2, 4),), (torch.randn(3, 4),)]))


def test_a_limit_of_1000_changes_only_the_constant() -> None:
    short, long = print_program(_program(10)), print_program(_program(1000))
    assert short != long
    # the comments are aligned, so that a longer number moves them
    assert re.sub(r" +", " ", re.sub(r"\b10\b", "1000", short)) == re.sub(r" +", " ", long)


def test_the_loop_is_a_loop() -> None:
    program = _program(10)
    assert sum(isinstance(op, Loop) for op in walk(program.entries["forward"].body)) == 1


class EarlyExit(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.blocks = nn.ModuleList([nn.Linear(4, 4) for _ in range(3)])

    def forward(self, x: torch.Tensor) -> object:
        for i, block in enumerate(self.blocks):
            x = torch.relu(block(x))
            if x.max() > 0.8:
                return x, i
        return x, len(self.blocks)


def test_iteration_over_modules_unrolls_and_keeps_its_exits() -> None:
    torch.manual_seed(0)
    model = EarlyExit().eval()
    inputs = [(torch.randn(1, 4) * k,) for k in (0.1, 1.0, 4.0)]
    program = run_passes(bind(model, inputs), ALL - {"roll_loops"})
    assert not any(isinstance(op, Loop) for op in walk(program.entries["forward"].body))
    for (x,) in inputs:
        with torch.no_grad():
            want, at = model(x)
        got, there = Interpreter(program).run("forward", [x])
        assert torch.equal(got, want)
        assert there == at
