"""Moves tensor operations into regions.

Before:

    h: float32[?, 4] = aten.linear.default(x, @w)
    n: int = add(count, 1)
    y: float32[?, 4] = aten.relu.default(h)
    return (y, n)

After, the host statement in between splitting nothing:

    region forward_y
      inputs  x: float32[?, 4]
      weights @w
      results y
        h: float32[?, 4] = aten.linear.default(x, @w)
        y: float32[?, 4] = aten.relu.default(h)
    ...
    y: float32[?, 4] = region y(x)
    n: int = add(count, 1)
    return (y, n)
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import final

from torch2cpp.hostir.ops import (
    Block,
    HostOp,
    Op,
    Operand,
    RegionCall,
    TensorOp,
    Value,
    map_leaves,
    operands,
    results,
    values_in,
)
from torch2cpp.hostir.program import Function, Program, Region
from torch2cpp.hostir.schema import written_operands
from torch2cpp.passes.plan_regions import Planner, plan_regions
from torch2cpp.passes.rebuild import fresh_ids, with_blocks, with_functions
from torch2cpp.passes.region_names import region_labels
from torch2cpp.passes.segment import Group
from torch2cpp.spans import Span


def form_regions(program: Program, reorder: bool = True) -> Program:
    """Every tensor operation in a region, but for cheap views and list operators of the host.

    Without `reorder` only neighbours share a region.
    """
    planners = {id(planner.function): planner for planner in plan_regions(program, reorder)}
    ids = fresh_ids(program)
    regions = dict(program.regions)

    def change(function: Function) -> Function:
        return _Former(planners[id(function)], regions, ids).function()

    formed = with_functions(program, change)
    return replace(formed, regions=regions)


@final
@dataclass(slots=True)
class _Draft:
    """A region whose results are not known yet."""

    #: Values of the function, and their stand-ins inside.
    inner: dict[Value, Value] = field(default_factory=dict)
    #: Values of the function that are parameters, in order of use.
    params: list[Value] = field(default_factory=list)
    body: list[TensorOp | HostOp] = field(default_factory=list)


@final
@dataclass(slots=True)
class _Former:
    """Builds the regions of one function and its new body."""

    planner: Planner
    regions: dict[str, Region]
    ids: Iterator[int]
    drafts: dict[Group, _Draft] = field(default_factory=dict)
    #: Values that are needed outside the group that defines them.
    needed: set[Value] = field(default_factory=set)

    def function(self) -> Function:
        for items in self.planner.plan.values():
            for item in items:
                if isinstance(item, Group):
                    self.drafts[item] = self.draft(item)
                    self.needed.update(self.drafts[item].params)
                else:
                    self.needed.update(v for tree in operands(item) for v in values_in(tree))
        function = self.planner.function
        return replace(function, body=self.block(function.body))

    # -- bodies --------------------------------------------------------------------------------

    def draft(self, group: Group) -> _Draft:
        draft = _Draft()
        own = {v for op in group.ops for v in results(op)}
        for op in group.ops:
            self.repeat(op, draft, own)
        return draft

    def repeat(self, op: TensorOp | HostOp, draft: _Draft, own: set[Value]) -> None:
        """Adds a copy of an operation, over values of the region, to its body."""

        def change(tree: Operand) -> Operand:
            return map_leaves(tree, lambda x: self.operand(x, draft, own) if isinstance(x, Value) else x)

        if isinstance(op, TensorOp):
            args, kwargs = change(op.args), change(op.kwargs)
            made = tuple(self.stand_in(r, draft) for r in op.results)
            draft.body.append(TensorOp(made, op.overload, args, kwargs, op.span, op.indexed))
        else:
            args = change(op.args)
            result = None if op.result is None else self.stand_in(op.result, draft)
            draft.body.append(HostOp(result, op.name, args, op.span))

    def operand(self, value: Value, draft: _Draft, own: set[Value]) -> Value:
        if value not in draft.inner:
            arithmetic = self.planner.arithmetic
            definition = arithmetic.definition.get(value)
            if value not in own and isinstance(definition, HostOp) and arithmetic.bases(value) is not None:
                self.repeat(definition, draft, own)
            else:
                draft.params.append(value)
                self.stand_in(value, draft)
        return draft.inner[value]

    def stand_in(self, value: Value, draft: _Draft) -> Value:
        draft.inner[value] = Value(next(self.ids), value.type, value.name, value.span)
        return draft.inner[value]

    # -- calls ---------------------------------------------------------------------------------

    def block(self, block: Block) -> Block:
        ops: list[Op] = []
        for item in self.planner.plan[id(block)]:
            ops.append(self.call(item) if isinstance(item, Group) else with_blocks(item, self.block))
        return Block(block.params, ops)

    def call(self, group: Group) -> RegionCall:
        draft = self.drafts[group]
        defined = [v for op in group.ops for v in results(op)]
        outs = [v for v in defined if v in self.needed or v in self.kept(group)]
        span = _covering(group)
        name = self.name(group, outs)
        self.regions[name] = Region(
            name=name,
            params=tuple(draft.inner[p] for p in draft.params),
            body=tuple(draft.body),
            results=tuple(draft.inner[v] for v in outs),
            span=span,
            aliasing=group.aliasing,
        )
        return RegionCall(tuple(outs), name, tuple(draft.params), span)

    def kept(self, group: Group) -> set[Value]:
        """First results of operations that nothing uses: run for their errors, a compiler must not drop them."""
        uses = self.planner.arithmetic.uses
        unused = [op for op in group.ops if results(op) and not any(r in uses for r in results(op))]
        writes = [op for op in unused if isinstance(op, TensorOp) and written_operands(op)]
        return {results(op)[0] for op in unused if op not in writes}

    def name(self, group: Group, outs: list[Value]) -> str:
        """The best of the region's names, made unique."""
        base = next(region_labels(group.ops, outs, self.planner.function.name))
        name, n = base, 1
        while name in self.regions:
            n += 1
            name = f"{base}_{n}"
        return name


def _covering(group: Group) -> Span:
    """The lines of the group in the file of its first operation."""
    first = group.ops[0].span
    same = [op.span for op in group.ops if op.span.file == first.file]
    start = min(same, key=lambda s: (s.line, s.column))
    end = max(same, key=lambda s: (s.end_line, s.end_column))
    return Span(first.file, start.line, start.column, end.end_line, end.end_column)
