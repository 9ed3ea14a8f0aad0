"""Makes objects with the fields that are set right after.

Before:

    struct.new 'Ship', () -> ship
    struct.set ship, 'number', i
    tensor.item row -> draught
    struct.set ship, 'draught', draught

After:

    tensor.item row -> draught
    struct.new 'Ship', ('number', 'draught'), i, draught -> ship
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import final

from torch2cpp.hostir.ops import Block, HostOp, Op, Operand, Value, blocks, falls_through, operands, values_in
from torch2cpp.hostir.program import Program
from torch2cpp.passes.rebuild import Rewriter, with_functions


def fill_objects(program: Program) -> Program:
    """Objects are made where their last field is set, unless something looks at them before."""
    return with_functions(program, lambda f: _Filler().function(f))


@final
class _Filler(Rewriter):
    def block(self, block: Block) -> Block:
        inner = Rewriter.block(self, block)
        ops = list(inner.ops)
        for new in [op for op in ops if isinstance(op, HostOp) and op.name == "struct.new"]:
            at = next(i for i, op in enumerate(ops) if op is new)
            assert new.result is not None
            sets = _sets_after(ops, at, new.result)
            if sets:
                ops = _filled(ops, at, new, sets)
        return Block(inner.params, ops)


def _sets_after(ops: Sequence[Op], at: int, made: Value) -> list[int]:
    """Where fields of the new object are set before anything else uses it and before control flow."""
    found = []
    for i, op in enumerate(ops[at + 1 :], at + 1):
        if blocks(op) or not falls_through(Block((), [op])):
            break
        if isinstance(op, HostOp) and op.name == "struct.set" and op.args[0] is made:
            if made in values_in(op.args[2]):
                break
            found.append(i)
        elif made in values_in(operands(op)):
            break
    return found


def _filled(ops: Sequence[Op], at: int, new: HostOp, sets: Sequence[int]) -> list[Op]:
    name, names, *values = new.args
    fields: dict[str, Operand] = dict(zip(names, values))
    for i in sets:
        op = ops[i]
        assert isinstance(op, HostOp)
        _, field, value = op.args
        fields[field] = value
    made = replace(new, args=(name, tuple(fields), *fields.values()))
    return [made if i == sets[-1] else op for i, op in enumerate(ops) if i != at and (i not in sets or i == sets[-1])]
