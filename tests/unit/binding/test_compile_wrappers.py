"""What `torch.compile` and its like wrap is taken as it is written, and compared with that."""

from __future__ import annotations

import torch
from torch import nn

from model_files import equal
from torch2cpp.binding.entry import bind
from torch2cpp.frontend.eager import eager
from torch2cpp.hostir.interpret import Interpreter
from torch2cpp.parity.run import call


@torch.compile
def act(x):
    return torch.relu(x) + 1


@torch.jit.script_if_tracing
def lowered(x):
    if x.sum() > 0:
        return x - 1
    return x


@torch.compiler.disable
def plain(x):
    return x * 2


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(2, 2)

    def forward(self, x):
        return act(self.linear(x)) * 3


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.block = torch.compile(Block())
        self.tail = torch.compile(plain, dynamic=True)

    def forward(self, x):
        y = torch.compile(self.tail)(x)
        if x.sum() > 1:
            return lowered(plain(self.block(y)))
        return y


def test_compiled_parts_are_taken_as_written():
    torch.manual_seed(0)
    model = torch.compile(Model())
    inputs = [(torch.ones(2),), (torch.zeros(2),), (torch.tensor([3.0, -1.0]),)]
    program = bind(eager(model), inputs)
    interpreter = Interpreter(program)
    for args in inputs:
        want = call(model, args)
        assert equal(interpreter.run("forward", args), want.value)
