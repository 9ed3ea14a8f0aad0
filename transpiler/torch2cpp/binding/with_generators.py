"""The body of a `with` inside the generator that manages it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from torch2cpp.binding.context import CallSite, Context, Frame, Label, Restart
from torch2cpp.binding.control import branch, labelled
from torch2cpp.binding.convert import NoType, describe, from_operand, to_operand, type_of
from torch2cpp.binding.generators import GeneratorCall, in_frames
from torch2cpp.binding.unlike import common_type
from torch2cpp.binding.values import NONE, AbsVal, Host, ScopeObj, Static, Tup
from torch2cpp.binding.variables import set_name, use
from torch2cpp.diagnostics import Refused
from torch2cpp.hostir.ops import Block, Cell, Load, Store, blocks
from torch2cpp.hostir.types import INT, NEVER

#: How the body was left: the generator did not get there; at its end; by a return, break or continue.
_NOT_ENTERED, _ENDED = -1, 0


class _Way:
    """How the body was left, and with which value; in cells where a handler of the generator may go on."""

    def __init__(self, cx: Context, site: Any) -> None:
        self.cx, self.site = cx, site
        self.scope = cx.new_scope({"way": Static(_NOT_ENTERED), "value": NONE}, None)
        self.cell: Cell | None = None
        self.value: Cell | None = None
        #: The ways there are.
        self.seen: set[int] = set()

    def use_cells(self) -> None:
        """From now on through cells: what a `try` body assigned is not known to its handlers otherwise."""
        if self.cell is None:
            self.cell = Cell(f"way_{self.cx.stamp()}", INT, "local")

    def enter(self) -> None:
        """The body begins."""
        if self.cell is not None:
            self.cx.emit(Store(self.cell, _ENDED, self.cx.span))

    def leave(self, way: AbsVal, value: AbsVal) -> None:
        """The body has ended."""
        set_name(self.cx, self.scope, "way", way)
        set_name(self.cx, self.scope, "value", value)
        if self.cell is None or not self.seen - {_ENDED}:
            return
        self.cx.emit(Store(self.cell, way.value if isinstance(way, Static) else way.operand, self.cx.span))
        if 1 in self.seen:
            self._store_value(value)

    def _store_value(self, value: AbsVal) -> None:
        cx, key = self.cx, (self.site, "returned", None)
        have = cx.facts.kept.get(key, NEVER)
        try:
            wide = common_type(cx, have, type_of(cx, value))
        except NoType:
            wide = None
        if wide is None:
            cx.refuse("T2C196", f"a return of {describe(cx, value)} inside with", "assign it, and return it afterwards")
        cx.facts.examples.setdefault(key, value)
        if wide != have:
            cx.facts.kept[key] = wide
            raise Restart
        self.value = Cell(f"{self.cell.name}_value" if self.cell else "value", wide, "local")
        cx.emit(Store(self.value, to_operand(cx, value, wide), cx.span))

    def taken(self) -> AbsVal:
        """The way, after the generator has ended."""
        if self.cell is None:
            return use(self.cx, self._names()["way"])
        way = self.cx.value(INT, "way")
        self.cx.emit(Load(way, self.cell, self.cx.span))
        return Host(INT, way)

    def returned(self) -> AbsVal:
        """What a return in the body gave."""
        if self.value is None:
            return use(self.cx, self._names()["value"])
        loaded = self.cx.value(self.value.type, "returned")
        self.cx.emit(Load(loaded, self.value, self.cx.span))
        return from_operand(self.cx, loaded, self.value.type, self.cx.facts.examples.get((self.site, "returned", None)))

    def _names(self) -> dict[str, AbsVal]:
        scope = self.cx.state.heap[self.scope]
        assert isinstance(scope, ScopeObj)
        return scope.names


def run_context(cx: Context, call: GeneratorCall, inside: Callable[[AbsVal], None], trusted: bool) -> None:
    """Runs the generator with `inside` at its `yield`.

    `trusted` is a generator that surely yields, and whose handlers only pass on what `inside` raises.
    """
    from torch2cpp.binding.calls import run_function

    ours, frame = cx.frames, cx.frame
    outer = [frame.returns, *(frame.loops[-1] if frame.loops else ())]
    way = _Way(cx, (cx.site(None), "with"))
    first = cx.block
    start, base, loops = len(cx.block.ops), len(cx.path), len(cx.loop_starts)
    yields: list[bool] = []

    def give(value: AbsVal) -> None:
        branches = any(isinstance(k, tuple) and k[:1] in (("then",), ("else",)) for k in cx.path[base + 1 :])
        yields.append(branches)
        if any(yields[:-1]):
            raise Refused([])  # the first one was refused
        if len(yields) > 1 or branches or len(cx.loop_starts) > loops:
            cx.refuse("T2C196", "a context manager that yields in a branch or loop", "yield once, at one place")
        if cx.frame.guarded:
            way.use_cells()
        way.enter()
        with in_frames(cx, ours), cx.at(("with", cx.span.line, cx.span.column)):
            left = labelled(cx, "with", lambda out: _body(cx, frame, out, way, lambda: inside(value)), cx.span)
        assert isinstance(left, Tup)
        way.leave(left.elems[0], left.elems[1])

    def generator(label: Label) -> AbsVal:
        return run_function(cx, call.f, call.names, call.first, label, give)

    with in_frames(cx, [*ours]), cx.at(CallSite(cx.span, call.f.name)):
        labelled(cx, call.f.name.rpartition(".")[2], generator, cx.span)
    only_end = not way.seen - {_ENDED}
    if way.cell is not None and trusted and only_end:
        _drop(cx, way.cell)
        return
    if way.cell is not None:
        first.ops.insert(start, Store(way.cell, _NOT_ENTERED, cx.span))
    _go_on(cx, way, outer)


def _drop(cx: Context, cell: Cell) -> None:
    """Nothing reads the cell: its stores go."""

    def clean(block: Block) -> None:
        block.ops[:] = [op for op in block.ops if not (isinstance(op, Store) and op.cell is cell)]
        for op in block.ops:
            for inner in blocks(op):
                clean(inner)

    clean(cx.block)


def _body(cx: Context, frame: Frame, out: Label, way: _Way, inside: Callable[[], None]) -> AbsVal:
    """The body, each of its jumps an exit to `out` with its number and value."""
    with cx.label("return") as returns, cx.label("break") as breaks, cx.label("continue") as continues:
        saved = frame.returns
        frame.returns = returns
        if frame.loops:
            frame.loops.append((breaks, continues))
        try:
            inside()
            way.seen.add(_ENDED)
            return Tup((Static(_ENDED), NONE))
        finally:
            frame.returns = saved
            if frame.loops:
                frame.loops.pop()
            for number, label in enumerate((returns, breaks, continues), 1):
                for e in label.exits:
                    way.seen.add(number)
                    e.value = Tup((Static(number), e.value if number == 1 else NONE))
                    out.exits.append(e)
                label.exits = []


def _go_on(cx: Context, way: _Way, outer: list[Label]) -> None:
    """Follows the way on which the body was left."""
    taken = way.taken()

    def jump(number: int) -> AbsVal:
        if number == _NOT_ENTERED:
            cx.raise_(RuntimeError, "generator didn't yield")
        cx.leave(outer[number - 1], way.returned() if number == 1 else NONE)

    if isinstance(taken, Static):
        if taken.value != _ENDED:
            jump(taken.value)
        return
    assert isinstance(taken, Host)
    for number in (_NOT_ENTERED, *sorted(way.seen - {_ENDED})):
        here = cx.host("eq", taken.operand, number, label="left")
        branch(cx, here, lambda number=number: jump(number), lambda: NONE, "with", cx.span)  # type: ignore[misc]
