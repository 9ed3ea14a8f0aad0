"""Moves tensor work that only a branch needs into the branch.

Before:

    short: float32[?, 32] = aten.linear.default(x, @w)
    if run
      y: float32[?, 32] = ...
      yield y
    else
      yield short
    -> z: float32[?, 32]

After:

    if run
      y: float32[?, 32] = ...
      yield y
    else
      short: float32[?, 32] = aten.linear.default(x, @w)
      yield short
    -> z: float32[?, 32]

Only operations that cannot raise move, and not past writes to their storage. Light ones move where the
arm has tensor work over them anyway, so that no path gets one region call more. Work that both arms
need, and that would be a region by itself in front of the branch, moves into both.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import final

from torch2cpp.hostir.ops import (
    Block,
    Call,
    HostOp,
    If,
    Op,
    TensorOp,
    Value,
    WeightRef,
    blocks,
    leaves,
    operands,
    results,
    values_in,
    walk,
)
from torch2cpp.hostir.program import Function, Program
from torch2cpp.hostir.schema import changes_sizes
from torch2cpp.hostir.types import TensorType
from torch2cpp.passes.raising import Raising
from torch2cpp.passes.rebuild import Rewriter, all_ops, fresh_ids, with_blocks, with_functions
from torch2cpp.passes.region_rules import HOST_VIEWS, is_heavy
from torch2cpp.passes.storages import Storages, find_storages

#: As much work at most is put into both arms.
_LARGEST_COPY = 8


def sink_into_branches(program: Program) -> Program:
    """Tensor operations that only arms of one branch use stand in these arms."""
    if any(isinstance(op, TensorOp) and changes_sizes(op) for op in all_ops(program)):
        # Nothing is known about sizes then, so that anything may raise.
        return program
    storages, ids = find_storages(program), fresh_ids(program)

    def change(function: Function) -> Function:
        sinker = _Sinker(storages, Raising.of(walk(function.body)), ids)
        return replace(function, body=sinker.block(function.body))

    return with_functions(program, change)


@final
@dataclass(slots=True)
class _Sinker:
    storages: Storages
    raising: Raising
    ids: Iterator[int]

    def block(self, block: Block) -> Block:
        ops = self.into_both(self.into_one(block.ops))
        # What has moved may move on, into branches inside.
        return Block(block.params, [with_blocks(op, self.block) for op in ops])

    def into_one(self, ops: list[Op]) -> list[Op]:
        """Sinks what one arm alone uses; from the end on, so that what it needs can follow."""
        left = list(ops)
        for at in range(len(ops) - 1, -1, -1):
            op = left[at]
            if not isinstance(op, TensorOp) or not self.can_move(op):
                continue
            users = [i for i in range(at + 1, len(left)) if _uses(left[i], op)]
            branch = left[users[0]] if len(users) == 1 else None
            if not isinstance(branch, If) or branch.cond in op.results:
                continue
            begun = _sunk(branch, op)
            if begun is not None and not self.is_written(op, left[at + 1 : users[0]]):
                left[users[0]] = begun
                del left[at]
        return left

    def into_both(self, ops: list[Op]) -> list[Op]:
        """Sinks into both arms what both use, where no tensor work stays in front of the branch."""
        out: list[Op] = []
        for op in ops:
            work = self.work_before(out, op) if isinstance(op, If) else []
            if work and isinstance(op, If) and not self.used_after(ops, op, work):
                out = [each for each in out if each not in work]
                copy, renamed = self.copied(work)
                op = replace(op, then=_begun(op.then, work), orelse=_begun(renamed.block(op.orelse), copy))
            out.append(op)
        return out

    def work_before(self, before: list[Op], branch: If) -> list[TensorOp]:
        """The tensor operations that wait for the control flow before a branch, if all can go into both arms.

        Those that do not wait for it are part of an earlier region, at no further call.
        """
        run: list[Op] = []
        for op in reversed(before):
            if blocks(op) or not isinstance(op, TensorOp | HostOp):
                break
            run.insert(0, op)
        late = set(results(before[-len(run) - 1])) if len(run) < len(before) else set()
        work: list[TensorOp] = []
        for op in run:
            if isinstance(op, TensorOp) and not late.isdisjoint(_values(op)):
                work.append(op)
                late.update(op.results)
        made = {v for op in work for v in op.results}
        weighty = any(isinstance(leaf, WeightRef) for op in work for leaf in leaves(operands(op)))
        if not 0 < len(work) <= _LARGEST_COPY or weighty or branch.cond in made or not all(map(self.can_move, work)):
            return []
        if any(v in made for op in run if op not in work for v in _values(op)):
            return []
        if any(self.is_written(op, run[run.index(op) + 1 :]) for op in work):
            return []
        in_arms = [{v for op in walk(arm) for v in _values(op)} & made for arm in blocks(branch)]
        joined = any(_is_joined(arm, op) for arm in blocks(branch) for op in work)
        return work if joined and all(in_arms) else []

    def used_after(self, ops: list[Op], branch: If, work: list[TensorOp]) -> bool:
        after = ops[ops.index(branch) + 1 :]
        return any(_uses(op, each) for op in after for each in work)

    def copied(self, work: list[TensorOp]) -> tuple[list[TensorOp], Rewriter]:
        """The operations once more, and what gives others their results' new names."""
        rewriter, made = Rewriter(), list[TensorOp]()
        for op in work:
            copy = rewriter.resolved(op)
            assert isinstance(copy, TensorOp)
            fresh = tuple(Value(next(self.ids), r.type, r.name, r.span) for r in op.results)
            made.append(replace(copy, results=fresh))
            rewriter.known.update(zip(op.results, fresh, strict=True))
        return made, rewriter

    def can_move(self, op: TensorOp) -> bool:
        """Whether nobody can tell where and whether the operation runs, its results aside."""
        if not op.results or self.raising.may_raise(op):
            return False
        return all(isinstance(t.type, TensorType) for t in (*_values(op), *op.results))

    def is_written(self, op: TensorOp, between: Sequence[Op]) -> bool:
        """Whether something between the operation and its new place may write what it reads or makes."""
        inner = list(walk(Block((), list(between))))
        if any(isinstance(other, Call) for other in inner):
            return True
        written = {c for other in inner if isinstance(other, TensorOp) for c in self.storages.written_by(other)}
        seen = [*op.results, *(x for x in leaves(operands(op)) if isinstance(x, Value | WeightRef))]
        return any(self.storages.of(x) in written for x in seen)


def _values(op: Op) -> list[Value]:
    return [v for tree in operands(op) for v in values_in(tree)]


def _uses(user: Op, op: TensorOp) -> bool:
    """Whether an operation, or one inside it, reads a result of `op`."""
    return any(v in op.results for inner in walk(Block((), [user])) for v in _values(inner))


def _sunk(branch: If, op: TensorOp) -> If | None:
    """The branch with the operation in the one arm that uses it, if that is worth it."""
    arms = [arm for arm in blocks(branch) if any(_uses(inner, op) for inner in arm.ops)]
    if len(arms) != 1 or not (is_heavy(op) or _is_joined(arms[0], op)):
        return None
    begun = _begun(arms[0], [op])
    return replace(branch, then=begun) if arms[0] is branch.then else replace(branch, orelse=begun)


def _is_joined(arm: Block, op: TensorOp) -> bool:
    """Whether tensor work of the arm goes on with a result of `op`, so that both become one region."""
    return any(
        isinstance(user, TensorOp) and user.overload not in HOST_VIEWS and any(v in op.results for v in _values(user))
        for user in arm.ops
    )


def _begun(arm: Block, work: Sequence[Op]) -> Block:
    return Block(arm.params, [*work, *arm.ops])
