"""One straight-line segment of a block: its dependences, the kinds of its operations, its groups.

Kinds of tensor operations:

- "plain": what any backend may take;
- "scalar": an operand is a host scalar that the region cannot compute from sizes;
- "aliasing": it writes storage that others see, or makes storage that others write.

A write is *private* when it only hits storage made in the same group, before anyone else could see
it: `y = conv(x); y += r; relu_(y)`. To everything else such a group is without writes. All other
writes are public.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Literal, Protocol, final

from torch2cpp.hostir.ops import HostOp, Op, TensorOp, Value, operands, results, values_in
from torch2cpp.hostir.schema import aliased_operands, changes_sizes, is_random, written_operands
from torch2cpp.hostir.types import TensorType
from torch2cpp.passes.effects import Effects, PublicWrites, Resource, effects_of, visible_outside
from torch2cpp.passes.group_ops import group_nodes, order_units
from torch2cpp.passes.region_rules import HOST_VIEWS, is_heavy
from torch2cpp.passes.shape_arith import ShapeArithmetic
from torch2cpp.passes.storages import Storages, holds_storage

Kind = Literal["plain", "scalar", "aliasing", "mixed"]
#: Storage from outside the segment.
_ELSEWHERE = frozenset({-1})
#: Look at a tensor's data and keep no hold of it.
_READERS = frozenset({"tensor.item", "tensor.truth", "tensor.tolist", "tensor.size", "tensor.numel"})


@final
@dataclass(eq=False, slots=True)
class Group:
    """Operations that become one region, in program order."""

    ops: list[TensorOp | HostOp]
    aliasing: bool


class Context(Protocol):
    """What a segment asks about its function."""

    storages: Storages
    arithmetic: ShapeArithmetic
    dropped: set[Op]
    reorder: bool

    def in_region(self, op: Op) -> bool:
        """Whether an operation becomes part of a region."""

    def needs(self, op: Op) -> set[Value]:
        """The values an operation, with all that is inside, needs from before it."""


@final
class Segment:
    """Operations in program order; see the module's docstring."""

    def __init__(self, context: Context, ops: Sequence[Op], strict: bool) -> None:
        self.context = context
        self.ops = list(ops)
        self.strict = strict
        self.member = [context.in_region(op) for op in ops]
        self.index = {op: i for i, op in enumerate(ops)}
        self.data = self.data_edges()
        self.roots = self.local_roots()
        #: Operations that write here, with the nodes that made what they write, where private so far.
        self.private = self.private_writes()

    def plan(self, public: PublicWrites) -> tuple[list[Op | Group], set[Op]]:
        """The operations and groups in order, and private writes that turned out to be public.

        Where there are any, the groups are not to be used: more depends on these writes.
        """
        if not any(self.member):
            return list(self.ops), set()
        private = {op: roots for op, roots in self.private.items() if op not in public.ops}
        effects = [self.effects(i, public, private) for i in range(len(self.ops))]
        before = list(self.data)
        self.order_effects(before, effects)
        self.order_errors(before, effects)
        if not self.context.reorder:
            before = [mask | (1 << i >> 1) for i, mask in enumerate(before)]
        groups, kinds = self.grouped(public, before)
        owner = _owners(groups)
        torn = {op for op, roots in private.items() if any(owner.get(r) != owner[self.index[op]] for r in roots)}
        return self.items(groups, kinds, before), torn

    # -- dependences ---------------------------------------------------------------------------

    def data_edges(self) -> list[int]:
        """For each node, the mask of the nodes that define what it needs."""
        defined: dict[Value, int] = {}
        edges: list[int] = []
        for i, op in enumerate(self.ops):
            mask = 0
            for value in self.context.needs(op):
                if value in defined:
                    mask |= 1 << defined[value]
            edges.append(mask)
            for value in results(op):
                defined[value] = i
        return edges

    def effects(self, i: int, public: PublicWrites, private: dict[Op, frozenset[int]]) -> Effects:
        """A node's effects, those on storage made here included: `("made", node)` stands for it."""
        op = self.ops[i]
        found = effects_of(op, self.context.storages, public)
        made = {r for v in self.context.needs(op) for r in self.roots.get(v, ())} - _ELSEWHERE
        if isinstance(op, HostOp) and not self.member[i] and op.name not in _READERS:
            # It may take hold of a tensor; then all writes to it are public.
            return found
        reads: set[Resource] = {("made", r) for r in made}
        writes: set[Resource] = {("made", r) for r in private.get(op, ())}
        return replace(found, reads=found.reads | reads, writes=found.writes | writes)

    def order_effects(self, before: list[int], effects: Sequence[Effects]) -> None:
        """Adds edges between operations that touch one resource, one of them writing."""
        writer: dict[Resource, int] = {}
        readers: dict[Resource, list[int]] = {}
        for i, effect in enumerate(effects):
            for r in effect.reads | effect.writes:
                if r in writer:
                    before[i] |= 1 << writer[r]
            for r in effect.writes:
                for j in readers.pop(r, ()):
                    before[i] |= 1 << j
                writer[r] = i
            for r in effect.reads - effect.writes:
                readers.setdefault(r, []).append(i)

    def order_errors(self, before: list[int], effects: Sequence[Effects]) -> None:
        """Adds edges that keep errors in order among each other and against what is seen after them.

        Inside `try` that includes the errors of tensor operations and all writes, since a handler
        sees them. Elsewhere an error of a tensor operation ends the call: whether a neighbour's
        error would have come first is left open, but not what was written to state or arguments by then.
        """
        last, since = -1, 0
        members, write = 0, -1
        for i, op in enumerate(self.ops):
            if self.member[i]:
                if self.strict:
                    # Among themselves too: what is written is written before the error, or not at all.
                    before[i] |= 1 << write if write >= 0 else 0
                    if any(not isinstance(r, tuple) for r in effects[i].writes):
                        before[i] |= members
                        write = i
                members |= 1 << i
                if self.strict or visible_outside(effects[i], self.context.storages):
                    before[i] |= 1 << last if last >= 0 else 0
                    since |= 1 << i
            elif self.keeps_order(op, effects[i]):
                if last >= 0:
                    before[i] |= 1 << last
                before[i] |= since
                last, since = i, 0

    def keeps_order(self, op: Op, effects: Effects) -> bool:
        """Whether a host operation takes part in the order of errors."""
        if effects.raises or isinstance(op, TensorOp):
            return True
        return bool(effects.writes) if self.strict else visible_outside(effects, self.context.storages)

    # -- storage made and written here ---------------------------------------------------------

    def local_roots(self) -> dict[Value, frozenset[int]]:
        """For tensors made here, the nodes that made their storage; -1 for storage from elsewhere."""
        roots: dict[Value, frozenset[int]] = {}
        for i, op in enumerate(self.ops):
            if isinstance(op, TensorOp):
                for k, result in enumerate(op.results):
                    trees = aliased_operands(op, k)
                    merged = [roots.get(v, _ELSEWHERE) for tree in trees for v in values_in(tree)]
                    # A view of a weight has an aliased operand that is no value.
                    own = _ELSEWHERE if trees else frozenset({i})
                    roots[result] = frozenset().union(*merged) if merged else own
            elif isinstance(op, HostOp) and op.result is not None and self.context.arithmetic.is_projection(op):
                roots[op.result] = roots.get(op.args[0], _ELSEWHERE)
        return roots

    def private_writes(self) -> dict[Op, frozenset[int]]:
        """Writes that only hit storage made here which nothing else has taken hold of before."""
        last_write: dict[int, int] = {}
        found: dict[Op, frozenset[int]] = {}
        for i, op in enumerate(self.ops):
            # Compilers make nothing of sizes that change in place.
            if isinstance(op, TensorOp) and (trees := written_operands(op)) and not changes_sizes(op):
                written = [self.roots.get(v, _ELSEWHERE) for tree in trees for v in values_in(tree)]
                roots = frozenset().union(*written)
                last_write.update((r, i) for r in roots)
                if self.member[i] and written and -1 not in roots and all(self.member[r] for r in roots):
                    found[op] = roots
        held = {r for i, op in enumerate(self.ops) for r in self.held(i, op) if i < last_write.get(r, -1)}
        return {op: roots for op, roots in found.items() if not roots & held}

    def held(self, i: int, op: Op) -> set[int]:
        """The storage made here that an operation outside of regions may take hold of."""
        if self.member[i] or (isinstance(op, HostOp) and op.name in _READERS):
            return set()
        return {r for v in self.context.needs(op) for r in self.roots.get(v, ())}

    # -- kinds and groups ----------------------------------------------------------------------

    def grouped(self, public: PublicWrites, before: Sequence[int]) -> tuple[list[list[int]], list[Kind | None]]:
        """Groups and the kind of every node.

        A view of storage that others write is like any other value while only its own group looks
        through it; where it is used elsewhere, a compiler might hand out a copy.
        """
        shown: set[int] = set()
        makers = self.list_makers()
        while True:
            kinds = [self.kind(i, public, shown) if member else None for i, member in enumerate(self.member)]
            for i, maker in makers.items():
                kinds[i] = kinds[maker]
            groups = self.with_late_constants(_fewest_groups(self.ops, kinds, before), kinds, before)
            owner = _owners(groups)
            more = {i for i in owner if i not in shown and self.is_view(i) and not self.kept_inside(i, owner)}
            if not more:
                return groups, kinds
            shown |= more | {makers.get(i, i) for i in more}

    def with_late_constants(
        self, groups: list[list[int]], kinds: Sequence[Kind | None], before: Sequence[int]
    ) -> list[list[int]]:
        """The groups with tensors that come from nothing made in the group that uses them, not handed to it."""
        owner = _owners(groups)
        for i in sorted(owner, reverse=True):
            op = self.ops[i]
            if not isinstance(op, TensorOp) or operand_values(op) or is_random(op) or written_operands(op):
                continue
            later = {j for j, mask in enumerate(before) if mask >> i & 1}
            homes = {owner.get(j) for j in later}
            home = homes.pop() if len(homes) == 1 else None
            if home is not None and home != owner[i] and all(kinds[j] == kinds[i] for j in groups[home]):
                groups[owner[i]].remove(i)
                groups[home] = sorted((*groups[home], i))
                owner[i] = home
        return [members for members in groups if members]

    def is_view(self, i: int) -> bool:
        """Whether all results of a node are views, and it writes nothing."""
        op = self.ops[i]
        if not isinstance(op, TensorOp):
            return True
        return not written_operands(op) and all(aliased_operands(op, k) for k in range(len(op.results)))

    def kept_inside(self, i: int, owner: dict[int, int]) -> bool:
        """Whether only the group of a node uses its results."""
        work = list(results(self.ops[i]))
        while work:
            for use in self.context.arithmetic.uses.get(work.pop(), ()):
                if use in self.context.dropped:
                    work += results(use)
                elif use not in self.index or owner.get(self.index[use]) != owner[i]:
                    return False
        return True

    def kind(self, i: int, public: PublicWrites, shown: set[int]) -> Kind:
        """What a node needs of a backend; views in `shown` are seen by others than their group."""
        op, storages = self.ops[i], self.context.storages
        touched = {c for v in results(op) if holds_storage(v.type) for c in storages.reached(v)}
        if isinstance(op, TensorOp):
            touched |= storages.written_by(op)
        if touched & public.classes and (i in shown or not self.is_view(i)):
            return "aliasing"
        arithmetic = self.context.arithmetic
        for value in operand_values(op):
            derived = arithmetic.is_fixed_list(value) or arithmetic.bases(value) is not None
            if not isinstance(value.type, TensorType) and not derived:
                return "scalar"
        return "plain"

    def list_makers(self) -> dict[int, int]:
        """For nodes that take an element of a list, the node that makes the list."""
        made = {v: i for i, op in enumerate(self.ops) for v in results(op)}
        elements = [(i, op) for i, op in enumerate(self.ops) if self.member[i] and isinstance(op, HostOp)]
        return {i: made[op.args[0]] for i, op in elements if op.args[0] in made}

    def items(self, groups: list[list[int]], kinds: Sequence[Kind | None], before: Sequence[int]) -> list[Op | Group]:
        """Operations that stay and groups, in an order that keeps to the dependences."""
        units: list[list[int]] = [[i] for i, member in enumerate(self.member) if not member]
        made: list[Group | None] = [None] * len(units)
        for members in groups:
            ops = [op for op in (self.ops[i] for i in members) if isinstance(op, TensorOp | HostOp)]
            if self.host_makes(ops):
                units += [[i] for i in members]
                made += [None] * len(members)
            else:
                units.append(members)
                made.append(Group(ops, any(kinds[i] == "aliasing" for i in members)))
        return [made[u] or self.ops[units[u][0]] for u in order_units(units, before)]

    def host_makes(self, ops: Iterable[TensorOp | HostOp]) -> bool:
        """Whether a group is nothing but cheap views, which need no region."""
        dropped = {v for op in self.context.dropped for v in results(op)}
        return all(
            isinstance(op, TensorOp) and op.overload in HOST_VIEWS and dropped.isdisjoint(operand_values(op))
            for op in ops
        )


def _owners(groups: Sequence[Sequence[int]]) -> dict[int, int]:
    """The group of each node that is in one."""
    return {i: g for g, members in enumerate(groups) for i in members}


def _fewest_groups(ops: Sequence[Op], kinds: Sequence[Kind | None], before: Sequence[int]) -> list[list[int]]:
    """One kind to a group, unless nothing heavy is plain and mixing makes fewer groups."""
    groups = [members for _, members in group_nodes(kinds, before)]
    if any(kind == "plain" and is_heavy(op) for op, kind in zip(ops, kinds, strict=True)):
        return groups
    mixed: list[Kind | None] = [None if k is None else "mixed" for k in kinds]
    together = [members for _, members in group_nodes(mixed, before)]
    return min(groups, together, key=len)


def operand_values(op: Op) -> list[Value]:
    """The values an operation reads itself."""
    return [v for tree in operands(op) for v in values_in(tree)]
