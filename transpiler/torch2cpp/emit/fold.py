"""Which values are written inside their one use, as a person would, and which become C++ variables.

    n = len(xs)          (one line, used there once)  ->  while (py::len(xs) < 10)

A value folds where it has one use in the same block, on the same Python lines, and where nothing
that could be told apart happens between: values waiting to be folded are pairwise independent
(`effects.conflict`), so a later operation that conflicts with one makes that one a statement. C++
leaves the order of operands open, which is fine for values that are independent.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from typing import final

from torch2cpp.emit.effects import Effect, conflict, effect_of
from torch2cpp.hostir.ops import (
    Block,
    Break,
    Call,
    Continue,
    HostOp,
    If,
    Leave,
    Load,
    Loop,
    Op,
    RegionCall,
    Return,
    TensorOp,
    Value,
    Yield,
    blocks,
    operands,
    results,
    values_in,
)
from torch2cpp.hostir.program import Region
from torch2cpp.hostir.types import BOOL, DictType, ListType, NeverType, SetType
from torch2cpp.spans import Span

#: Parts of an immutable value, free to spell at every use.
_PARTS = frozenset({"record.get", "tuple.get", "optional.get"})


@final
@dataclass(frozen=True, slots=True)
class Folding:
    """Values without a variable of their own, with the operation that makes them."""

    folded: dict[Value, Op]

    def variables(self, tree: object) -> Iterator[Value]:
        """The variables that evaluating an operand tree reads, folded expressions looked into."""
        for value in values_in(tree):
            op = self.folded.get(value)
            if op is None:
                yield value
            else:
                yield from self.read_by(op)

    def read_by(self, op: Op) -> Iterator[Value]:
        """The variables an operation reads itself; with its arms, for an `If` that is an expression."""
        yield from self.variables(operands(op))
        if isinstance(op, If) and self.is_expression(op):
            for block in blocks(op):
                yield from self.variables(operands(block.ops[-1]))

    def is_expression(self, op: If) -> bool:
        """Whether every operation of the arms folds, so that `?:`, `&&` or `||` says it all."""
        if len(op.results) != 1 or not all(b.ops and isinstance(b.ops[-1], Yield) for b in blocks(op)):
            return False
        return all(r in self.folded for b in blocks(op) for o in b.ops[:-1] for r in results(o) or (None,)) and (
            looks_like_expression(op)
        )


def fold(body: Block, regions: dict[str, Region]) -> Folding:
    """Decides for every value of a function."""
    return _Folder(body, regions).run()


def looks_like_expression(op: If) -> bool:
    """Whether Python had an expression here: `and`/`or`, or a conditional expression on one line."""
    if len(op.results) != 1 or not all(b.ops and isinstance(b.ops[-1], Yield) for b in blocks(op)):
        return False
    result = op.results[0]
    if result.type == BOOL and sorted(_is_constant_arm(b) for b in blocks(op)) == [False, True]:
        # An arm that only hands on another variable is an assignment of an `if` statement.
        if op.span.line == op.span.end_line or all(len(b.ops) > 1 or _is_constant_arm(b) for b in blocks(op)):
            return True
    # What an `if` statement does stands on other lines than its test.
    if op.span.line != op.span.end_line or not all(overlap(o.span, op.span) for b in blocks(op) for o in b.ops):
        return False
    return all(_type_is(operands(b.ops[-1])[0], result) for b in blocks(op))


def _is_constant_arm(block: Block) -> bool:
    return len(block.ops) == 1 and isinstance(operands(block.ops[0])[0], bool)


def _type_is(operand: object, result: Value) -> bool:
    if isinstance(operand, Value):
        return type(operand.type) is type(result.type)
    return type(operand).__name__ == str(result.type)


def overlap(a: Span, b: Span) -> bool:
    """Whether two places share a line."""
    return a.file == b.file and a.line <= b.end_line and b.line <= a.end_line


def _is_untyped(value: Value) -> bool:
    """An empty container whose element type only its use knows."""
    match value.type:
        case ListType() | SetType():
            return isinstance(value.type.elem, NeverType)
        case DictType():
            return isinstance(value.type.key, NeverType)
    return False


def _is_braced(op: Op) -> bool:
    if isinstance(op, HostOp):
        return op.name in ("tuple.make", "record.make")
    return isinstance(op, Return | Leave) and isinstance(operands(op)[0], tuple | list)


@final
class _Folder:
    def __init__(self, body: Block, regions: dict[str, Region]) -> None:
        self.body = body
        self.regions = regions
        self.folded: dict[Value, Op] = {}
        #: Use sites: the block and the operation, once per occurrence.
        self.uses: dict[Value, list[tuple[Block, Op]]] = defaultdict(list)
        self._count(body)

    def _count(self, block: Block) -> None:
        for op in block.ops:
            for value in values_in(operands(op)):
                self.uses[value].append((block, op))
            for inner in blocks(op):
                self._count(inner)

    def run(self) -> Folding:
        self._block(self.body, expression=False)
        return Folding(self.folded)

    def _block(self, block: Block, expression: bool) -> Effect:
        """Folds what can be folded in a block; the effect of its last operation with all that folded into it."""
        pending: dict[Value, Effect] = {}
        total = Effect.PURE
        for op in block.ops:
            if isinstance(op, If) and looks_like_expression(op):
                total = self._arms(op)
            else:
                for inner in blocks(op):
                    self._block(inner, expression=False)
                total = effect_of(op, self.regions)
            total |= self._consume(op, pending, expression)
            self._flush(op, pending, total)
            self._offer(op, block, pending, total)
        return total

    def _arms(self, op: If) -> Effect:
        """The effect of the arms; folds them as expressions when that takes all their operations."""
        effect = Effect.PURE
        before = dict(self.folded)
        for block in blocks(op):
            effect |= self._block(block, expression=True)
        if Folding(self.folded).is_expression(op):
            return effect
        self.folded = before
        for block in blocks(op):
            self._block(block, expression=False)
        return Effect.WRITE

    def _consume(self, op: Op, pending: dict[Value, Effect], expression: bool) -> Effect:
        """Settles the candidates among the operands; gives the effects of those that fold into `op`."""
        effect = Effect.PURE
        for value in values_in(operands(op)):
            if value not in pending:
                continue
            own = pending.pop(value)
            if self._fits(value, op, expression):
                effect |= own
            else:
                del self.folded[value]
        return effect

    def _fits(self, value: Value, op: Op, expression: bool) -> bool:
        if _is_untyped(value):
            return True
        if isinstance(op, Yield):
            return expression
        if isinstance(op, Break | Continue):
            return False
        if isinstance(op, Loop):
            # Not as an initial value: that one is declared in front of the loop. Nor more than once a loop.
            return value not in set(values_in(op.inits)) and overlap(self.folded[value].span, op.span)
        return expression or overlap(self.folded[value].span, op.span)

    def _flush(self, op: Op, pending: dict[Value, Effect], effect: Effect) -> None:
        """Makes statements of the waiting values that must come before `op`, and of what must come before those."""
        late = effect
        for value in reversed(list(pending)):
            if conflict(pending[value], late) and not self._in_one_list(value, op):
                late |= pending.pop(value)
                del self.folded[value]

    def _in_one_list(self, value: Value, op: Op) -> bool:
        """Whether both become items of one braced list, which C++ evaluates from left to right."""
        made = results(op)
        if len(made) != 1 or len(self.uses[made[0]]) != 1:
            return False
        consumer = self.uses[value][0][1]
        if self.uses[made[0]][0][1] is not consumer or not _is_braced(consumer):
            return False
        order = list(values_in(operands(consumer)))
        return order.index(value) < order.index(made[0])

    def _offer(self, op: Op, block: Block, pending: dict[Value, Effect], effect: Effect) -> None:
        """Makes the result of `op` a candidate, or a part of a value that is free to spell anywhere."""
        if not self._is_expression(op):
            return
        (result,) = results(op)
        sites = self.uses[result]
        here = len(sites) == 1 and sites[0][0] is block
        if here:
            self.folded[result] = op
            pending[result] = effect
        elif isinstance(op, HostOp) and op.name in _PARTS and not self._has_folded_operand(op):
            self.folded[result] = op

    def _has_folded_operand(self, op: HostOp) -> bool:
        for value in values_in(op.args):
            source = self.folded.get(value)
            if source is not None and not (isinstance(source, HostOp) and source.name in _PARTS):
                return True
        return False

    def _is_expression(self, op: Op) -> bool:
        if isinstance(op, HostOp | Load):
            return len(results(op)) == 1
        if isinstance(op, TensorOp):
            return len(op.results) == 1 and not op.overload._schema.is_mutable
        if isinstance(op, RegionCall | Call):
            return len(op.results) == 1
        if isinstance(op, If):
            return looks_like_expression(op) and Folding(self.folded).is_expression(op)
        return False
