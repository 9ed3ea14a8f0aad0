"""Members of enums in run-time containers, in fields of run-time objects, and as state."""

from __future__ import annotations

from enum import Enum, IntEnum, auto
from typing import Any

import torch

from like_python import assert_like_python, assert_refused
from torch2cpp.binding.entry import bind
from torch2cpp.hostir.interpret import Interpreter
from torch2cpp.hostir.verify import verify
from torch2cpp.passes.order import run_passes


class Phase(Enum):
    NEW = "new"
    SEEN = "seen"
    LOST = "lost"

    @property
    def alive(self) -> bool:
        return self is not Phase.LOST

    def then(self, good: bool) -> Phase:
        if good:
            return Phase.SEEN
        return Phase.LOST if self is Phase.SEEN else Phase.NEW


class Mode(Enum):
    FAST = auto()
    SLOW = auto()


class Level(IntEnum):
    LOW = 1
    HIGH = 5


def test_in_lists() -> None:
    def f(x: list[float]) -> Any:
        phases = []
        for v in x:
            phases.append(Phase.SEEN if v > 0 else Phase.NEW)
            if v > 5:
                phases[-1] = Phase.LOST
        names = [p.name for p in phases]
        values = [p.value for p in phases]
        alive = sum(p.alive for p in phases)
        return names, values, alive, phases.count(Phase.LOST), Phase.NEW in phases, [p is Phase.SEEN for p in phases]

    assert_like_python(f, ([1.0, -1.0, 7.0],), ([],))


class Track:
    def __init__(self, i: int) -> None:
        self.i = i
        self.phase = Phase.NEW
        self.mode: Mode | None = None

    def update(self, v: float) -> None:
        self.phase = self.phase.then(v > 0)
        if v > 2:
            self.mode = Mode.FAST if v > 4 else Mode.SLOW


def test_in_fields() -> None:
    def f(x: list[float]) -> Any:
        tracks = []
        for i, v in enumerate(x):
            tracks.append(Track(i))
            for t in tracks:
                t.update(v)
            tracks = [t for t in tracks if t.phase != Phase.LOST]
        kept = [(t.i, t.phase.value, t.mode.name if t.mode is not None else "none") for t in tracks]
        return kept, [t.mode == Mode.FAST for t in tracks]

    assert_like_python(f, ([1.0, 3.0, 5.0],), ([],), ([-1.0, 2.5, -3.0],))


def test_as_keys_and_in_tuples() -> None:
    def f(x: list[float]) -> Any:
        counts = {p: 0 for p in Phase}
        pairs = []
        for v in x:
            phase = Phase.SEEN if v > 0 else Phase.LOST
            counts[phase] += 1
            pairs.append((phase, v))
        best = max(pairs, key=lambda p: p[1]) if pairs else (Phase.NEW, 0.0)
        return {p.name: n for p, n in counts.items()}, best[0].value, best[1]

    assert_like_python(f, ([1.0, -3.0, 5.0],), ([],))


def test_ints_that_are_enums() -> None:
    def f(x: list[float]) -> Any:
        levels = []
        for v in x:
            levels.append(Level.HIGH if v > 0 else Level.LOW)
        return sum(levels), levels, [n + 1 for n in levels]

    assert_like_python(f, ([1.0, -1.0],))


class Machine(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.phase = Phase.NEW
        self.last: Phase | None = None

    def forward(self, v: float) -> Any:
        self.last = self.phase
        self.phase = self.phase.then(v > 0)
        return self.phase.name, self.last.value, self.phase is self.last


def test_as_state() -> None:
    inputs = [(1.0,), (-1.0,), (-2.0,), (0.5,), (0.6,)]
    program = bind(Machine(), inputs)
    verify(program)
    machine, interpreter = Machine(), Interpreter(run_passes(program))
    assert [interpreter.run("forward", args) for args in inputs] == [machine(*args) for args in inputs]


def test_results_are_refused() -> None:
    def f(x: list[float]) -> Any:
        return [Phase.SEEN if v > 0 else Phase.NEW for v in x]

    assert_refused(f, "T2C114", ([1.0],))


def test_members_of_int_enums_that_meet() -> None:
    def f(x: float) -> Any:
        level = Level.LOW
        for i in range(3):
            if x > i:
                level = Level.HIGH
        return level.name, level == Level.HIGH, level + 1, level > 2, level.value, [Level.LOW, level]

    assert_like_python(f, (1.5,), (-1.0,))


def test_names_of_int_enums_out_of_lists_are_refused() -> None:
    def f(xs: list[float]) -> Any:
        levels = []
        for x in xs:
            levels.append(Level.HIGH if x > 0 else Level.LOW)
        return [v.name for v in levels]

    assert_refused(f, "T2C175", ([1.5],))
