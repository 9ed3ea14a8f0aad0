"""Which values are needed at the same time, so that they cannot share a C++ variable.

One backward walk over the structured control flow; a loop's body is walked until what it needs at
its head no longer grows. Folded values have no variable: reading one reads the variables inside.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import final

from torch2cpp.emit.fold import Folding
from torch2cpp.hostir.ops import (
    Block,
    Break,
    Continue,
    If,
    Leave,
    Loop,
    Op,
    Raise,
    Return,
    Scope,
    Try,
    Value,
    Yield,
    results,
)

Live = frozenset[Value]
_NONE: Live = frozenset()


@final
@dataclass(frozen=True, slots=True)
class _Exit:
    """Where a terminator goes: the values it assigns there, and what is live after that."""

    targets: tuple[Value, ...]
    live: Live


@final
@dataclass(frozen=True, slots=True)
class _Context:
    """The ways out of a block."""

    yields: _Exit | None = None
    breaks: _Exit | None = None
    continues: _Exit | None = None
    leaves: dict[str, _Exit] = field(default_factory=dict)
    #: Live where an exception raised here would be caught, and in `finally` blocks on the way out.
    raised: Live = _NONE
    final: Live = _NONE


@final
class Interference:
    """Pairs of values that are needed at the same time."""

    def __init__(self) -> None:
        self.pairs: dict[Value, set[Value]] = {}

    def add(self, value: Value, others: Iterable[Value]) -> None:
        """Records that `value` is assigned while `others` are needed."""
        mine = self.pairs.setdefault(value, set())
        for other in others:
            if other is not value and other not in mine:
                mine.add(other)
                self.pairs.setdefault(other, set()).add(value)

    def between(self, a: Iterable[Value], b: set[Value]) -> bool:
        """Whether any of `a` interferes with any of `b`."""
        return any(not self.pairs.get(x, set()).isdisjoint(b) for x in a)


def interference(params: tuple[Value, ...], body: Block, folding: Folding) -> Interference:
    """The interference of all variables of a function."""
    walker = _Walker(folding)
    entry = walker.block(body, _Context())
    for param in params:
        walker.out.add(param, (entry | set(params)) - {param})
    return walker.out


@final
class _Walker:
    def __init__(self, folding: Folding) -> None:
        self.folding = folding
        self.out = Interference()

    def block(self, block: Block, ctx: _Context) -> Live:
        """What is live at the start of a block."""
        live: Live = _NONE
        for op in reversed(block.ops):
            live = self.op(op, live, ctx) | ctx.raised
        return live

    def op(self, op: Op, after: Live, ctx: _Context) -> Live:
        match op:
            case Yield() | Break() | Continue() | Leave():
                return self.leave(op, ctx)
            case Return() | Raise():
                return self.read(op) | ctx.final
            case If():
                if self.folding.is_expression(op):
                    return self.simple(op, after)
                exits = replace(ctx, yields=_Exit(op.results, self.assigned(op.results, after)))
                return self.read(op) | self.block(op.then, exits) | self.block(op.orelse, exits)
            case Loop():
                return self.loop(op, after, ctx)
            case Scope():
                exit_ = _Exit(op.results, self.assigned(op.results, after))
                return self.block(op.body, replace(ctx, leaves=ctx.leaves | {op.label: exit_}))
            case Try():
                return self.guarded(op, after, ctx)
            case _:
                return self.simple(op, after)

    def simple(self, op: Op, after: Live) -> Live:
        """An operation without control flow; folded ones are part of their use."""
        defined = tuple(r for r in results(op))
        if len(defined) == 1 and defined[0] in self.folding.folded:
            return after
        read = self.read(op)
        # The result of an in-place operator may be its operand: that is no new definition.
        fresh = tuple(r for r in defined if r not in read)
        return self.assigned(fresh, after) | read

    def read(self, op: Op) -> Live:
        return frozenset(self.folding.read_by(op))

    def assigned(self, targets: tuple[Value, ...], after: Live) -> Live:
        """Live before `targets` are assigned together; records what they overlap with."""
        rest = after - set(targets)
        for target in targets:
            self.out.add(target, rest)
            self.out.add(target, targets)
        return rest

    def leave(self, op: Yield | Break | Continue | Leave, ctx: _Context) -> Live:
        match op:
            case Yield():
                exit_ = ctx.yields
            case Break():
                exit_ = ctx.breaks
            case Continue():
                exit_ = ctx.continues
            case Leave():
                exit_ = ctx.leaves.get(op.label)
        assert exit_ is not None, f"{type(op).__name__} without a target at {op.span}"
        live = exit_.live | ctx.raised
        final = _NONE if isinstance(op, Yield) else ctx.final
        for target in exit_.targets:
            self.out.add(target, live | final)
            self.out.add(target, exit_.targets)
        return live | final | self.read(op)

    def loop(self, op: Loop, after: Live, ctx: _Context) -> Live:
        rest = self.assigned(op.results, after)
        index = frozenset(op.body.params[:1]) if op.over is not None else _NONE
        carried = op.body.params[len(index) :]
        # The bounds are evaluated once, but `i < n` may spell the variable `n` on every turn.
        head: Live = frozenset(self.folding.variables(op.over)) if op.over is not None else _NONE
        if op.over is not None:
            head |= rest
        while True:
            turn = replace(ctx, breaks=_Exit(op.results, rest), continues=_Exit(carried, head | index), yields=None)
            grown = head | (self.block(op.body, turn) - set(op.body.params))
            if grown == head:
                break
            head = grown
        for param in op.body.params:
            self.out.add(param, head)
            self.out.add(param, op.body.params)
        return head | self.read(op)

    def guarded(self, op: Try, after: Live, ctx: _Context) -> Live:
        rest = self.assigned(op.results, after)
        final = _NONE
        if op.final is not None:
            # The results are already assigned, or the values of a way out computed, when it runs.
            final = self.block(op.final, replace(ctx, yields=_Exit((), after | ctx.raised | ctx.final)))
            final -= set(op.results)
        outer = replace(ctx, yields=_Exit(op.results, rest | final), raised=ctx.raised | final, final=ctx.final | final)
        caught = _NONE
        for handler in op.handlers:
            live = self.block(handler.body, outer) - set(handler.body.params)
            for param in handler.body.params:
                self.out.add(param, live | set(handler.body.params))
            caught |= live
        # Nothing the body assigns may be what a handler still needs.
        return self.block(op.body, replace(outer, raised=outer.raised | caught)) | caught
