"""Lets regions without weights that differ only in the sizes of their tensors become one.

Before, for two shortcuts of a network:

    region residual
      inputs  x: float32[?, 16, 32, 32]
        y: float32[?, 16, 16, 16] = aten.avg_pool2d.default(x, [2, 2], [2, 2])
    region residual_2
      inputs  x: float32[?, 32, 16, 16]
        y: float32[?, 32, 8, 8] = aten.avg_pool2d.default(x, [2, 2], [2, 2])

After, both:

      inputs  x: float32[?, ?, ?, ?]
        y: float32[?, ?, ?, ?] = aten.avg_pool2d.default(x, [2, 2], [2, 2])

What a region computes does not depend on the sizes its types name. With weights the sizes are those of
the weights, and compilers make much of knowing them; those regions stay as they are.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from torch2cpp.hostir.ops import HostOp, TensorOp, Value, map_leaves, results
from torch2cpp.hostir.program import Program, Region
from torch2cpp.hostir.types import Type, join
from torch2cpp.passes.rebuild import fresh_ids
from torch2cpp.regions.share import structural_key


def match_sizes(program: Program) -> Program:
    """The program with sizes left open where regions without weights differ in nothing else."""
    groups: dict[str, list[Region]] = {}
    for region in program.regions.values():
        if not region.weights():
            groups.setdefault(structural_key(region, sizes_too=False), []).append(region)
    ids = fresh_ids(program)
    regions = dict(program.regions)
    for alike in groups.values():
        types = _joined_types(alike)
        if types is not None:
            regions.update((region.name, _retyped(region, types, ids)) for region in alike)
    return replace(program, regions=regions)


def _joined_types(alike: Sequence[Region]) -> list[Type] | None:
    """By value of a region, the type that holds those of all; None where they are the same already."""
    by_value = list(zip(*([v.type for v in _defined(region)] for region in alike), strict=True))
    joined: list[Type] = []
    for types in by_value:
        out: Type | None = types[0]
        for other in types[1:]:
            out = join(out, other) if out is not None else None
        if out is None:
            return None
        joined.append(out)
    return None if all(t == types[0] for types in by_value for t in types) else joined


def _retyped(region: Region, types: Sequence[Type], ids: Iterator[int]) -> Region:
    """The region over values of other types."""
    old = _defined(region)
    new = {v: Value(next(ids), t, v.name, v.span) for v, t in zip(old, types, strict=True)}

    def change(tree: Any) -> Any:
        return map_leaves(tree, lambda leaf: new[leaf] if isinstance(leaf, Value) else leaf)

    body: list[TensorOp | HostOp] = []
    for op in region.body:
        if isinstance(op, TensorOp):
            body.append(replace(op, results=change(op.results), args=change(op.args), kwargs=change(op.kwargs)))
        else:
            body.append(replace(op, result=change(op.result), args=change(op.args)))
    return replace(region, params=change(region.params), body=tuple(body), results=change(region.results))


def _defined(region: Region) -> list[Value]:
    # A result that is the operand an operation writes is not defined anew.
    return list(dict.fromkeys((*region.params, *(v for op in region.body for v in results(op)))))
