"""Rolls a loop over modules, which was unrolled, back into a loop over region instances.

Before:

    x1: float32[?, 8], stop: bool[] = region block(x0)
    t: bool = tensor.truth(stop)
    if t
      return (x1, 0)
    else
      yield
    x2: float32[?, 8], stop2: bool[] = region block_2(x1)
    t2: bool = tensor.truth(stop2)
    if t2
      return (x2, 1)
    else
      yield
    ...

After:

    for i: int in range(0, 8, 1) with x: float32[?, 8] = x0
      x1: float32[?, 8], stop: bool[] = region block .. block_8[i](x)
      t: bool = tensor.truth(stop)
      if t
        return (x1, i)
      else
        yield
      continue x1
    -> ...

Nothing is moved: the same operations run in the same order. What iterations read falls into kinds:
the same in all; made in the same iteration; made in the one before (a carried value); ints in steps
(from the index); other values and constants from before the loop (an element of a list of them).
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from itertools import count, pairwise
from typing import final

from torch2cpp.hostir.fit import fits, operand_type
from torch2cpp.hostir.ops import (
    Block,
    Continue,
    HostOp,
    Loop,
    Op,
    Operand,
    RegionCall,
    Value,
    map_leaves,
    operands,
    values_in,
    walk,
)
from torch2cpp.hostir.program import Function, Program
from torch2cpp.hostir.types import INT, ListType, ScalarType, Type
from torch2cpp.passes.drop_dead import drop_dead
from torch2cpp.passes.fold_constants import fold_constants
from torch2cpp.passes.rebuild import Rewriter, fresh_ids, with_blocks, with_functions, with_operands
from torch2cpp.passes.share_values import share_values
from torch2cpp.passes.unrolled import Reading, Run, find_runs, read, same_constant
from torch2cpp.regions.share import constant_key, structural_key
from torch2cpp.spans import Span

_ZEROS: dict[str, Operand] = {"bool": False, "int": 0, "float": 0.0, "str": ""}


def roll_loops(program: Program) -> Program:
    """Equal iterations over regions become loops over their instances."""
    ids = fresh_ids(program)
    region_key = cache(lambda name: structural_key(program.regions[name]))

    roller = _Roller(ids, region_key)

    def change(function: Function) -> Function:
        return replace(function, body=roller.block(function.body))

    made = with_functions(program, change)
    # Indices are computed in full, and loops hand out all that they carry.
    return drop_dead(share_values(fold_constants(made))) if roller.rolled else program


@final
@dataclass(slots=True)
class _Roller:
    ids: Iterator[int]
    region_key: Callable[[str], Hashable]
    #: How many loops were made.
    rolled: int = 0

    def block(self, block: Block) -> Block:
        ops = [with_blocks(op, self.block) for op in block.ops]
        while (rolled := self.once(ops)) is not None:
            ops = rolled
            self.rolled += 1
        return Block(block.params, ops)

    def once(self, ops: list[Op]) -> list[Op] | None:
        """The operations with the innermost, longest run rolled up, or None where there is none."""
        readings = [read(op, self.region_key) for op in ops]
        best: tuple[tuple[int, ...], _Plan] | None = None
        for run in find_runs([tuple(r.shape) for r in readings]):
            if best is not None and best[1].run.period < run.period:
                break
            if any(not r.movable for r in readings[run.start : run.start + run.period]):
                continue
            plan = _plan(ops, readings, run)
            if plan is not None and (best is None or (-run.count, *plan.cost) < best[0]):
                best = ((-run.count, *plan.cost), plan)
        return None if best is None else _Builder(self.ids, ops, best[1]).build()


@final
@dataclass(frozen=True, slots=True)
class _Carried:
    """A value that one iteration makes and the next one reads."""

    #: Which of the values that an iteration defines.
    position: int
    #: What the first iteration reads; None when the value is only read after the loop.
    init: tuple[Operand] | None


@final
@dataclass(frozen=True, slots=True)
class _Stepped:
    """An int that grows by the same step each iteration."""

    first: int
    step: int


@final
@dataclass(frozen=True, slots=True)
class _Listed:
    """Values from before the loop, one per iteration."""

    items: tuple[Operand, ...]
    type: Type


_Kind = _Carried | _Stepped | _Listed


def _key(kind: _Stepped | _Listed) -> Hashable:
    """Equal for kinds that are one value in every iteration."""
    if isinstance(kind, _Stepped):
        return (kind.first, kind.step)
    return tuple(leaf if isinstance(leaf, Value) else constant_key(leaf) for leaf in kind.items)


@final
@dataclass(slots=True)
class _Plan:
    """How a run becomes a loop."""

    run: Run
    #: One reading per iteration.
    iterations: list[_Iteration]
    #: For a value that an iteration defines, which one and at which position.
    maker: dict[Value, tuple[int, int]]
    span: Span
    #: By leaf of an iteration, what is not simply the same or made in the iteration.
    kinds: dict[int, _Kind] = field(default_factory=dict)
    carried: list[_Carried] = field(default_factory=list)
    #: Values of an iteration that are read after the loop for several iterations.
    collected: list[int] = field(default_factory=list)

    @property
    def cost(self) -> tuple[int, ...]:
        """Smaller is better to read: few values handed on, an iteration that begins where Python's does."""
        unset = sum(c.init is None for c in self.carried)
        listed = len({_key(k) for k in self.kinds.values() if isinstance(k, _Listed)})
        return (3 * (listed + len(self.collected)) + 2 * unset + len(self.carried), self.span.line, self.run.start)


