"""Decides which operations make up each region of a function.

Blocks are cut into segments at what can leave them or whose effects are unknown: terminators,
calls, and control flow with a way out (`return`, `raise`, an outer `break`). Control flow without
one is a single host operation of its segment. Tensor operations of a segment go into as few
groups as their dependences allow (`group_ops`), by kind:

- "plain": what any backend may take;
- "scalar": an operand is a host scalar that the region cannot compute from sizes;
- "aliasing": it writes storage that others see, or makes storage that others write.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Literal, final

import torch

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
    operands,
    results,
    values_in,
    walk,
)
from torch2cpp.hostir.program import Function
from torch2cpp.hostir.schema import aliased_operands, written_operands
from torch2cpp.hostir.types import ListType, TensorType
from torch2cpp.passes.effects import Effects, Resource, effects_of, may_raise, visible_outside
from torch2cpp.passes.group_ops import group_nodes, order_units
from torch2cpp.passes.rebuild import defined_values
from torch2cpp.passes.shape_arith import ShapeArithmetic, find_shape_arithmetic
from torch2cpp.passes.storages import Storages, holds_storage

aten = torch.ops.aten
#: Views that cost no more than arithmetic on sizes: with run-time ints, or alone, the host makes them.
HOST_VIEWS = frozenset(
    {
        aten.select.int,
        aten.slice.Tensor,
        aten.narrow.default,
        aten.unsqueeze.default,
        aten.squeeze.dim,
    }
)
#: Operators over a list of run-time length that the host calls itself.
HOST_LIST_OPS = frozenset({aten.stack.default, aten.cat.default, aten.concat.default})
#: Operators worth a compiler: next to them a host scalar or an alias gets a region of its own.
_HEAVY = frozenset(
    {
        "linear", "mm", "bmm", "matmul", "addmm", "baddbmm", "einsum", "bilinear", "tensordot",
        "conv1d", "conv2d", "conv3d", "conv_transpose1d", "conv_transpose2d", "conv_transpose3d", "convolution",
        "gru", "lstm", "rnn_tanh", "rnn_relu", "gru_cell", "lstm_cell", "rnn_tanh_cell", "rnn_relu_cell",
        "scaled_dot_product_attention", "batch_norm", "layer_norm", "group_norm", "instance_norm",
        "max_pool2d", "avg_pool2d", "adaptive_avg_pool2d",
    }
)  # fmt: skip

Kind = Literal["plain", "scalar", "aliasing", "mixed"]


@final
@dataclass(eq=False, slots=True)
class Group:
    """Operations that become one region, in program order."""

    ops: list[TensorOp | HostOp]
    aliasing: bool


#: What a block becomes: operations that stay, and groups.
Plan = dict[int, list[Op | Group]]


@final
@dataclass(slots=True)
class Planner:
    """Plans one function; `plan` is by the `id` of the block."""

    function: Function
    storages: Storages
    #: All operations that write a storage class, anywhere in the program.
    writers: dict[int, set[Op]]
    #: Whether errors of tensor operations must keep their order against the host's everywhere.
    strict: bool
    plan: Plan = field(default_factory=dict)
    arithmetic: ShapeArithmetic = field(init=False)
    #: Host operations that only regions need, which repeat them.
    dropped: set[Op] = field(default_factory=set)

    def __post_init__(self) -> None:
        ops = list(walk(self.function.body))
        self.arithmetic = find_shape_arithmetic(ops, ((v, op) for op in ops for v in results(op)))
        for op in reversed(ops):
            if isinstance(op, HostOp) and self.only_regions_need(op):
                self.dropped.add(op)
        self.block(self.function.body, self.strict)

    # -- what goes where -----------------------------------------------------------------------

    def in_region(self, op: Op) -> bool:
        """Whether an operation becomes part of a region."""
        if isinstance(op, TensorOp):
            return not self.stays_on_host(op)
        return self.arithmetic.is_projection(op)

    def stays_on_host(self, op: TensorOp) -> bool:
        """Whether the host calls the operator itself."""
        others = [v for v in _operand_values(op) if not isinstance(v.type, TensorType)]
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
            values = _operand_values(each)
            found.update(self.arithmetic.needed(values) if self.in_region(each) else values)
        for block in blocks(op):
            inside.update(defined_values(block))
        return found - inside

    # -- blocks --------------------------------------------------------------------------------

    def block(self, block: Block, strict: bool) -> None:
        """Plans a block and those inside it."""
        items: list[Op | Group] = []
        segment: list[Op] = []
        for op in block.ops:
            for inner in blocks(op):
                self.block(inner, strict or (isinstance(op, Try) and inner is op.body))
            if op in self.dropped:
                continue
            if _is_barrier(op, strict):
                items += [*self.segment(segment, strict), op]
                segment = []
            else:
                segment.append(op)
        self.plan[id(block)] = [*items, *self.segment(segment, strict)]

    def segment(self, ops: list[Op], strict: bool) -> list[Op | Group]:
        """The operations of a segment, in the order of the new program."""
        if not any(self.in_region(op) for op in ops):
            return list(ops)
        return _Segment(self, ops, strict).items()


def find_writers(storages: Storages, ops: Iterable[Op]) -> dict[int, set[Op]]:
    """The tensor operations that write each storage class."""
    found: dict[int, set[Op]] = {}
    for op in ops:
        if isinstance(op, TensorOp):
            for c in _written_classes(op, storages):
                found.setdefault(c, set()).add(op)
    return found


@final
class _Segment:
    """One segment: dependences, kinds, groups."""

    def __init__(self, planner: Planner, ops: list[Op], strict: bool) -> None:
        self.planner = planner
        self.ops = ops
        self.member = [planner.in_region(op) for op in ops]
        self.effects = [effects_of(op, planner.storages) for op in ops]
        self.before = self.data_edges()
        self.order_effects()
        self.order_errors(strict)
        self.roots = self.local_roots()

    # -- dependences ---------------------------------------------------------------------------

    def data_edges(self) -> list[int]:
        defined: dict[Value, int] = {}
        before: list[int] = []
        for i, op in enumerate(self.ops):
            mask = 0
            for value in self.planner.needs(op):
                if value in defined:
                    mask |= 1 << defined[value]
            before.append(mask)
            for value in results(op):
                defined[value] = i
        return before

    def order_effects(self) -> None:
        """Adds edges between operations that touch one resource, one of them writing."""
        writer: dict[Resource, int] = {}
        readers: dict[Resource, list[int]] = {}
        for i, effects in enumerate(self.effects):
            for r in effects.reads | effects.writes:
                if r in writer:
                    self.before[i] |= 1 << writer[r]
            for r in effects.writes:
                for j in readers.pop(r, ()):
                    self.before[i] |= 1 << j
                writer[r] = i
            for r in effects.reads - effects.writes:
                readers.setdefault(r, []).append(i)
            self.before[i] &= ~(1 << i)

    def order_errors(self, strict: bool) -> None:
        """Adds edges that keep errors in order among each other and against what is seen after them.

        Inside `try` that includes the errors of tensor operations and all writes, since a handler
        sees them. Elsewhere an error of a tensor operation ends the call: whether a neighbour's
        error would have come first is left open.
        """
        last, since = -1, 0
        for i, op in enumerate(self.ops):
            if self.member[i]:
                if strict and last >= 0:
                    self.before[i] |= 1 << last
                since |= 1 << i
            elif self.keeps_order(op, self.effects[i], strict):
                if last >= 0:
                    self.before[i] |= 1 << last
                if strict:
                    self.before[i] |= since
                last, since = i, 0

    def keeps_order(self, op: Op, effects: Effects, strict: bool) -> bool:
        if effects.raises or isinstance(op, TensorOp):
            return True
        return bool(effects.writes) if strict else visible_outside(effects, self.planner.storages)

    # -- storage made and written here ---------------------------------------------------------

    def local_roots(self) -> dict[Value, frozenset[int]]:
        """For tensors made here, the nodes that made their storage; -1 for storage from elsewhere."""
        roots: dict[Value, frozenset[int]] = {}
        for i, op in enumerate(self.ops):
            if isinstance(op, TensorOp):
                for k, result in enumerate(op.results):
                    aliased = [v for tree in aliased_operands(op, k) for v in values_in(tree)]
                    from_weights = bool(aliased_operands(op, k)) and not aliased
                    own = frozenset({-1}) if from_weights else frozenset({i})
                    merged = [roots.get(v, frozenset({-1})) for v in aliased]
                    roots[result] = frozenset().union(*merged) if aliased else own
            elif isinstance(op, HostOp) and op.result is not None and self.planner.arithmetic.is_projection(op):
                roots[op.result] = roots.get(op.args[0], frozenset({-1}))
        return roots

    def written_roots(self, op: TensorOp) -> frozenset[int]:
        """The nodes that made the storage an operation writes; -1 for storage from elsewhere."""
        written = [v for tree in written_operands(op) for v in values_in(tree)]
        return frozenset().union(*(self.roots.get(v, frozenset({-1})) for v in written))

    def private_classes(self) -> dict[int, list[set[int]]]:
        """Classes written only here and only in storage made here: per storage, its maker and writers."""
        here = set(self.ops)
        private: dict[int, list[set[int]]] = {}
        for c, writers in self.planner.writers.items():
            if not writers <= here or not all(self.member[self.ops.index(op)] for op in writers):
                continue
            touched: dict[int, set[int]] = {}
            for op in writers:
                assert isinstance(op, TensorOp)
                for root in self.written_roots(op):
                    touched.setdefault(root, {root}).add(self.ops.index(op))
            if -1 not in touched:
                private[c] = list(touched.values())
        return private

    # -- groups --------------------------------------------------------------------------------

    def items(self) -> list[Op | Group]:
        """The segment's operations and groups in order."""
        grouped = self.grouped(split_kinds=True)
        heavy = [
            m and k == "plain" and _is_heavy(op) for m, k, op in zip(self.member, grouped[1], self.ops, strict=True)
        ]
        if not any(heavy):
            merged = self.grouped(split_kinds=False)
            grouped = min(grouped, merged, key=lambda g: len(g[0]))
        groups, kinds = grouped
        units: list[list[int]] = []
        made: list[Group | None] = []
        for members in groups:
            ops = [op for op in (self.ops[i] for i in members) if isinstance(op, TensorOp | HostOp)]
            if self.host_makes(ops):
                units += [[i] for i in members]
                made += [None] * len(members)
            else:
                units.append(members)
                made.append(Group(ops, any(kinds[i] == "aliasing" for i in members)))
        hosts = [i for i, member in enumerate(self.member) if not member]
        units += [[i] for i in hosts]
        made += [None] * len(hosts)
        order = order_units(units, self.before)
        return [made[u] or self.ops[units[u][0]] for u in order]

    def host_makes(self, ops: list[TensorOp | HostOp]) -> bool:
        """Whether a group is nothing but cheap views, which need no region."""
        dropped = {v for op in self.planner.dropped for v in results(op)}
        return all(
            isinstance(op, TensorOp) and op.overload in HOST_VIEWS and dropped.isdisjoint(_operand_values(op))
            for op in ops
        )

    def grouped(self, split_kinds: bool) -> tuple[list[list[int]], list[Kind | None]]:
        """Groups and the kind of every node; storage written inside a group stays its own affair."""
        private = self.private_classes()
        while True:
            kinds = [self.kind(i, private.keys()) if member else None for i, member in enumerate(self.member)]
            self.inherit_kinds(kinds)
            grouping = kinds if split_kinds else [None if k is None else "mixed" for k in kinds]
            groups = [members for _, members in group_nodes(grouping, self.before)]
            # A node of the host is an owner of its own.
            owner = {i: -1 - i for i in range(len(self.ops))}
            owner |= {i: g for g, members in enumerate(groups) for i in members}
            torn = [c for c, uses in private.items() if any(len({owner[i] for i in nodes}) > 1 for nodes in uses)]
            if not torn:
                return groups, kinds
            for c in torn:
                del private[c]

    def kind(self, i: int, private: Iterable[int]) -> Kind:
        op, storages = self.ops[i], self.planner.storages
        touched = {c for v in results(op) if holds_storage(v.type) for c in storages.reached(v)}
        if isinstance(op, TensorOp):
            touched |= _written_classes(op, storages)
        if touched & storages.written - set(private):
            return "aliasing"
        for value in _operand_values(op):
            listed = self.planner.arithmetic.is_fixed_list(value)
            if not isinstance(value.type, TensorType) and not listed and self.planner.arithmetic.bases(value) is None:
                return "scalar"
        return "plain"

    def inherit_kinds(self, kinds: list[Kind | None]) -> None:
        """An element of a list is taken where the list is made."""
        made = {v: i for i, op in enumerate(self.ops) for v in results(op)}
        for i, op in enumerate(self.ops):
            if self.member[i] and isinstance(op, HostOp) and op.args[0] in made:
                kinds[i] = kinds[made[op.args[0]]]


def _written_classes(op: TensorOp, storages: Storages) -> set[int]:
    return {c for tree in written_operands(op) for v in values_in(tree) for c in storages.reached(v)}


def _is_heavy(op: Op) -> bool:
    return isinstance(op, TensorOp) and str(op.overload._schema.name).partition("::")[2] in _HEAVY


def _operand_values(op: Op) -> list[Value]:
    return [v for tree in operands(op) for v in values_in(tree)]


def _with_inner(op: Op) -> Iterator[Op]:
    yield op
    for block in blocks(op):
        yield from walk(block)


def _is_barrier(op: Op, strict: bool) -> bool:
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
