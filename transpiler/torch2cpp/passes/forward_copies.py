"""Uses a value itself where control flow only hands it on.

Before:

    if done
      print('end')
      yield x, 1
    else
      yield x, 2
    -> y: float32[?], k: int
    return (y, k)

After:

    ...
      yield 1
    ...
    return (x, k)

The same for loops whose iterations hand on what they got.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import final

from torch2cpp.hostir.fit import operand_type
from torch2cpp.hostir.ops import (
    Block,
    Break,
    Continue,
    If,
    Loop,
    Op,
    Operand,
    Value,
    WeightRef,
    Yield,
)
from torch2cpp.hostir.program import Program
from torch2cpp.hostir.types import TensorType
from torch2cpp.passes.rebuild import Rewriter, defined_values, iteration_ends, with_blocks, with_functions


def forward_copies(program: Program) -> Program:
    """Results and carried values that are always one and the same value are replaced by it."""
    return with_functions(program, lambda f: _Forwarder().function(f))


@final
class _Forwarder(Rewriter):
    def visit(self, op: Op) -> list[Op]:
        match op:
            case If():
                return [self.if_(op)]
            case Loop():
                return [self.loop(op)]
            case _:
                return super().visit(op)

    def if_(self, op: If) -> If:
        then, orelse = self.block(op.then), self.block(op.orelse)
        ends = [last for arm in (then, orelse) if isinstance(last := arm.ops[-1], Yield)]
        inside = {*defined_values(then), *defined_values(orelse)}
        kept = []
        for k, result in enumerate(op.results):
            source = _only([end.values[k] for end in ends], inside, result)
            if source is None:
                kept.append(k)
            else:
                self.known[result] = source[0]
        return replace(
            op,
            results=tuple(op.results[k] for k in kept),
            then=_yielding(then, kept),
            orelse=_yielding(orelse, kept),
        )

    def loop(self, op: Loop) -> Loop:
        """Drops carried values that never change; of a counted loop only where no `break` hands on another."""
        counted = op.over is not None
        carried = op.body.params[1:] if counted else op.body.params
        exits = list(iteration_ends(op.body))
        kept = []
        for k, param in enumerate(carried):
            handed = [e.values[k] for e in exits if isinstance(e, Continue)]
            if counted:
                handed += [e.values[k] for e in exits if isinstance(e, Break)]
            handed = [v for v in map(self.operand, handed) if v is not param]
            source = _only([op.inits[k], *handed], set(defined_values(op.body)), param)
            if source is None or (counted and not _same_kind(source[0], op.results[k])):
                kept.append(k)
                continue
            self.known[param] = source[0]
            if counted:
                self.known[op.results[k]] = source[0]
        params = (*op.body.params[: int(counted)], *(carried[k] for k in kept))
        return replace(
            op,
            results=tuple(op.results[k] for k in kept) if counted else op.results,
            inits=tuple(op.inits[k] for k in kept),
            body=self.block(_looping(Block(params, op.body.ops), kept, counted)),
        )


def _only(sources: Sequence[Operand], inside: set[Value], to: Value) -> tuple[Operand] | None:
    """The one operand that all sources are, in a tuple, if it can stand for `to` after its block."""
    if not sources:
        return None
    first = sources[0]
    if isinstance(first, tuple | list | dict) or (isinstance(first, Value) and first in inside):
        return None
    if not all(_same(first, other) for other in sources) or not _same_kind(first, to):
        return None
    return (first,)


def _same(a: Operand, b: Operand) -> bool:
    if isinstance(a, Value) or isinstance(b, Value):
        return a is b
    # Zeros of either sign are different constants.
    return type(a) is type(b) and repr(a) == repr(b)


def _same_kind(source: Operand, to: Value) -> bool:
    """Whether the source can be used wherever `to` was: same type, sizes of tensors aside."""
    if source is None:
        return False
    given = operand_type(source)
    both = isinstance(given, TensorType) and isinstance(to.type, TensorType)
    return given == to.type or (both and isinstance(source, Value | WeightRef))


def _yielding(arm: Block, kept: Sequence[int]) -> Block:
    last = arm.ops[-1]
    if not isinstance(last, Yield):
        return arm
    return Block(arm.params, [*arm.ops[:-1], replace(last, values=tuple(last.values[k] for k in kept))])


def _looping(block: Block, kept: Sequence[int], counted: bool) -> Block:
    """The body of a loop with some of the values at its terminators left out."""
    ops: list[Op] = []
    for op in block.ops:
        if isinstance(op, Continue) or (counted and isinstance(op, Break)):
            ops.append(replace(op, values=tuple(op.values[k] for k in kept)))
        elif isinstance(op, Loop):
            ops.append(op)
        else:
            ops.append(with_blocks(op, lambda inner: _looping(inner, kept, counted)))
    return Block(block.params, ops)
