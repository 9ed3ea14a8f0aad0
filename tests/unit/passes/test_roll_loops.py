"""Loops over modules: unrolled by the binding, rolled up again, with Python's results bit for bit."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import nn

from torch2cpp.binding.entry import bind
from torch2cpp.hostir.interpret import Interpreter
from torch2cpp.hostir.ops import HostOp, Loop, RegionCall, walk
from torch2cpp.hostir.program import Program
from torch2cpp.hostir.verify import verify
from torch2cpp.passes.order import ALL, run_passes
from torch2cpp.regions.share import share


class Block(nn.Module):
    def __init__(self, size: int) -> None:
        super().__init__()
        self.a = nn.Linear(size, size)
        self.b = nn.Linear(size, size)
        self.head = nn.Linear(size, 4)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x + self.b(torch.relu(self.a(x)))


class Exits(nn.Module):
    """Leaves after the first block that is sure."""

    def __init__(self, count: int, size: int = 8, limit: float = 0.6) -> None:
        super().__init__()
        self.blocks = nn.ModuleList(Block(size) for _ in range(count))
        self.limit = limit

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, int]:
        for i, block in enumerate(self.blocks):
            x = block(x)
            y = torch.softmax(block.head(x), -1)
            if y.max() > self.limit:
                return y, i
        return y, -1


class Breaks(Exits):
    """The same with a `break`, a counter in steps of two, and a threshold for each block."""

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, int, float]:
        depth, last = 5, 0.0
        for i, block in enumerate(self.blocks):
            x = block(x)
            score = torch.sigmoid(block.head(x)).max()
            last = score.item()
            depth = 5 + 2 * i
            if last > self.limit + (0.1 if i % 2 else 0.05):
                break
        return x, depth, last


class Skips(Exits):
    """Skips blocks, and hands out what each of them decided."""

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, list[torch.Tensor], int]:
        scores, run = [], 0
        for block in self.blocks:
            score = torch.sigmoid(block.head(x)).mean()
            scores.append(score)
            if score > self.limit - 0.1:
                x = block(x)
                run = run + 1
        return x, scores, run


class Chooses(Exits):
    """Which blocks run is decided before any of them does."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        policy = (x[0] > 0).float()
        for i, block in enumerate(self.blocks):
            action = policy[i % 8]
            if action.sum() == 0:
                continue
            x = torch.relu(block(x)) * action
        return x


class Groups(Exits):
    """A loop in a loop: groups of equal blocks, with an exit after each block and after each group."""

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, int]:
        for g in range(len(self.blocks) // 4):
            for b in range(4):
                x = self.blocks[4 * g + b](x)
                if x.max() > 3:
                    return x, 4 * g + b
            if x.sum() > 5:
                return x, -g
        return x, 100


class Fields(Exits):
    """Each block reads another field of an object kept at run time: which one is no value of the loop."""

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, int]:
        kept = []
        for k in range(1 + int(x[0, 0] > 0)):
            kept.append({"a": x + k, "b": x * 2, "c": x - k, "d": x / 2, "e": x, "f": -x, "g": x + 1, "h": x * x})
        fields = kept[-1]
        for i, (block, name) in enumerate(zip(self.blocks, "abcdefgh", strict=False)):
            y = block(fields[name])
            if y.max() > 2:
                return y, i
        return y, -1


def inputs(count: int = 6) -> list[tuple[torch.Tensor]]:
    torch.manual_seed(3)
    return [(torch.randn(1, 8) * 0.4 * k,) for k in range(count)]


def made(kind: type[Exits], count: int) -> Exits:
    torch.manual_seed(count)
    return kind(count).eval()


def passed(model: nn.Module, passes: frozenset[str] = ALL) -> Program:
    return run_passes(bind(model, inputs()), passes, after=lambda _, each: verify(each))


def same(want: Any, got: Any) -> bool:
    if isinstance(want, torch.Tensor):
        return torch.equal(want, got)
    if isinstance(want, tuple | list):
        return type(want) is type(got) and len(want) == len(got) and all(map(same, want, got))
    return type(want) is type(got) and want == got


def loops(program: Program) -> list[Loop]:
    return [op for op in walk(program.entries["forward"].body) if isinstance(op, Loop)]


@pytest.mark.parametrize("kind", [Exits, Breaks, Skips, Chooses, Groups, Fields])
@pytest.mark.parametrize("count", [1, 3, 8])
def test_results_are_those_of_python(kind: type[Exits], count: int) -> None:
    model = made(kind, count)
    program = passed(model)
    interpreter = Interpreter(program)
    for args in inputs():
        with torch.no_grad():
            assert same(model(*args), interpreter.run("forward", args))


@pytest.mark.parametrize("kind", [Exits, Breaks, Skips, Chooses])
def test_one_loop_and_one_call_of_the_instances(kind: type[Exits]) -> None:
    program = passed(made(kind, 8))
    assert len(loops(program)) == 1
    calls = [op for op in walk(loops(program)[0].body) if isinstance(op, RegionCall)]
    assert calls and all(len(c.instances) >= 6 for c in calls)


def test_a_loop_in_a_loop() -> None:
    program = passed(made(Groups, 16))
    assert len(loops(program)) == 2


def test_without_the_pass_nothing_is_rolled() -> None:
    assert loops(passed(made(Exits, 8), ALL - {"roll_loops"})) == []


@pytest.mark.parametrize("kind", [Exits, Breaks, Skips])
def test_size_does_not_grow_with_the_number_of_blocks(kind: type[Exits]) -> None:
    programs = [passed(made(kind, n)) for n in (8, 32, 128)]
    distinct = {len(share(p.regions.values()).distinct) for p in programs}
    sizes = {sum(not isinstance(op, HostOp) for op in walk(p.entries["forward"].body)) for p in programs}
    assert len(distinct) == 1 and len(sizes) == 1


@pytest.mark.parametrize("count", [32, 128])
def test_deep_stacks_are_like_python(count: int) -> None:
    model = made(Exits, count)
    interpreter = Interpreter(passed(model))
    ends = set()
    for args in inputs():
        with torch.no_grad():
            want = model(*args)
        assert same(want, interpreter.run("forward", args))
        ends.add(want[1])
    assert len(ends) > 1


def test_errors_keep_their_place() -> None:
    class Strict(Exits):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            for i, block in enumerate(self.blocks):
                x = block(x)
                if x.max() > 1.5:
                    raise ValueError(f"too large after block {i}")
            return x

    model = made(Strict, 8)
    interpreter = Interpreter(passed(model))
    messages = set()
    for args in inputs():
        try:
            with torch.no_grad():
                want: Any = model(*args)
        except ValueError as error:
            want = str(error)
        try:
            got: Any = interpreter.run("forward", args)
        except Exception as error:
            got = getattr(error, "message", error)
        assert same(want, got)
        messages.add(want if isinstance(want, str) else "")
    assert len(messages) > 1
