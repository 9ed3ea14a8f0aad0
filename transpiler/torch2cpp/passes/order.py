"""The passes in the order they run, with the reasons where order matters, and how some are left out."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Literal, final

from torch2cpp.hostir.program import Program
from torch2cpp.passes.drop_dead import drop_dead
from torch2cpp.passes.fill_objects import fill_objects
from torch2cpp.passes.fold_constants import fold_constants
from torch2cpp.passes.form_regions import form_regions
from torch2cpp.passes.forward_cells import forward_cells
from torch2cpp.passes.forward_copies import forward_copies
from torch2cpp.passes.hoist_from_branches import hoist_from_branches
from torch2cpp.passes.hoist_invariants import hoist_invariants
from torch2cpp.passes.inline_scopes import inline_scopes
from torch2cpp.passes.match_results import match_results
from torch2cpp.passes.match_sizes import match_sizes
from torch2cpp.passes.merge_branches import merge_branches
from torch2cpp.passes.roll_loops import roll_loops
from torch2cpp.passes.share_values import share_values
from torch2cpp.passes.simplify import simplify
from torch2cpp.passes.sink_into_branches import sink_into_branches
from torch2cpp.passes.unwrap_results import unwrap_results

Change = Callable[[Program], Program]


@final
@dataclass(frozen=True, slots=True)
class Pass:
    """One pass that can be chosen by name."""

    name: str
    #: One line for people.
    description: str
    #: "simplify" repeats all of its passes until none finds anything; "reorder" is a way of forming
    #: regions; the others run once, in the order of `PASSES`.
    stage: Literal["simplify", "before", "reorder", "after"]
    run: Change


PASSES: tuple[Pass, ...] = (
    # First, so that sizes that are constants, trivial scopes and dead results split no region. In this
    # order: constants decide branches, which leaves scopes with one way out, whose values are handed
    # on, and branches that test the same; then operations repeat that stood apart, and some are dead.
    Pass("fold_constants", "computes what is known before the program runs", "simplify", fold_constants),
    Pass("inline_scopes", "inlined functions with one way out become part of their caller", "simplify", inline_scopes),
    Pass("forward_copies", "values that control flow only hands on are used themselves", "simplify", forward_copies),
    Pass("forward_cells", "state that was just written is used without reading it again", "simplify", forward_cells),
    Pass("unwrap_results", "optionals and tuples are handed on as what is inside them", "simplify", unwrap_results),
    Pass("merge_branches", "neighbouring branches on one condition become one", "simplify", merge_branches),
    Pass("share_values", "repeated scalar operations are computed once", "simplify", share_values),
    Pass("fill_objects", "objects are made with the fields that are set right after", "simplify", fill_objects),
    Pass("drop_dead", "what nothing uses and nobody can notice goes", "simplify", drop_dead),
    # Before regions are formed, and after dead and repeated work is gone.
    Pass("hoist_invariants", "heavy tensor work that every iteration repeats leaves the loop", "before",
         hoist_invariants),
    Pass("hoist_from_branches", "tensor work that both arms of a branch repeat leaves it", "before",
         hoist_from_branches),
    Pass("sink_into_branches", "tensor work that only a branch needs moves into it", "before", sink_into_branches),
    Pass("reorder", "host statements between tensor operations do not split a region", "reorder", lambda p: p),
    # Over regions, and before what only prints differently.
    Pass("match_sizes", "regions without weights that differ only in sizes become one", "after", match_sizes),
    Pass("match_results", "regions that differ only in what they hand out become equal", "after", match_results),
    Pass("roll_loops", "equal iterations over modules become a loop over region instances", "after", roll_loops),
)  # fmt: skip

#: The simplifying passes, in their order.
STEPS: tuple[Change, ...] = tuple(p.run for p in PASSES if p.stage == "simplify")
#: Every pass by name: the default choice.
ALL: frozenset[str] = frozenset(each.name for each in PASSES)
#: The stages of the host IR, as they are reported and dumped; a pass that is left out is none.
STAGE_NAMES = ("simplify", *(p.name for p in PASSES if p.stage == "before"), "form_regions",
               *(p.name for p in PASSES if p.stage == "after"))  # fmt: skip


class UnknownPass(ValueError):
    """A name that is no pass's; the message lists the names there are."""


def choose_passes(text: str) -> frozenset[str]:
    """The passes a user names: `all`, names, and names with `-` in front to leave them out, from left to right.

    Raises UnknownPass.

    >>> sorted(choose_passes("drop_dead,fold_constants"))
    ['drop_dead', 'fold_constants']
    >>> choose_passes("all,-hoist_invariants") == ALL - {"hoist_invariants"}
    True
    """
    chosen: frozenset[str] = frozenset()
    for word in filter(None, (w.strip() for w in text.split(","))):
        name = word.removeprefix("-")
        if name != "all" and name not in ALL:
            known = "\n".join(f"  {p.name:<24} {p.description}" for p in PASSES)
            raise UnknownPass(f"there is no pass {name!r}; the passes are\n{known}")
        named = ALL if name == "all" else frozenset({name})
        chosen = chosen - named if word.startswith("-") else chosen | named
    return chosen


def stages(passes: Collection[str] = ALL) -> Iterator[tuple[str, Change]]:
    """The stages to run in order, by name, with the chosen passes only; regions are formed in any case."""
    steps = tuple(p.run for p in PASSES if p.stage == "simplify" and p.name in passes)
    if steps:
        yield "simplify", partial(simplify, steps=steps)
    yield from ((p.name, p.run) for p in PASSES if p.stage == "before" and p.name in passes)
    yield "form_regions", partial(form_regions, reorder="reorder" in passes)
    yield from ((p.name, p.run) for p in PASSES if p.stage == "after" and p.name in passes)


def run_passes(
    program: Program, passes: Collection[str] = ALL, after: Callable[[str, Program], None] | None = None
) -> Program:
    """The chosen passes in order; `after` is called with each stage's name and result, to verify or to dump it."""
    for name, change in stages(passes):
        program = change(program)
        if after is not None:
            after(name, program)
    return program
