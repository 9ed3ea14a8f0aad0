"""Uses what was stored in a cell where it is read again; loops carry it, so that it need not be read.

Before:

    store $h = x
    while True
      h: float32[?] = load $h
      y: float32[?] = aten.relu.default(h)
      store $h = y
      ...
      continue

After:

    store $h = x
    while True with h: float32[?] = x
      y: float32[?] = aten.relu.default(h)
      store $h = y
      ...
      continue y

Stores stay: an error may leave the function anywhere, and the next call finds what was stored. As SSA
construction (Cytron et al. 1991), on structured control flow, where no dominance is to be computed.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import final

from torch2cpp.hostir.fit import operand_type
from torch2cpp.hostir.ops import (
    Block,
    Break,
    Call,
    Cell,
    Continue,
    If,
    Leave,
    Load,
    Loop,
    Op,
    Operand,
    Scope,
    Store,
    Try,
    Value,
    Yield,
    blocks,
    walk,
)
from torch2cpp.hostir.program import Function, Program
from torch2cpp.hostir.types import ScalarType, TensorType
from torch2cpp.passes.rebuild import Rewriter, fresh_ids, with_blocks, with_functions

#: What each cell is known to hold.
Held = dict[Cell, Operand]


def forward_cells(program: Program) -> Program:
    """Reads of cells are replaced by what was stored, as far as that is known."""
    ids = fresh_ids(program)
    return with_functions(program, lambda f: _forwarded(f, ids))


def _forwarded(function: Function, ids: Iterator[int]) -> Function:
    read = {op.cell for op in walk(function.body) if isinstance(op, Load)} - _stored_at_last(function.body)
    return _Forwarder(read, ids).function(function) if read else function


def _stored_at_last(block: Block) -> set[Cell]:
    """Cells that a `finally` may change: after what a `break` out of it hands on was computed."""
    finals = [op.final for op in walk(block) if isinstance(op, Try) and op.final is not None]
    if any(isinstance(op, Call) for final in finals for op in walk(final)):
        return {op.cell for op in walk(block) if isinstance(op, Load)}
    return {op.cell for final in finals for op in walk(final) if isinstance(op, Store)}


@final
@dataclass(slots=True)
class _Exits:
    """Where a block's terminators lead to."""

    #: Cells that the innermost loop carries.
    carried: tuple[Cell, ...] = ()
    #: What is held at each way out of a scope, by its label.
    leaves: dict[str, list[tuple[Leave, Held]]] = field(default_factory=dict)


