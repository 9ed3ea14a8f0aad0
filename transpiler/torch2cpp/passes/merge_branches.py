"""Joins two branches on the same condition into one.

Before:

    if flag
      yield 0
    else
      yield 1
    -> kind: int
    n: int = tensor.size(x, 0)
    if flag
      y: float32[?] = aten.relu.default(x)
      yield y
    else
      yield x
    -> z: float32[?]

After:

    n: int = tensor.size(x, 0)
    if flag
      y: float32[?] = aten.relu.default(x)
      yield 0, y
    else
      yield 1, x
    -> kind: int, z: float32[?]

Between the two may stand host operations without effect that do not need the first one's results.
"""

from __future__ import annotations

from dataclasses import replace
from typing import final

from torch2cpp.hostir.host_ops import TABLE
from torch2cpp.hostir.ops import Block, HostOp, If, Op, TensorOp, Value, Yield, operands, values_in
from torch2cpp.hostir.program import Program
from torch2cpp.hostir.schema import changes_sizes
from torch2cpp.passes.rebuild import Rewriter, all_ops, with_functions


def merge_branches(program: Program) -> Program:
    """Neighbouring branches on one condition become one branch."""
    resizes = any(isinstance(op, TensorOp) and changes_sizes(op) for op in all_ops(program))
    return with_functions(program, lambda f: _Merger(resizes).function(f))


@final
class _Merger(Rewriter):
    def __init__(self, resizes: bool) -> None:
        super().__init__()
        #: Whether sizes may change in place; then nothing that reads one moves.
        self.resizes = resizes

    def block(self, block: Block) -> Block:
        done = super().block(block)
        ops: list[Op] = []
        for op in done.ops:
            at = self.partner(ops, op) if isinstance(op, If) else None
            if at is None or not isinstance(op, If):
                ops.append(op)
                continue
            first = ops.pop(at)
            assert isinstance(first, If)
            ops.append(_joined(first, op))
        return Block(done.params, ops)

    def partner(self, ops: list[Op], second: If) -> int | None:
        """Where the branch stands that the second one can join, or None."""
        crossed: set[Value] = set()
        for at in reversed(range(len(ops))):
            op = ops[at]
            if isinstance(op, If):
                same = isinstance(op.cond, Value) and op.cond is second.cond
                return at if same and crossed.isdisjoint(op.results) else None
            # What may overflow stays too: the first branch may lead away before it.
            if not isinstance(op, HostOp) or TABLE[op.name].effect != "pure":
                return None
            if self.resizes and op.name in ("tensor.size", "tensor.numel"):
                return None
            crossed.update(v for tree in operands(op) for v in values_in(tree))
        return None


def _joined(first: If, second: If) -> If:
    return replace(
        second,
        results=(*first.results, *second.results),
        then=_followed(first, first.then, second.then),
        orelse=_followed(first, first.orelse, second.orelse),
    )


def _followed(first: If, before: Block, after: Block) -> Block:
    """One arm: that of the first branch, then that of the second over what the first one yielded."""
    handed = before.ops[-1]
    if not isinstance(handed, Yield):
        return before
    rewriter = Rewriter()
    rewriter.replace_all(first.results, handed.values)
    rest = rewriter.block(after).ops
    last = rest[-1]
    if isinstance(last, Yield):
        rest[-1] = replace(last, values=(*handed.values, *last.values))
    return Block(before.params, [*before.ops[:-1], *rest])
