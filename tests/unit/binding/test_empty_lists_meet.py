"""An empty list that meets one of known type in a result takes that type where it is made."""

from __future__ import annotations

from typing import Any

import torch
from torch import nn

from torch2cpp.binding.entry import bind
from torch2cpp.hostir.interpret import Interpreter
from torch2cpp.hostir.printer import print_program


class Hypothesis:
    def __init__(self, last: int = -1) -> None:
        self.tokens: list[int] = []
        self.last = last


class Decoder(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.current = Hypothesis()

    def step(self, n: int) -> tuple[int, list[int]]:
        self.current.tokens.append(n)
        if n > 2:
            old = self.current
            self.current = Hypothesis(last=n)
            return n, old.tokens
        return n, []

    def forward(self, x: torch.Tensor, n: int) -> Any:
        return x, self.step(n)

    def scale(self, x: torch.Tensor) -> torch.Tensor:
        return x * 2


def test_the_type_is_known_with_several_entries() -> None:
    calls = [(torch.ones(2), n) for n in (1, 5, 2)]
    program = bind(Decoder(), {"forward": calls, "scale": [(torch.ones(2),)]}, entries=["forward", "scale"])
    assert "list[never]" not in print_program(program)
    interpreter = Interpreter(program)
    assert [interpreter.run("forward", args)[1] for args in calls] == [(1, []), (5, [1, 5]), (2, [])]