@final
class _Forwarder(Rewriter):
    def __init__(self, read: set[Cell], ids: Iterator[int]) -> None:
        super().__init__()
        self.read = read
        self.ids = ids
        self.held: Held = {}
        self.exits = _Exits()

    def visit(self, op: Op) -> list[Op]:
        match op:
            case Load():
                return self.load(op)
            case Store():
                self.store(op)
                return [op]
            case Call():
                self.forget_state()
                return [op]
            case If():
                return [self.if_(op)]
            case Loop():
                return self.loop(op)
            case Scope():
                return [self.scope(op)]
            case Try():
                return [self.try_(op)]
            case Continue() | Break():
                loads, values = self.values_of(self.exits.carried, op)
                return [*loads, replace(op, values=(*op.values, *values))]
            case Leave():
                self.exits.leaves[op.label].append((op, dict(self.held)))
                return [op]
            case _:
                return [op]

    def load(self, op: Load) -> list[Op]:
        if op.cell in self.held:
            self.known[op.result] = self.held[op.cell]
            return []
        if op.cell in self.read:
            self.held[op.cell] = op.result
        return [op]

    def store(self, op: Store) -> None:
        if op.cell in self.read and _stands_for(op.value, op.cell):
            self.held[op.cell] = op.value
        else:
            self.held.pop(op.cell, None)

    def forget_state(self) -> None:
        """Another function may write every cell that lives between calls."""
        self.held = {cell: value for cell, value in self.held.items() if cell.scope != "state"}

    def values_of(self, cells: Sequence[Cell], at: Op) -> tuple[list[Op], list[Operand]]:
        """What the cells hold, and the reads of those where it is not known."""
        loads: list[Op] = []
        values: list[Operand] = []
        for cell in cells:
            if cell not in self.held:
                self.held[cell] = self.value(cell, at)
                loads.append(Load(self.held[cell], cell, at.span))
            values.append(self.held[cell])
        return loads, values

    def value(self, cell: Cell, at: Op) -> Value:
        """A new value that stands for what a cell holds."""
        return Value(next(self.ids), cell.type, cell.name.rpartition(".")[2], at.span)

    def if_(self, op: If) -> If:
        outer = dict(self.held)
        arms: list[Block] = []
        ends: list[Held] = []
        for arm in (op.then, op.orelse):
            self.held = dict(outer)
            arms.append(self.block(arm))
            if isinstance(arms[-1].ops[-1], Yield):
                ends.append(self.held)
        self.held, handed = self.together(outer, ends, op)
        then, orelse = (_yielding(arm, held, handed) for arm, held in _with_ends(arms, ends))
        return replace(op, results=(*op.results, *handed.values()), then=then, orelse=orelse)

    def together(self, outer: Held, ends: Sequence[Held], op: Op) -> tuple[Held, dict[Cell, Value]]:
        """What is held after several ways come together, and new results for what differs between them."""
        held: Held = {}
        handed: dict[Cell, Value] = {}
        for cell in ends[0] if ends else ():
            if not all(cell in end for end in ends):
                continue
            if all(end[cell] is outer.get(cell, held) for end in ends):
                held[cell] = outer[cell]
            else:
                held[cell] = handed[cell] = self.value(cell, op)
        return held, handed

    def loop(self, op: Loop) -> list[Op]:
        written, clobbered = _written(op.body)
        if clobbered:
            self.forget_state()
        carried = () if clobbered else self.carried(op, written)
        loads, inits = self.values_of(carried, op)
        outer = {cell: value for cell, value in self.held.items() if cell not in written}
        params = [self.value(cell, op) for cell in carried]
        results = [self.value(cell, op) for cell in carried]
        saved = self.exits
        self.exits = _Exits(carried, saved.leaves)
        self.held = {**outer, **dict(zip(carried, params))}
        body = self.block(op.body)
        self.exits = saved
        self.held = {**outer, **dict(zip(carried, results))}
        made = replace(
            op,
            results=(*op.results, *results),
            inits=(*op.inits, *inits),
            body=Block((*op.body.params, *params), body.ops),
        )
        return [*loads, made]

    def carried(self, op: Loop, written: set[Cell]) -> tuple[Cell, ...]:
        """The cells that are worth carrying: read and written in the loop, never where an error is caught."""
        reads = {inner.cell for inner in walk(op.body) if isinstance(inner, Load)}
        caught = {c for inner in walk(op.body) if isinstance(inner, Try) for c in _written_in(inner)}
        # A variable of this call may not be set yet.
        known = {cell for cell in written if cell.scope == "state" or cell in self.held}
        return tuple(sorted((written & reads & known & self.read) - caught, key=lambda cell: cell.name))

    def scope(self, op: Scope) -> Scope:
        outer = dict(self.held)
        leaves = self.exits.leaves[op.label] = []
        body = self.block(op.body)
        self.held, handed = self.together(outer, [held for _, held in leaves], op)
        if handed:
            values = {id(leave): tuple(held[cell] for cell in handed) for leave, held in leaves}
            body = _leaving(body, values)
        return replace(op, results=(*op.results, *handed.values()), body=body)

    def try_(self, op: Try) -> Try:
        written = _written_in(op)
        if _written(op.body)[1] or any(isinstance(inner, Call) for inner in walk(Block((), [op]))):
            self.forget_state()
        safe = {cell: value for cell, value in self.held.items() if cell not in written}
        body = self.block(op.body)
        handlers = []
        for handler in op.handlers:
            self.held = dict(safe)
            handlers.append(replace(handler, body=self.block(handler.body)))
        self.held = dict(safe)
        final = None if op.final is None else self.block(op.final)
        self.held = safe
        return replace(op, body=body, handlers=tuple(handlers), final=final)


def _stands_for(value: Operand, cell: Cell) -> bool:
    """Whether what is stored is exactly what a read gives: nothing is converted on the way."""
    if isinstance(value, Value):
        both = isinstance(value.type, TensorType) and isinstance(cell.type, TensorType)
        return both or value.type == cell.type
    plain = isinstance(value, bool | int | float | str)
    return plain and isinstance(cell.type, ScalarType) and operand_type(value) == cell.type


def _written(block: Block) -> tuple[set[Cell], bool]:
    """The cells that a block stores, and whether it calls what may store others."""
    inner = list(walk(block))
    return {op.cell for op in inner if isinstance(op, Store)}, any(isinstance(op, Call) for op in inner)


def _written_in(op: Op) -> set[Cell]:
    return {cell for block in blocks(op) for cell in _written(block)[0]}


def _with_ends(arms: Sequence[Block], ends: Sequence[Held]) -> Iterator[tuple[Block, Held | None]]:
    """Each arm with what is held at its end, where it has one."""
    left = iter(ends)
    for arm in arms:
        yield arm, next(left) if isinstance(arm.ops[-1], Yield) else None


def _yielding(block: Block, held: Held | None, handed: dict[Cell, Value]) -> Block:
    """An arm that also yields what the cells hold at its end."""
    last = block.ops[-1]
    if held is None or not handed or not isinstance(last, Yield):
        return block
    return Block(block.params, [*block.ops[:-1], replace(last, values=(*last.values, *(held[c] for c in handed)))])


def _leaving(block: Block, values: dict[int, tuple[Operand, ...]]) -> Block:
    """The block with more values at the given ways out of a scope."""
    ops: list[Op] = []
    for op in block.ops:
        if isinstance(op, Leave) and id(op) in values:
            ops.append(replace(op, values=(*op.values, *values[id(op)])))
        else:
            ops.append(with_blocks(op, lambda inner: _leaving(inner, values)))
    return Block(block.params, ops)
