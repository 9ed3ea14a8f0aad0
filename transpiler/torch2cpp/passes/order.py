"""The passes in the order they run, with the reasons where order matters."""

from __future__ import annotations

from collections.abc import Callable

from torch2cpp.hostir.program import Program
from torch2cpp.passes.form_regions import form_regions
from torch2cpp.passes.hoist_invariants import hoist_invariants
from torch2cpp.passes.simplify import simplify

Pass = Callable[[Program], Program]

PASSES: tuple[Pass, ...] = (
    # First, so that sizes that are constants, trivial scopes and dead results split no region.
    simplify,
    # Before regions are formed, and after dead and repeated work is gone.
    hoist_invariants,
    # Moves tensor operations out of the functions: whoever wants to see them runs before.
    form_regions,
)


def run_passes(program: Program, after: Callable[[str, Program], None] | None = None) -> Program:
    """All passes in order; `after` is called with each pass's name and result, to verify or to dump it."""
    for each in PASSES:
        program = each(program)
        if after is not None:
            after(each.__name__, program)
    return program