@final
class _Iteration:
    """What the operations of one iteration read, define and call."""

    def __init__(self, readings: Sequence[Reading]) -> None:
        self.leaves = [leaf for r in readings for leaf in r.leaves]
        self.defined = [v for r in readings for v in r.defined]
        self.calls = [c for r in readings for c in r.calls]
        self.starts: dict[Op, int] = {}
        before = 0
        for r in readings:
            self.starts.update((op, before + start) for op, start in r.starts.items())
            before += len(r.leaves)


def _plan(ops: Sequence[Op], readings: Sequence[Reading], run: Run) -> _Plan | None:
    """A plan for a run, or None where it cannot be a loop."""
    starts = range(run.start, run.start + run.period * run.count, run.period)
    iterations = [_Iteration(readings[at : at + run.period]) for at in starts]
    maker = {v: (n, at) for n, iteration in enumerate(iterations) for at, v in enumerate(iteration.defined)}
    plan = _Plan(run, iterations, maker, ops[run.start].span)
    calls = [[iteration.calls[c] for iteration in plan.iterations] for c in range(len(plan.iterations[0].calls))]
    if not any(len(set(call)) == run.count for call in calls):
        return None
    if any(len(set(call)) not in (1, run.count) for call in calls):
        return None
    for slot, leaves in enumerate(zip(*(iteration.leaves for iteration in plan.iterations), strict=True)):
        kind = _kind(plan, leaves)
        if kind is None:
            return None
        if not isinstance(kind, bool):
            plan.kinds[slot] = kind
            if isinstance(kind, _Carried) and not any(_same_carried(kind, c) for c in plan.carried):
                plan.carried.append(kind)
    _note_reads_after(plan, ops[run.start + run.period * run.count :])
    return plan


def _same_carried(a: _Carried, b: _Carried) -> bool:
    if a.position != b.position or a.init is None or b.init is None:
        return False
    return same_constant(a.init[0], b.init[0])


