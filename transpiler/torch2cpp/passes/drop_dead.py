"""Removes what nothing uses and what nobody can notice: pure operations, results, carried values.

Before:

    n: int = tensor.size(x, 0)
    for i: int in range(0, 3, 1) with h: float32[?] = x, last: int = 0
      h2: float32[?] = aten.relu.default(h)
      continue h2, i
    -> y: float32[?], k: int
    return y

After:

    for i: int in range(0, 3, 1) with h: float32[?] = x
      h2: float32[?] = aten.relu.default(h)
      continue h2
    -> y: float32[?]
    return y

An operation that may raise an error Python has stays: the error is part of what the program does.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import final

from torch2cpp.hostir.host_ops import TABLE
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
    Scope,
    TensorOp,
    Try,
    Value,
    Yield,
    blocks,
    operands,
    results,
    values_in,
    walk,
)
from torch2cpp.hostir.program import Function, Program
from torch2cpp.hostir.schema import changes_sizes
from torch2cpp.passes.effects import may_raise
from torch2cpp.passes.raising import Raising
from torch2cpp.passes.rebuild import all_ops, with_blocks, with_functions


def drop_dead(program: Program) -> Program:
    """The program without what it does not need."""
    resizes = any(isinstance(op, TensorOp) and changes_sizes(op) for op in all_ops(program))
    return with_functions(program, lambda f: _without_dead(f, resizes))


def _without_dead(function: Function, resizes: bool) -> Function:
    raising = None if resizes else Raising.of(walk(function.body))
    marks = _Marks(raising)
    marks.block(function.body, _Ends())
    marks.spread()
    return replace(function, body=_Sweeper(raising, marks.live).block(function.body, _Ends()))


def is_removable(op: Op, raising: Raising | None) -> bool:
    """Whether nobody notices when the operation does not run and its results are not used."""
    match op:
        case Load():
            return True
        case HostOp():
            effect = TABLE[op.name].effect
            new = op.name.endswith(".new")
            return op.result is not None and not may_raise(op) and (effect != "writes" or new)
        case TensorOp():
            return raising is not None and not raising.may_raise(op)
        case _:
            return False


@final
@dataclass(frozen=True, slots=True)
class _Ends:
    """Where the terminators of a block hand values to."""

    owner: If | Try | None = None
    loop: Loop | None = None
    scopes: dict[str, Scope] = field(default_factory=dict)

    def receivers(self, op: Op) -> Sequence[Sequence[Value]] | None:
        """For a terminator that hands values on, all receivers of each; None for other operations."""
        match op:
            case Yield():
                return [(r,) for r in self.owner.results] if self.owner else [() for _ in op.values]
            case Break() if self.loop is not None:
                return _loop_receivers(self.loop, at_break=True)
            case Continue() if self.loop is not None:
                return _loop_receivers(self.loop, at_break=False)
            case Leave():
                return [(r,) for r in self.scopes[op.label].results]
            case _:
                return None


def _loop_receivers(loop: Loop, at_break: bool) -> Sequence[Sequence[Value]]:
    """A counted loop's carried values and results go together: both come out when the range ends."""
    if loop.over is not None:
        return list(zip(loop.body.params[1:], loop.results, strict=True))
    return [(r,) for r in (loop.results if at_break else loop.body.params)]


def _inner_ends(op: Op, block: Block, ends: _Ends) -> _Ends:
    match op:
        case If():
            return replace(ends, owner=op)
        case Try():
            return replace(ends, owner=None if block is op.final else op)
        case Loop():
            return replace(ends, owner=None, loop=op)
        case Scope():
            return replace(ends, owner=None, scopes={**ends.scopes, op.label: op})
        case _:
            return ends


@final
@dataclass(slots=True)
class _Marks:
    """Which values are needed."""

    #: None where sizes change in place, so that nothing is known about them.
    raising: Raising | None
    live: set[Value] = field(default_factory=set)
    #: What a value needs once it is needed itself.
    needs: dict[Value, list[Value]] = field(default_factory=dict)

    def spread(self) -> None:
        work = list(self.live)
        while work:
            for value in self.needs.get(work.pop(), ()):
                if value not in self.live:
                    self.live.add(value)
                    work.append(value)

    def block(self, block: Block, ends: _Ends) -> None:
        for op in block.ops:
            for inner in blocks(op):
                self.block(inner, _inner_ends(op, inner, ends))
            self.op(op, ends)

    def op(self, op: Op, ends: _Ends) -> None:
        receivers = ends.receivers(op)
        match op:
            case Loop():
                for init, to in zip(op.inits, _loop_receivers(op, at_break=False), strict=True):
                    self.pass_on(init, to)
                self.live.update(values_in(op.over or ()))
                if op.over is not None:
                    # One needs the other: they are dropped together.
                    for param, result in zip(op.body.params[1:], op.results, strict=True):
                        self.needs.setdefault(param, []).append(result)
                        self.needs.setdefault(result, []).append(param)
            case Yield() | Break() | Continue() | Leave() if receivers is not None:
                for operand, to in zip(op.values, receivers, strict=True):
                    self.pass_on(operand, to)
            case _ if is_removable(op, self.raising):
                for tree in operands(op):
                    self.pass_on(tree, results(op))
            case _:
                self.live.update(v for tree in operands(op) for v in values_in(tree))

    def pass_on(self, operand: Operand, to: Sequence[Value]) -> None:
        """The operand's values are needed once one of the receivers is."""
        for value in values_in(operand):
            for receiver in to:
                self.needs.setdefault(receiver, []).append(value)


@final
@dataclass(slots=True)
class _Sweeper:
    """Builds the blocks anew without what is not live."""

    raising: Raising | None
    live: set[Value]

    def block(self, block: Block, ends: _Ends) -> Block:
        ops: list[Op] = []
        for op in block.ops:
            swept = self.op(op, ends)
            if swept is not None and not _does_nothing(swept):
                ops.append(swept)
        return Block(block.params, ops)

    def op(self, op: Op, ends: _Ends) -> Op | None:
        receivers = ends.receivers(op)
        if isinstance(op, Yield | Break | Continue | Leave):
            if receivers is None:
                return op
            kept = [v for v, to in zip(op.values, receivers, strict=True) if self.needed(to)]
            return replace(op, values=tuple(kept))
        if is_removable(op, self.raising) and not self.needed(results(op)):
            return None
        made = with_blocks(op, lambda inner: self.block(inner, _inner_ends(op, inner, ends)))
        match made:
            case Loop():
                return self.loop(op, made)
            case If() | Scope() | Try():
                return replace(made, results=tuple(r for r in made.results if r in self.live))
            case _:
                return made

    def loop(self, before: Op, loop: Loop) -> Loop:
        assert isinstance(before, Loop)
        receivers = _loop_receivers(before, at_break=False)
        kept = [k for k, to in enumerate(receivers) if self.needed(to)]
        index = loop.body.params[: int(loop.over is not None)]
        carried = loop.body.params[len(index) :]
        return replace(
            loop,
            results=tuple(r for r in loop.results if r in self.live),
            inits=tuple(loop.inits[k] for k in kept),
            body=Block((*index, *(carried[k] for k in kept)), loop.body.ops),
        )

    def needed(self, values: Sequence[Value]) -> bool:
        return any(v in self.live for v in values)


def _does_nothing(op: Op) -> bool:
    """Whether an If is left without results and with nothing in its arms."""
    return isinstance(op, If) and not op.results and all(isinstance(arm.ops[0], Yield) for arm in (op.then, op.orelse))
