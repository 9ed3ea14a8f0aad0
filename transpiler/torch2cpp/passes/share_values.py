"""Computes a host value once where the same operation is repeated on the same operands.

Before:

    n: int = tensor.size(x, 0)
    m: int = tensor.size(x, 0)
    k: int = add(n, m)

After:

    n: int = tensor.size(x, 0)
    k: int = add(n, n)

Only what neither reads nor writes: sizes and scalar arithmetic. An operation that may raise
counts too, since after the first one it is known not to.
"""

from __future__ import annotations

from typing import Any, final

from torch2cpp.hostir.host_ops import TABLE
from torch2cpp.hostir.ops import Block, HostOp, Op, Operand, TensorOp, Value, WeightRef
from torch2cpp.hostir.program import Program
from torch2cpp.hostir.schema import changes_sizes
from torch2cpp.hostir.types import ScalarType
from torch2cpp.passes.rebuild import Rewriter, all_ops, with_functions

_SIZES = ("tensor.size", "tensor.numel")


def share_values(program: Program) -> Program:
    """Repeated scalar operations replaced by the first, in its block and the blocks inside it."""
    resizes = any(isinstance(op, TensorOp) and changes_sizes(op) for op in all_ops(program))
    return with_functions(program, lambda f: _Sharer(resizes).function(f))


@final
class _Sharer(Rewriter):
    def __init__(self, resizes: bool) -> None:
        super().__init__()
        #: Whether sizes may change in place; then they are read again.
        self.resizes = resizes
        self.seen: dict[Any, Value] = {}

    def block(self, block: Block) -> Block:
        # What an inner block computes is not there after it.
        outer = self.seen
        self.seen = dict(outer)
        try:
            return super().block(block)
        finally:
            self.seen = outer

    def visit(self, op: Op) -> list[Op]:
        if not isinstance(op, HostOp) or op.result is None or not isinstance(op.result.type, ScalarType):
            return super().visit(op)
        if TABLE[op.name].effect not in ("pure", "raises") or (self.resizes and op.name in _SIZES):
            return [op]
        key = (op.name, op.result.type, _key(op.args))
        if key in self.seen:
            self.known[op.result] = self.seen[key]
            return []
        self.seen[key] = op.result
        return [op]


def _key(tree: Operand) -> Any:
    if isinstance(tree, tuple | list):
        return (type(tree), tuple(map(_key, tree)))
    if isinstance(tree, Value):
        return ("value", tree.id)
    if isinstance(tree, WeightRef):
        return ("weight", tree.name)
    return (type(tree), repr(tree))
