"""Heads of loops: `for` over a range, `while` with a condition."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, final

from torch2cpp.emit.flow import Flow
from torch2cpp.emit.names import PREFIXES
from torch2cpp.hostir.ops import Block, Break, If, Loop, Operand, Value, blocks

if TYPE_CHECKING:
    from torch2cpp.emit.statements import Statements


@final
@dataclass(frozen=True, slots=True)
class WhileTest:
    """A loop's body that starts with the test that ends it."""

    branch: If
    #: The arm that goes on, and what follows the test; None where nothing does.
    arm: Block
    after: Block | None
    exit: Break
    #: Whether the loop goes on where the condition holds.
    goes_on_if: bool
    #: Whether the loop is left by other ways too.
    others: bool


def while_test(op: Loop, flow: Flow) -> WhileTest | None:
    """The test, when all that is computed before it folds into its condition."""
    for i, first in enumerate(op.body.ops):
        if flow.is_silent(first):
            continue
        if not isinstance(first, If) or flow.folding.is_expression(first):
            return None
        for goes_on_if, arm, other in ((True, first.then, first.orelse), (False, first.orelse, first.then)):
            exit_ = other.ops[0]
            if len(other.ops) == 1 and isinstance(exit_, Break):
                rest = op.body.ops[i + 1 :] if flow.falls_through(arm) else []
                after = Block(ops=rest) if rest else None
                return WhileTest(first, arm, after, exit_, goes_on_if, count_breaks(op.body) > 1)
        return None
    return None


def count_breaks(body: Block) -> int:
    """How many `Break`s leave the loop whose body this is."""
    count = 0
    for op in body.ops:
        if isinstance(op, Break):
            count += 1
        elif not isinstance(op, Loop):
            count += sum(map(count_breaks, blocks(op)))
    return count


def for_header(s: Statements, op: Loop) -> str:
    """`for (int64_t i = 0; i < n; ++i)`; bounds that are computed are computed once."""
    assert op.over is not None
    start, stop, step = op.over
    index = s.variables.of[op.body.params[0]].name
    first = s.expressions.operand(start).text
    if isinstance(step, Value) or step == 0:
        width, left = PREFIXES["range step"] + "_", "left_"
        init = f"int64_t {index} = {first}, {width} = {s.expressions.operand(step).text}, "
        init += f"{left} = py::range_length({index}, {s.expressions.operand(stop).text}, {width})"
        return f"for ({init}; {left} > 0; --{left}, {index} += {width})"
    init, last = f"int64_t {index} = {first}", s.expressions.operand(stop).text
    if _is_computed(stop, s):
        end = PREFIXES["range end"] + "_"
        init, last = f"{init}, {end} = {last}", end
    sign = "<" if step > 0 else ">"
    if abs(step) == 1:
        advance = f"++{index}" if step > 0 else f"--{index}"
    else:
        advance = f"{index} {'+' if step > 0 else '-'}= {abs(step)}"
    return f"for ({init}; {index} {sign} {last}; {advance})"


def _is_computed(stop: Operand, s: Statements) -> bool:
    return isinstance(stop, Value) and stop in s.flow.folding.folded
