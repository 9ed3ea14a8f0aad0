"""Decides which operations make up each region of a function.

Blocks are cut into segments at what can leave them or whose effects are unknown: terminators,
calls, and control flow with a way out (`return`, `raise`, an outer `break`). Control flow without
one is a single host operation of its segment. `segment.py` groups the tensor operations in each.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import final

from torch2cpp.hostir.ops import (
    TERMINATORS,
    Block,
    Break,
    Call,
    Continue,
    HostOp,
    Leave,
    Loop,
    Op,
    Raise,
    RegionCall,
    Return,
    Scope,
    TensorOp,
    Try,
    Value,
    blocks,
    walk,
)
from torch2cpp.hostir.program import Function, Program
from torch2cpp.hostir.schema import written_operands
from torch2cpp.hostir.types import ListType, TensorType
from torch2cpp.passes.effects import PublicWrites, may_raise
from torch2cpp.passes.rebuild import all_ops, defined_values
from torch2cpp.passes.region_rules import HOST_LIST_OPS, HOST_VIEWS
from torch2cpp.passes.segment import Group, Segment, operand_values
from torch2cpp.passes.shape_arith import ShapeArithmetic, find_shape_arithmetic
from torch2cpp.passes.storages import Storages, find_storages


def plan_regions(program: Program, reorder: bool = True) -> list[Planner]:
    """The plans of all functions and entries; without `reorder` every operation stays in its place."""
    storages = find_storages(program)
    strict = called_in_try(program)
    planners = [Planner(f, storages, name in strict, reorder) for name, f in program.functions.items()]
    planners += [Planner(f, storages, False, reorder) for f in program.entries.values()]
    private = {op for planner in planners for op in planner.private_writes()}
    writing: set[Op] = {op for op in all_ops(program) if isinstance(op, TensorOp) and written_operands(op)}
    public = writing - private
    while True:
        writes = PublicWrites.of(public, storages)
        torn = {op for planner in planners for op in planner.run(writes)}
        if not torn:
            return planners
        # What they write is seen elsewhere after all, which other groups must know.
        public |= torn


def called_in_try(program: Program) -> set[str]:
    """Functions that a `try` may be waiting for: there errors keep their order."""
    found: set[str] = set()
    work = [op.body for op in all_ops(program) if isinstance(op, Try)]
    while work:
        for op in walk(work.pop()):
            if isinstance(op, Call) and op.function not in found:
                found.add(op.function)
                work.append(program.functions[op.function].body)
    return found


@final
@dataclass(slots=True)
class Planner:
    """Plans one function; `plan` is by the `id` of the block."""

    function: Function
    storages: Storages
    #: Whether errors of tensor operations must keep their order against the host's everywhere.
    strict: bool
    #: Whether operations may pass each other.
    reorder: bool = True
    plan: dict[int, list[Op | Group]] = field(default_factory=dict)
    #: Each block as segments and what stands between them.
    parts: dict[int, list[Op | Segment]] = field(default_factory=dict)
    arithmetic: ShapeArithmetic = field(init=False)
    #: Host operations that only regions need, which repeat them.
    dropped: set[Op] = field(default_factory=set)

    def __post_init__(self) -> None:
        ops = list(walk(self.function.body))
        self.arithmetic = find_shape_arithmetic(ops, lambda v: self.storages.of(v) in self.storages.resized)
        for op in reversed(ops):
            if isinstance(op, HostOp) and self.only_regions_need(op):
                self.dropped.add(op)
        self.cut(self.function.body, self.strict)

    def run(self, public: PublicWrites) -> set[Op]:
        """Makes the plan; gives the private writes that turned out to be public, as `Segment.plan`."""
        torn: set[Op] = set()
        for block, parts in self.parts.items():
            items: list[Op | Group] = []
            for part in parts:
                if isinstance(part, Segment):
                    made, more = part.plan(public)
                    items += made
                    torn |= more
                else:
                    items.append(part)
            self.plan[block] = items
        return torn

    def private_writes(self) -> Iterable[Op]:
        """Writes that may be private."""
        for parts in self.parts.values():
            for part in parts:
                if isinstance(part, Segment):
                    yield from part.private

    # -- what goes where -----------------------------------------------------------------------

    def in_region(self, op: Op) -> bool:
        """Whether an operation becomes part of a region."""
        if isinstance(op, TensorOp):
            return not self.stays_on_host(op)
        return self.arithmetic.is_projection(op)

    def stays_on_host(self, op: TensorOp) -> bool:
        """Whether the host calls the operator itself."""
        others = [v for v in operand_values(op) if not isinstance(v.type, TensorType)]
        if op.overload in HOST_LIST_OPS:
            return any(isinstance(v.type, ListType) and not self.arithmetic.is_fixed_list(v) for v in others)
        return op.overload in HOST_VIEWS and any(self.arithmetic.bases(v) is None for v in others)

    def only_regions_need(self, op: HostOp) -> bool:
        """Whether a host operation is size arithmetic that nothing but regions, which repeat it, uses."""
        if op.result is None or self.arithmetic.bases(op.result) is None or may_raise(op):
            return False
        uses = self.arithmetic.uses.get(op.result, [])
        return bool(uses) and all(u in self.dropped or self.in_region(u) for u in uses)

    def needs(self, op: Op) -> set[Value]:
        """The values an operation, with all that is inside, needs from before it."""
        found: set[Value] = set()
        inside: set[Value] = set()
        for each in _with_inner(op):
            if each in self.dropped:
                continue
            values = operand_values(each)
            found.update(self.arithmetic.needed(values) if self.in_region(each) else values)
        for block in blocks(op):
            inside.update(defined_values(block))
        return found - inside

    # -- blocks --------------------------------------------------------------------------------

    def cut(self, block: Block, strict: bool) -> None:
        """Cuts a block and those inside it into segments."""
        parts: list[Op | Segment] = []
        straight: list[Op] = []
        for op in block.ops:
            for inner in blocks(op):
                self.cut(inner, strict or (isinstance(op, Try) and inner is op.body))
            if op in self.dropped:
                continue
            if is_barrier(op, strict):
                parts += [Segment(self, straight, strict), op]
                straight = []
            else:
                straight.append(op)
        self.parts[id(block)] = [*parts, Segment(self, straight, strict)]


def _with_inner(op: Op) -> Iterator[Op]:
    yield op
    for block in blocks(op):
        yield from walk(block)


def is_barrier(op: Op, strict: bool) -> bool:
    """Whether a segment ends here: control may go elsewhere, or the effects are not known."""
    if isinstance(op, (*TERMINATORS, Call, RegionCall)):
        return True
    return bool(blocks(op)) and (strict or not _is_closed(op, frozenset(), False))


def _is_closed(op: Op, labels: frozenset[str], in_loop: bool) -> bool:
    """Whether control flow always goes on after the operation, unless something inside raises by itself."""
    match op:
        case Return() | Raise() | Call():
            return False
        case Leave():
            return op.label in labels
        case Break() | Continue():
            return in_loop
        case Scope():
            labels |= {op.label}
        case Loop():
            in_loop = True
        case _:
            pass
    return all(_is_closed(inner, labels, in_loop) for block in blocks(op) for inner in block.ops)
