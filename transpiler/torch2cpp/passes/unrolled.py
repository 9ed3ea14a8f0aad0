"""Analysis: runs of operations in a block that repeat, as a loop over modules leaves them when it is unrolled.

An operation's *shape* is everything about it but its operands and the names of regions: two operations of
one shape, on the same Python lines, do the same with other values. A run is `count` times the same `period`
shapes in a row.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, final

from torch2cpp.hostir.host_ops import CONSTANT_OPERANDS
from torch2cpp.hostir.ops import (
    Block,
    Break,
    Continue,
    HostOp,
    If,
    Leave,
    Load,
    Loop,
    Op,
    Operand,
    Raise,
    RegionCall,
    Return,
    Scope,
    Store,
    TensorOp,
    Try,
    Value,
    WeightRef,
    blocks,
    operands,
    results,
    values_in,
)
from torch2cpp.regions.share import constant_key

#: As few repetitions make no loop.
MIN_COUNT = 3
#: Operations of a period that are looked for at most; a bound on time.
_LONGEST_PERIOD = 256


@final
@dataclass(frozen=True, slots=True)
class Run:
    """Repetitions in a block: its operations from `start` on, `count` times `period` of them."""

    start: int
    period: int
    count: int


@final
@dataclass(slots=True)
class Reading:
    """One operation with all that is inside: its shape, and in the order of the program what differs."""

    shape: list[Hashable] = field(default_factory=list)
    #: The leaves of all operands.
    leaves: list[Operand] = field(default_factory=list)
    #: Where in `leaves` the operands of each operation begin.
    starts: dict[Op, int] = field(default_factory=dict)
    #: The values defined.
    defined: list[Value] = field(default_factory=list)
    #: The regions called, by call.
    calls: list[tuple[str, ...]] = field(default_factory=list)
    #: Whether it can be part of a loop's body.
    movable: bool = True


def read(op: Op, region_key: Callable[[str], Hashable]) -> Reading:
    """Reads one operation; `region_key` is equal for regions that are equal but for their weights."""
    reading = Reading()
    _Reader(reading, region_key).op(op, loops=0)
    return reading


def find_runs(shapes: Sequence[Hashable]) -> Iterator[Run]:
    """The longest runs of every period: short periods first, the loops inside of loops; then long runs.

    >>> next(find_runs("xabababy"))
    Run(start=1, period=2, count=3)
    """
    found: list[Run] = []
    for period in range(1, min(len(shapes) // MIN_COUNT, _LONGEST_PERIOD) + 1):
        at = 0
        while at + period < len(shapes):
            length = 0
            while at + length + period < len(shapes) and shapes[at + length] == shapes[at + length + period]:
                length += 1
            count = length // period + 1
            if count >= MIN_COUNT:
                # The loop as it was may have begun at any of these places; its first or last iteration may differ.
                found += [Run(at + offset, period, count) for offset in range(length % period + 1)]
            if count > MIN_COUNT:
                found += [Run(at + offset, period, count - 1) for offset in range(length % period + period + 1)]
            at += length + 1
    found.sort(key=lambda run: (run.period, -run.count))
    return iter(found)


@final
@dataclass(slots=True)
class _Reader:
    reading: Reading
    region_key: Callable[[str], Hashable]
    #: Labels of scopes inside, numbered.
    labels: dict[str, int] = field(default_factory=dict)

    def op(self, op: Op, loops: int) -> None:
        r = self.reading
        if isinstance(op, Scope):
            self.labels[op.label] = len(self.labels)
        r.starts[op] = len(r.leaves)
        shape: list[Hashable] = [type(op).__name__, op.span, *self.own(op)]
        for tree in operands(op):
            shape.append(self.tree(tree))
        r.shape.append(tuple(shape))
        if isinstance(op, TensorOp) and any(v in op.results for v in values_in(operands(op))):
            # The result is the operand that it writes.
            r.movable = False
        if isinstance(op, Break | Continue) and loops == 0:
            r.movable = False
        for block in blocks(op):
            self.block(block, loops + isinstance(op, Loop))
        self.define(results(op))

    def block(self, block: Block, loops: int) -> None:
        self.reading.shape.append("{")
        self.define(block.params)
        for op in block.ops:
            self.op(op, loops)
        self.reading.shape.append("}")

    def define(self, values: Sequence[Value]) -> None:
        self.reading.defined += values
        self.reading.shape.append(tuple(v.type for v in values))

    def tree(self, tree: Operand) -> Hashable:
        """The structure of an operand; its leaves are noted."""
        if isinstance(tree, tuple | list):
            return (type(tree).__name__, *map(self.tree, tree))
        if isinstance(tree, dict):
            return ("dict", *((k, self.tree(v)) for k, v in tree.items()))
        if isinstance(tree, slice):
            return ("slice", *map(self.tree, (tree.start, tree.stop, tree.step)))
        self.reading.leaves.append(tree)
        return "leaf"

    def own(self, op: Op) -> list[Hashable]:
        """What an operation is, its operands aside."""
        match op:
            case TensorOp():
                return [str(op.overload), op.indexed]
            case HostOp():
                return [op.name, *(constant_key(op.args[i]) for i in CONSTANT_OPERANDS.get(op.name, ()))]
            case Loop():
                return [op.over is None]
            case Scope():
                return [op.name, self.labels[op.label]]
            case Try():
                return [tuple(h.names for h in op.handlers), op.final is None]
            case Leave():
                return [self.labels.get(op.label, op.label)]
            case Raise():
                return [op.name, op.bases]
            case RegionCall():
                self.reading.calls.append(op.regions)
                return [len(op.regions), bool(op.instances), self.region_key(op.region)]
            case Load() | Store():
                return [id(op.cell)]
            case If() | Return():
                return []
            case _:
                return [getattr(op, "function", "")]


def same_constant(a: Any, b: Any) -> bool:
    """Whether two leaves are one constant, one weight or one value."""
    if isinstance(a, Value) or isinstance(b, Value):
        return a is b
    if isinstance(a, WeightRef) or isinstance(b, WeightRef):
        return isinstance(a, WeightRef) and isinstance(b, WeightRef) and a.name == b.name
    return constant_key(a) == constant_key(b)
