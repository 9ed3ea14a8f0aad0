"""Which operations of a region must stay together and in order because of writes in place.

A tensor that the region makes and then writes (`x = conv(y)`, `x.relu_()`, `x += z`) is one piece of memory under
several names. What touches it up to the last write belongs into one part; afterwards it is only read, and may cross.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import final

from torch2cpp.hostir.ops import HostOp, TensorOp, Value, WeightRef, leaves, operands, results, values_in
from torch2cpp.hostir.program import Region
from torch2cpp.hostir.schema import aliased_operands, changes_sizes, written_operands


@final
@dataclass(frozen=True, slots=True)
class Writes:
    """What follows from the writes of one region; empty where it has none."""

    #: Positions of operations that must be in one part.
    together: tuple[frozenset[int], ...] = ()
    #: Position -> positions that must come before, beyond those whose results it takes.
    before: dict[int, set[int]] = field(default_factory=dict)


def writes_of(region: Region) -> Writes | None:
    """None where a write is, or may be, seen outside of the region: then it cannot be cut."""
    memory = _memory(region)
    touching: dict[Value, list[int]] = {}
    writing: dict[Value, list[int]] = {}
    outside = {*region.params, *(memory[v] for v in _of_weights(region) if v in memory), *_of_weights(region)}
    for i, op in enumerate(region.body):
        for owner in {memory.get(v, v) for v in (*values_in(operands(op)), *results(op))}:
            touching.setdefault(owner, []).append(i)
        for written in _written(op, memory):
            if written is None or written in outside:
                return None
            writing.setdefault(written, []).append(i)
    out = Writes(tuple(frozenset(i for i in touching[o] if i <= at[-1]) for o, at in writing.items()))
    for owner, at in writing.items():
        for i in touching[owner]:
            earlier = {j for j in at if j < i}
            if i in at:
                earlier |= {j for j in touching[owner] if j < i}
            out.before.setdefault(i, set()).update(earlier)
    return out if not region.aliasing else None


def _of_weights(region: Region) -> set[Value]:
    """Values that may share the memory of a weight."""
    tensor_ops = [op for op in region.body if isinstance(op, TensorOp)]
    shared = [(r, aliased_operands(op, i)) for op in tensor_ops for i, r in enumerate(op.results)]
    return {r for r, operands_ in shared if any(isinstance(leaf, WeightRef) for leaf in leaves(operands_))}


def _memory(region: Region) -> dict[Value, Value]:
    """Value -> the first value that may share its memory; two that share with one, share with each other."""
    owner: dict[Value, Value] = {}

    def root(v: Value) -> Value:
        while v in owner:
            v = owner[v]
        return v

    for op in region.body:
        for sources, result in _sharing(op):
            for source in sources:
                a, b = root(source), root(result)
                if a is not b:
                    # A parameter stays the owner: writes to it are seen outside.
                    first, second = (b, a) if b in region.params else (a, b)
                    owner[second] = first
    return {v: root(v) for v in owner}


def _sharing(op: TensorOp | HostOp) -> Iterator[tuple[list[Value], Value]]:
    """What each result may share memory with."""
    if isinstance(op, HostOp):
        if op.result is not None:
            yield list(values_in(op.args)), op.result
        return
    for i, result in enumerate(op.results):
        yield [*values_in(aliased_operands(op, i)), *values_in(written_operands(op))], result


def _written(op: TensorOp | HostOp, memory: dict[Value, Value]) -> Iterator[Value | None]:
    """The owners of what it writes; None for a weight, or where sizes change in place."""
    if isinstance(op, HostOp):
        return
    written = written_operands(op)
    if written and changes_sizes(op):
        yield None
    for leaf in leaves(written):
        if isinstance(leaf, WeightRef):
            yield None
        elif isinstance(leaf, Value):
            yield memory.get(leaf, leaf)
