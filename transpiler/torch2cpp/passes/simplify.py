"""Runs the passes that make a program smaller until none of them finds anything."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from torch2cpp.hostir.ops import operands, results, values_in
from torch2cpp.hostir.program import Program
from torch2cpp.passes.rebuild import all_ops

#: Each round makes the program smaller; so many are enough for any nesting seen.
_ROUNDS = 20


def simplify(program: Program, steps: Sequence[Callable[[Program], Program]]) -> Program:
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
