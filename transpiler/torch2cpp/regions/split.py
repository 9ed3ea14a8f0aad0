"""A region cut into parts, so that operations one backend cannot take do not cost it the rest.

The parts run one after the other; what one computes and a later one needs goes through the cut.
Operations are reordered only where no data flows between them. Those that touch a tensor up to its last write in
place stay in one part, in their order (writes.py).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, final

from torch2cpp.hostir.ops import HostOp, Operand, TensorOp, Value, operands, results, values_in
from torch2cpp.hostir.program import Region
from torch2cpp.hostir.types import ListType, TensorType, TupleType
from torch2cpp.passes.group_ops import group_nodes
from torch2cpp.regions.writes import Writes, writes_of

#: Computing operations that make a part worth its own call.
LEAST_WORK = 2


@final
@dataclass(frozen=True, slots=True)
class Part:
    """One part: a region of its own, whose parameters and results are values of the whole."""

    region: Region
    #: Whether it holds none of the operations that were to be kept apart.
    clean: bool


def split(region: Region, apart: Collection[int]) -> tuple[Part, ...] | None:
    """Parts in the order they run, with the operations at the positions `apart` in parts of their own.

    None where cutting is not possible or leaves too little in the other parts.
    """
    writes = writes_of(region)
    if writes is None:
        return None
    borders: tuple[Operand, ...] = region.results
    if not all(isinstance(r, Value) and isinstance(r.type, TensorType) for r in borders):
        return None
    definer = {v: i for i, op in enumerate(region.body) for v in results(op)}
    kinds = _kinds(region, apart, definer)
    while True:
        groups = group_nodes(kinds, _before(region, definer, writes))
        torn = [t for t in writes.together if not any(_tensor_ops(region, t) <= set(g) for _, g in groups)]
        if torn:
            inside = _tensor_ops(region, torn[0])
            if all(kinds[i] == "apart" for i in inside):
                return None
            for i in inside:
                kinds[i] = "apart"
            continue
        small = [g for kind, g in groups if kind == "clean" and _work(region, g) < LEAST_WORK]
        if not small:
            break
        for i in small[0]:
            kinds[i] = "apart" if kinds[i] == "clean" else kinds[i]
    if not any(kind == "clean" for kind, _ in groups) or len(groups) < 2:
        return None
    return _parts(region, [(kind == "clean", members) for kind, members in groups], definer)


def _kinds(region: Region, apart: Collection[int], definer: dict[Value, int]) -> list[str | None]:
    """Scalars are computed wherever they are needed; elements of lists stay with their list."""
    kinds: list[str | None] = []
    for i, op in enumerate(region.body):
        if isinstance(op, TensorOp):
            kinds.append("apart" if i in apart else "clean")
        elif op.result is not None and isinstance(op.result.type, TensorType | ListType | TupleType):
            sources = [definer[v] for v in values_in(op.args) if v in definer]
            kinds.append(kinds[sources[0]] if sources and i not in apart else "apart")
        else:
            kinds.append(None)
    return kinds


def _before(region: Region, definer: dict[Value, int], writes: Writes) -> list[int]:
    needed = [{definer[v] for v in values_in(operands(op)) if v in definer} for op in region.body]
    return [sum(1 << i for i in n | writes.before.get(at, set())) for at, n in enumerate(needed)]


def _tensor_ops(region: Region, positions: Iterable[int]) -> set[int]:
    """Those that are in a part by themselves: scalars are computed wherever they are needed."""
    return {i for i in positions if not isinstance(region.body[i], HostOp)}


def _work(region: Region, members: Iterable[int]) -> int:
    return sum(isinstance(op := region.body[i], TensorOp) and not _may_be_view(op) for i in members)


def _may_be_view(op: TensorOp) -> bool:
    return any(r.alias_info is not None for r in op.overload._schema.returns)


def _parts(region: Region, groups: Sequence[tuple[bool, list[int]]], definer: dict[Value, int]) -> tuple[Part, ...]:
    bodies = [_with_scalars(region, members, definer) for _, members in groups]
    out = []
    for n, ((clean, _), body) in enumerate(zip(groups, bodies)):
        inside = {v for op in body for v in results(op)}
        needed = dict.fromkeys(v for op in body for v in values_in(operands(op)) if v not in inside)
        later: set[Any] = set(region.results)
        for other in bodies[n + 1 :]:
            defined = {v for op in other for v in results(op)}
            later |= {v for op in other for v in values_in(operands(op))} - defined
        made = tuple(v for op in body for v in results(op) if v in later and not _is_scalar(v))
        span = body[0].span
        out.append(Part(Region(f"{region.name}_part{n + 1}", tuple(needed), tuple(body), made, span), clean))
    return tuple(out)


def _is_scalar(value: Value) -> bool:
    return not isinstance(value.type, TensorType | ListType | TupleType)


def _with_scalars(region: Region, members: Iterable[int], definer: dict[Value, int]) -> list[TensorOp | HostOp]:
    """The members in program order, with the scalar operations they need repeated among them."""
    wanted: set[int] = set()
    todo = list(members)
    while todo:
        i = todo.pop()
        if i in wanted:
            continue
        wanted.add(i)
        for v in values_in(operands(region.body[i])):
            if v in definer and _is_scalar(v):
                todo.append(definer[v])
    return [region.body[i] for i in sorted(wanted)]
