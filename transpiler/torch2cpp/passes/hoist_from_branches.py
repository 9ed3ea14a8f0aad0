"""Computes tensor work that both arms of a branch repeat once, in front of it.

Before:

    if flag
      h: float32[?, 8] = aten.linear.default(x, @w)
      y: float32[?, 8] = aten.relu.default(h)
      yield y
    else
      h2: float32[?, 8] = aten.linear.default(x, @w)
      yield h2
    -> z: float32[?, 8]

After:

    h: float32[?, 8] = aten.linear.default(x, @w)
    if flag
      y: float32[?, 8] = aten.relu.default(h)
      yield y
    else
      yield h
    -> z: float32[?, 8]

One arm runs in any case, so that nothing is computed that Python does not compute. Only what cannot
raise moves, and what it reads is not written in the arm before.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from dataclasses import dataclass, replace
from typing import final

from torch2cpp.hostir.ops import (
    Block,
    Call,
    If,
    Op,
    Operand,
    TensorOp,
    Value,
    WeightRef,
    leaves,
    operands,
    values_in,
    walk,
)
from torch2cpp.hostir.program import Function, Program
from torch2cpp.hostir.schema import changes_sizes
from torch2cpp.passes.raising import Raising
from torch2cpp.passes.rebuild import Rewriter, all_ops, defined_values, with_blocks, with_functions
from torch2cpp.passes.storages import Storages, find_storages
from torch2cpp.regions.share import constant_key


def hoist_from_branches(program: Program) -> Program:
    """Tensor operations that both arms begin with, over the same operands, stand in front of the branch."""
    if any(isinstance(op, TensorOp) and changes_sizes(op) for op in all_ops(program)):
        # Nothing is known about sizes then, so that anything may raise.
        return program
    storages = find_storages(program)

    def change(function: Function) -> Function:
        hoister = _Hoister(storages, Raising.of(walk(function.body)))
        return replace(function, body=hoister.block(function.body))

    return with_functions(program, change)


@final
@dataclass(slots=True)
class _Hoister:
    storages: Storages
    raising: Raising

    def block(self, block: Block) -> Block:
        ops: list[Op] = []
        for op in block.ops:
            inner = with_blocks(op, self.block)
            while isinstance(inner, If) and (pair := self.pair(inner)) is not None:
                # The first arm's goes in front, the second arm's results are that one's.
                kept, gone = pair
                ops.append(kept)
                rewriter = Rewriter()
                rewriter.replace_all(gone.results, kept.results)
                inner = replace(inner, then=_without(inner.then, kept),
                                orelse=rewriter.block(_without(inner.orelse, gone)))  # fmt: skip
            ops.append(inner)
        return Block(block.params, ops)

    def pair(self, branch: If) -> tuple[TensorOp, TensorOp] | None:
        """An operation of the first arm and its like in the second, if both may move in front of the branch."""
        there = {_key(op): op for op in reversed(list(self.movable(branch.orelse)))}
        for op in self.movable(branch.then):
            if (like := there.get(_key(op))) is not None:
                return op, like
        return None

    def movable(self, arm: Block) -> Iterator[TensorOp]:
        """Operations of an arm that could as well run before it."""
        own = set(defined_values(arm))
        written: set[int] = set()
        for op in arm.ops:
            if isinstance(op, TensorOp) and op.results and not self.raising.may_raise(op):
                read = [x for x in leaves(operands(op)) if isinstance(x, Value | WeightRef)]
                if own.isdisjoint(values_in(operands(op))) and all(self.storages.of(x) not in written for x in read):
                    yield op
            for inner in walk(Block((), [op])):
                if isinstance(inner, Call):
                    return
                if isinstance(inner, TensorOp):
                    written |= self.storages.written_by(inner)


def _without(block: Block, op: Op) -> Block:
    return Block(block.params, [each for each in block.ops if each is not op])


def _key(op: TensorOp) -> Hashable:
    """Equal for operations that compute the same."""
    return (str(op.overload), tuple(r.type for r in op.results), _tree(op.args), _tree(op.kwargs))


def _tree(tree: Operand) -> Hashable:
    if isinstance(tree, tuple | list):
        return tuple(map(_tree, tree))
    if isinstance(tree, dict):
        return tuple((k, _tree(v)) for k, v in tree.items())
    if isinstance(tree, Value):
        return tree
    return ("weight", tree.name) if isinstance(tree, WeightRef) else constant_key(tree)