def _kind(plan: _Plan, leaves: tuple[Operand, ...]) -> _Kind | bool | None:
    """What a leaf is over the iterations: a kind, True when nothing is to be done, None when there is no loop."""
    places = [plan.maker.get(leaf) if isinstance(leaf, Value) else None for leaf in leaves]
    if not any(places):
        return _from_before(leaves)
    last = places[-1]
    if last is None:
        return None
    if all(place == (n, last[1]) for n, place in enumerate(places)):
        return True
    before = [(n - 1, last[1]) for n in range(1, len(places))]
    fitting = fits(operand_type(leaves[0]), plan.iterations[0].defined[last[1]].type)
    return _Carried(last[1], (leaves[0],)) if places == [None, *before] and fitting else None


def _from_before(leaves: tuple[Operand, ...]) -> _Kind | bool | None:
    """The kind of a leaf that no iteration makes."""
    first = leaves[0]
    if all(same_constant(first, leaf) for leaf in leaves):
        return True
    if all(type(leaf) is int for leaf in leaves):
        step = leaves[1] - leaves[0]
        if all(b - a == step for a, b in pairwise(leaves)):
            return _Stepped(leaves[0], step)
    types = [operand_type(leaf) for leaf in leaves]
    able = all(isinstance(leaf, Value | bool | int | float | str) for leaf in leaves)
    if not able or any(t != types[0] for t in types) or any(isinstance(leaf, tuple | list) for leaf in leaves):
        return None
    return _Listed(leaves, types[0])


def _note_reads_after(plan: _Plan, after: Sequence[Op]) -> None:
    """Notes which values of iterations are read after the loop."""
    readers: dict[int, set[int]] = {}
    for outer in after:
        for op in _with_inner(outer):
            for value in values_in(operands(op)):
                if value in plan.maker:
                    n, position = plan.maker[value]
                    readers.setdefault(position, set()).add(n)
    for position, iterations in readers.items():
        if iterations != {plan.run.count - 1}:
            plan.collected.append(position)
        elif not any(c.position == position for c in plan.carried):
            plan.carried.append(_Carried(position, None))


def _with_inner(op: Op) -> Iterator[Op]:
    return walk(Block((), [op]))


