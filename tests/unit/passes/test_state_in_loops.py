"""State that loops read and write: carried in variables, stored all the same, whatever way a call ends."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import nn

from model_files import equal
from torch2cpp.binding.entry import bind
from torch2cpp.hostir.interpret import Interpreter
from torch2cpp.hostir.ops import Load, Loop, Store, walk
from torch2cpp.hostir.program import Program
from torch2cpp.hostir.pyerror import PyError
from torch2cpp.hostir.verify import verify
from torch2cpp.passes.order import ALL, run_passes


class Decoder(nn.Module):
    """A recurrent state as a tuple on self, reset by each call, with several ways out of the loop."""

    def __init__(self) -> None:
        super().__init__()
        self.cell = nn.LSTMCell(3, 3)
        self.hidden = None
        self.steps = 0

    def step(self, x: torch.Tensor) -> torch.Tensor:
        self.hidden = self.cell(x, self.hidden)
        self.steps += 1
        return self.hidden[0]

    def forward(self, x: torch.Tensor, limit: int) -> tuple[torch.Tensor, int]:
        self.hidden = (torch.zeros(1, 3), torch.zeros(1, 3))
        for i in range(limit):
            x = self.step(x)
            if i == 5:
                raise ValueError("too long")
            if x.sum() > 0.4:
                return x, self.steps
            if x.sum() < -0.6:
                break
        else:
            self.steps += 100
        return x, self.steps


class Nested(nn.Module):
    """Loops in loops, branches that write or not, a state that may be missing."""

    def __init__(self) -> None:
        super().__init__()
        self.total = torch.zeros(2)
        self.last = None
        self.count = 0

    def forward(self, x: torch.Tensor, n: int) -> tuple[torch.Tensor, int, int]:
        seen = 0
        for i in range(n):
            if self.last is None:
                self.last = x[i]
                continue
            for j in range(i):
                if j == 2:
                    self.count += 10
                    break
                self.last = self.last * 0.5 + x[j]
                self.count += 1
            while self.last.sum() > 1:
                self.last = self.last - 0.5
                seen += 1
            self.total += self.last
        return self.total, self.count, seen


class Caught(nn.Module):
    """Errors inside of the loop are caught; a `finally` writes what the loop reads."""

    def __init__(self) -> None:
        super().__init__()
        self.level = 0
        self.tries = 0

    def raise_level(self, i: int) -> None:
        self.level += 1
        if i % 3 == 1:
            raise RuntimeError("no")
        self.level += 10

    def forward(self, n: int) -> tuple[int, int]:
        for i in range(n):
            try:
                self.raise_level(i)
                if i == 4:
                    break
            except RuntimeError:
                self.level *= 2
            finally:
                self.tries += 1
            self.tries += 100
        return self.level, self.tries


class Recursive(nn.Module):
    """A function that calls itself writes the state between two reads."""

    def __init__(self) -> None:
        super().__init__()
        self.depth = 0
        self.path = torch.zeros(1)

    def down(self, n: int) -> int:
        self.depth += 1
        self.path = self.path * 2 + n
        if n <= 0:
            return self.depth
        first = self.down(n - 1)
        return first + self.down(n - 2) + self.depth

    def forward(self, n: int) -> tuple[int, int, torch.Tensor]:
        before = self.depth
        for i in range(2):
            before += self.down(n - i) * self.depth
        return before, self.depth, self.path


class Aliased(nn.Module):
    """The state is the same object as what was stored: changes in place are seen through both."""

    def __init__(self) -> None:
        super().__init__()
        self.row = torch.zeros(3)
        self.log = []

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor, list[int]]:
        row = self.row
        for i in range(x.shape[0]):
            self.row = x[i]
            self.row += 1
            log = self.log
            self.log = [*log, i]
            log.append(-i)
            row = row + self.row
        return row, x, self.log


X = torch.tensor([[0.3, -0.2], [1.5, 0.4], [-0.5, 2.0], [0.1, 0.1]])
CASES: dict[str, tuple[type[nn.Module], list[tuple[Any, ...]]]] = {
    "decoder": (Decoder, [(torch.full((1, 3), v), n) for v in (0.1, 3.0, -2.0) for n in (0, 1, 3, 9)]),
    "nested": (Nested, [(X, 4), (X, 0), (X, 1), (X, 3), (X * 4, 4)]),
    "caught": (Caught, [(0,), (2,), (4,), (9,), (1,)]),
    "recursive": (Recursive, [(3,), (0,), (4,)]),
    "aliased": (Aliased, [(torch.arange(6.0).view(2, 3),), (torch.zeros(0, 3),), (torch.ones(1, 3),)]),
}


def made(kind: type[nn.Module]) -> nn.Module:
    torch.manual_seed(0)
    return kind().eval()


def outcomes(function: Any, inputs: list[tuple[Any, ...]]) -> list[Any]:
    """What successive calls on one instance give."""
    out: list[Any] = []
    for args in inputs:
        args = tuple(a.clone() if isinstance(a, torch.Tensor) else a for a in args)
        try:
            with torch.no_grad():
                result = function(*args)
            out.append((torch.utils._pytree.tree_map(lambda v: v.clone() if isinstance(v, torch.Tensor) else v, result),
                        args))  # fmt: skip
        except (ValueError, PyError) as error:
            out.append(("ValueError", getattr(error, "message", str(error))))
    return out


def programs(kind: type[nn.Module], inputs: list[tuple[Any, ...]]) -> tuple[Program, Program]:
    """Without and with the passes on state."""
    bound = bind(made(kind), inputs)
    without = run_passes(bound, ALL - {"forward_cells", "unwrap_results"}, after=lambda _, p: verify(p))
    return without, run_passes(bound, after=lambda _, p: verify(p))


@pytest.mark.parametrize("name", CASES)
def test_state_is_pythons_after_every_call(name: str) -> None:
    kind, inputs = CASES[name]
    want = outcomes(made(kind), inputs)
    for program in programs(kind, inputs):
        interpreter = Interpreter(program)
        assert equal(outcomes(lambda *args, i=interpreter: i.run("forward", args), inputs), want)


def count(program: Program, kind: type, inside: bool) -> int:
    body = program.entries["forward"].body
    loops = [op.body for op in walk(body) if isinstance(op, Loop)]
    return sum(isinstance(op, kind) for block in (loops if inside else [body]) for op in walk(block))


@pytest.mark.parametrize(("name", "without", "left"), [("decoder", 2, 0), ("nested", 5, 1), ("aliased", 1, 0)])
def test_loops_read_no_state(name: str, without: int, left: int) -> None:
    before, after = programs(*CASES[name])
    assert count(before, Load, inside=True) >= without
    # What a loop only reads, it may read as often as it likes: `total` is changed in place.
    assert count(after, Load, inside=True) == left
    # What an error leaves behind is stored as before.
    assert count(after, Store, inside=True) == count(before, Store, inside=True)


def test_a_state_that_is_there_from_the_start_is_no_optional() -> None:
    before, after = programs(*CASES["decoder"])
    assert (len(before.regions), len(after.regions)) == (5, 4)
