"""Computes heavy tensor operations of a loop once, before it, where every iteration gets the same.

Before:

    while True with h: float32[?, 8] = h0
      keys: float32[?, 8] = aten.linear.default(memory, @w)
      h1: float32[?, 8] = aten.add.Tensor(h, keys)
      ...

After:

    keys: float32[?, 8] = aten.linear.default(memory, @w)
    while True with h: float32[?, 8] = h0
      h1: float32[?, 8] = aten.add.Tensor(h, keys)
      ...

Only what the first iteration runs in any case, before anything can leave the loop: nothing is
computed that Python does not compute. Outside `try` only, where the order of errors counts. The
result must stay among tensor operations, so that nobody can tell one tensor from many.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import final

from torch2cpp.hostir.host_ops import TABLE
from torch2cpp.hostir.ops import Block, HostOp, Loop, Op, RegionCall, TensorOp, Try, Value, results, values_in, walk
from torch2cpp.hostir.program import Function, Program
from torch2cpp.hostir.schema import aliased_operands, is_random, written_operands
from torch2cpp.hostir.types import TensorType
from torch2cpp.passes.effects import may_raise
from torch2cpp.passes.plan_regions import called_in_try, is_barrier
from torch2cpp.passes.rebuild import defined_values, with_blocks, with_functions
from torch2cpp.passes.region_rules import is_heavy
from torch2cpp.passes.segment import operand_values
from torch2cpp.passes.storages import Storages, find_storages


def hoist_invariants(program: Program) -> Program:
    """Heavy tensor operations that do not change between iterations, before their loops."""
    storages = find_storages(program)
    strict = called_in_try(program)

    def change(function: Function) -> Function:
        if program.functions.get(function.name) is function and function.name in strict:
            return function
        uses: dict[Value, list[Op]] = {}
        for op in walk(function.body):
            for value in operand_values(op):
                uses.setdefault(value, []).append(op)
        return replace(function, body=_Hoister(storages, uses).block(function.body))

    return with_functions(program, change)


@final
@dataclass(slots=True)
class _Hoister:
    storages: Storages
    #: The operations that use each value, before the pass.
    uses: dict[Value, list[Op]]

    def block(self, block: Block) -> Block:
        ops: list[Op] = []
        for op in block.ops:
            if isinstance(op, Try):
                ops.append(op)
                continue
            inner = with_blocks(op, self.block)
            if isinstance(inner, Loop) and _runs_once(inner):
                hoisted = self.invariants(inner)
                kept = [o for o in inner.body.ops if o not in hoisted]
                ops += [o for o in inner.body.ops if o in hoisted]
                inner = replace(inner, body=Block(inner.body.params, kept))
            ops.append(inner)
        return Block(block.params, ops)

    def invariants(self, loop: Loop) -> set[Op]:
        """The heavy operations that can go, and what they need."""
        changing = set(defined_values(loop.body))
        written = {c for op in walk(loop.body) if isinstance(op, TensorOp) for c in self.storages.written_by(op)}
        if any(isinstance(op, RegionCall) for op in walk(loop.body)):
            return set()
        able: dict[Value, Op] = {}
        for op in _first_segment(loop.body):
            if self.can_move(op, written) and not any(v in changing and v not in able for v in operand_values(op)):
                able.update((v, op) for v in results(op))
        wanted: set[Op] = set()
        work = [op for op in able.values() if is_heavy(op)]
        while work:
            op = work.pop()
            if op not in wanted:
                wanted.add(op)
                work += [able[v] for v in operand_values(op) if v in able]
        return wanted

    def can_move(self, op: Op, written: set[int]) -> bool:
        """Whether an operation may run once for all iterations, its operands aside."""
        if isinstance(op, HostOp):
            sizes = op.name in ("tensor.size", "tensor.numel")
            resized = sizes and any(self.storages.of(v) in self.storages.resized for v in operand_values(op))
            return TABLE[op.name].effect in ("pure", "raises") and not may_raise(op) and not resized
        if not isinstance(op, TensorOp) or not op.results or is_random(op) or written_operands(op):
            return False
        values = [v for v in (*operand_values(op), *op.results) if isinstance(v.type, TensorType)]
        if len(values) != len(operand_values(op)) + len(op.results):
            return False
        return all(self.storages.of(v) not in written for v in values) and all(self.stays_inside(v) for v in op.results)

    def stays_inside(self, value: Value) -> bool:
        """Whether only tensor operations see a value, and what shares its storage."""
        for use in self.uses.get(value, ()):
            if isinstance(use, HostOp) and use.name in ("tensor.size", "tensor.numel", "tensor.item", "tensor.truth"):
                continue
            if not isinstance(use, TensorOp):
                return False
            for k, result in enumerate(use.results):
                shares = any(value in values_in(tree) for tree in aliased_operands(use, k))
                if shares and not self.stays_inside(result):
                    return False
        return True


def _runs_once(loop: Loop) -> bool:
    """Whether the body runs at least once."""
    if loop.over is None:
        return True
    constant = all(type(x) is int for x in loop.over)
    return constant and loop.over[2] != 0 and len(range(*loop.over)) > 0


def _first_segment(body: Block) -> Iterator[Op]:
    """The operations that the first iteration runs before anything can leave the loop."""
    for op in body.ops:
        if is_barrier(op, strict=False):
            return
        yield op