@final
class _Builder:
    """Makes the loop of a plan."""

    def __init__(self, ids: Iterator[int], ops: list[Op], plan: _Plan) -> None:
        self.ids = ids
        self.ops = ops
        self.plan = plan
        self.span = plan.span
        self.first = plan.iterations[0]
        self.index = self.value(INT, "i")
        #: In front of the loop, and at the start of its body.
        self.before: list[Op] = []
        self.head: list[Op] = []
        self.made: dict[Hashable, Operand] = {}
        self.params = [self.value(self.defined(c).type, self.defined(c).name) for c in plan.carried]

    def value(self, type_: Type, name: str) -> Value:
        return Value(next(self.ids), type_, name, self.span)

    def defined(self, carried: _Carried) -> Value:
        return self.first.defined[carried.position]

    def build(self) -> list[Op]:
        """The block's operations with the loop in the place of the run."""
        run = self.plan.run
        lists = {p: self.new_list(self.first.defined[p]) for p in self.plan.collected}
        body = [made for op in self.ops[run.start : run.start + run.period] for made in self.rebuilt(op)]
        body += [HostOp(None, "list.append", (to, self.first.defined[p]), self.span) for p, to in lists.items()]
        handed = Continue(tuple(self.defined(c) for c in self.plan.carried), self.span)
        params = (self.index, *self.params)
        results = tuple(self.value(p.type, p.name) for p in self.params)
        loop = Loop(
            results, tuple(map(self.init, self.plan.carried)), Block(params, [*self.head, *body, handed]),
            (0, run.count, 1), self.span,
        )  # fmt: skip
        return [*self.ops[: run.start], *self.before, loop, *self.followed(results, lists)]

    def init(self, carried: _Carried) -> Operand:
        if carried.init is not None:
            return carried.init[0]
        type_ = self.defined(carried).type
        if isinstance(type_, ScalarType) and type_.kind in _ZEROS:
            return _ZEROS[type_.kind]
        unset = self.value(type_, self.defined(carried).name)
        self.before.append(HostOp(unset, "undefined", (), self.span))
        return unset

    def new_list(self, item: Value) -> Value:
        made = self.value(ListType(item.type), f"{item.name}_list")
        self.before.append(HostOp(made, "list.new", (), self.span))
        return made

    def followed(self, results: tuple[Value, ...], lists: dict[int, Value]) -> list[Op]:
        """What stands after the loop, over its results; collected values are taken out of their lists where needed."""
        run, rewriter, made = self.plan.run, Rewriter(), list[Op]()
        last = self.plan.iterations[-1]
        for carried, result in zip(self.plan.carried, results, strict=True):
            if carried.position not in lists:
                rewriter.known.setdefault(last.defined[carried.position], result)
        for op in self.ops[run.start + run.period * run.count :]:
            for inner in _with_inner(op):
                for value in values_in(operands(inner)):
                    n, position = self.plan.maker.get(value, (0, -1))
                    if position in lists and value not in rewriter.known:
                        rewriter.known[value] = self.value(value.type, value.name)
                        made.append(HostOp(rewriter.known[value], "list.get", (lists[position], n), inner.span))
            made += rewriter.block(Block((), [op])).ops
        return made

    # -- the body ------------------------------------------------------------------------------

    def rebuilt(self, op: Op) -> list[Op]:
        """An operation of the first iteration as one of every iteration."""
        slots = count(self.first.starts[op])
        made = with_operands(op, lambda tree: map_leaves(tree, lambda leaf: self.leaf(next(slots), leaf)))
        if isinstance(op, RegionCall) and isinstance(made, RegionCall):
            return self.indexed(op, made)
        return [with_blocks(made, self.inner)]

    def inner(self, block: Block) -> Block:
        return Block(block.params, [made for op in block.ops for made in self.rebuilt(op)])

    def leaf(self, slot: int, leaf: Operand) -> Operand:
        kind = self.plan.kinds.get(slot)
        match kind:
            case None:
                return leaf
            case _Carried():
                at = next(i for i, c in enumerate(self.plan.carried) if _same_carried(c, kind))
                return self.params[at]
            case _:
                key = _key(kind)
                if key not in self.made:
                    self.made[key] = self.stepped(kind) if isinstance(kind, _Stepped) else self.element(kind)
                return self.made[key]

    def arithmetic(self, name: str, a: Operand, b: int) -> Operand:
        # Also times 1 and plus 0, so that iterations of a loop around this one stay alike.
        made = self.value(INT, name)
        self.head.append(HostOp(made, name, (a, b), self.span))
        return made

    def stepped(self, kind: _Stepped) -> Operand:
        return self.arithmetic("add", self.arithmetic("mul", self.index, kind.step), kind.first)

    def element(self, kind: _Listed) -> Operand:
        first = kind.items[0]
        name = first.name if isinstance(first, Value) else "value"
        items = self.value(ListType(kind.type), f"{name}_list")
        self.before.append(HostOp(items, "list.new", kind.items, self.span))
        item = self.value(kind.type, name)
        self.head.append(HostOp(item, "list.get", (items, self.index), self.span))
        return item

    def indexed(self, op: RegionCall, made: RegionCall) -> list[Op]:
        """The call of the instance that belongs to the iteration."""
        tables = [iteration.calls[self.first.calls.index(op.regions)] for iteration in self.plan.iterations]
        if len(set(tables)) == 1:
            return [made]
        instances = tuple(name for table in tables for name in table)
        if not op.instances:
            return [replace(made, instances=instances, index=self.index)]
        # The instances of the inner loop for every iteration of this one.
        base = self.arithmetic("mul", self.index, len(op.instances))
        at = self.value(INT, "instance")
        add = HostOp(at, "add", (made.index, base), self.span)
        return [add, replace(made, instances=instances, index=at)]
