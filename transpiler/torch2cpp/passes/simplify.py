"""Runs the passes that make a program smaller until none of them finds anything."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from torch2cpp.hostir.ops import operands, results, values_in
from torch2cpp.hostir.program import Program
from torch2cpp.passes.drop_dead import drop_dead
from torch2cpp.passes.fold_constants import fold_constants
from torch2cpp.passes.forward_cells import forward_cells
from torch2cpp.passes.forward_copies import forward_copies
from torch2cpp.passes.inline_scopes import inline_scopes
from torch2cpp.passes.merge_branches import merge_branches
from torch2cpp.passes.rebuild import all_ops
from torch2cpp.passes.share_values import share_values
from torch2cpp.passes.unwrap_results import unwrap_results

#: In this order: constants decide branches, which leaves scopes with one way out, whose values are
#: handed on, and branches that test the same; then operations repeat that stood apart before, and
#: what they fed is dead.
STEPS = (
    fold_constants,
    inline_scopes,
    forward_copies,
    forward_cells,
    unwrap_results,
    merge_branches,
    share_values,
    drop_dead,
)
#: Each round makes the program smaller; so many are enough for any nesting seen.
_ROUNDS = 20


def simplify(program: Program, steps: Sequence[Callable[[Program], Program]] = STEPS) -> Program:
    """The same program, smaller: see each step for what it does."""
    for _ in range(_ROUNDS):
        before = _size(program)
        for step in steps:
            program = step(program)
        if _size(program) == before:
            break
    return program


def _size(program: Program) -> tuple[int, int]:
    ops = list(all_ops(program))
    uses = sum(1 for op in ops for tree in operands(op) for _ in values_in(tree))
    return len(ops), uses + sum(len(results(op)) for op in ops)
