"""Lets regions of one body hand out the same, so that they are compiled once.

Before, the last of many equal blocks hands out less, since nothing reads its state:

    x1: float32[?, 8], stop: bool[] = region block(x0)
    ...
    stop8: bool[] = region block_8(x7)

After:

    x8: float32[?, 8], stop8: bool[] = region block_8(x7)

Only where another region hands out all of it anyway: no compiled region becomes larger.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import final

from torch2cpp.hostir.ops import Op, RegionCall, Value, results
from torch2cpp.hostir.program import Program, Region
from torch2cpp.passes.rebuild import Rewriter, fresh_ids, with_functions
from torch2cpp.regions.share import structural_key


def match_results(program: Program) -> Program:
    """The program with results added to regions that are otherwise equal to another one."""
    by_body: dict[str, list[Region]] = {}
    for region in program.regions.values():
        by_body.setdefault(structural_key(region, results_too=False), []).append(region)
    wider = {r.name: w for alike in by_body.values() for r in alike if (w := _widened(r, alike)) is not None}
    if not wider:
        return program
    ids = fresh_ids(program)
    changed = with_functions(program, lambda f: _Widener(program.regions, wider, ids).function(f))
    return replace(changed, regions={name: wider.get(name, r) for name, r in program.regions.items()})


def _widened(region: Region, alike: list[Region]) -> Region | None:
    """The region with the results of the one that hands out the least of all that hand out more."""
    own = _places(region)
    more = [places for other in alike if set(places := _places(other)) > set(own)]
    if not more:
        return None
    defined = _defined(region)
    return replace(region, results=tuple(defined[i] for i in min(more, key=len)))


def _places(region: Region) -> tuple[int, ...]:
    """The results as positions among all values of the region."""
    position = {v: i for i, v in enumerate(_defined(region))}
    return tuple(position[r] for r in region.results)


def _defined(region: Region) -> list[Value]:
    # A result that is the operand an operation writes is not defined anew.
    return list(dict.fromkeys((*region.params, *(v for op in region.body for v in results(op)))))


@final
class _Widener(Rewriter):
    def __init__(self, narrow: dict[str, Region], wider: dict[str, Region], ids: Iterator[int]) -> None:
        super().__init__()
        self.narrow = narrow
        self.wider = wider
        self.ids = ids

    def visit(self, op: Op) -> list[Op]:
        if not isinstance(op, RegionCall) or op.region not in self.wider:
            return super().visit(op)
        known = dict(zip(self.narrow[op.region].results, op.results, strict=True))
        made = [known.get(v) or self.unused(v) for v in self.wider[op.region].results]
        return [replace(op, results=tuple(made))]

    def unused(self, like: Value) -> Value:
        return Value(next(self.ids), like.type, like.name, like.span)
