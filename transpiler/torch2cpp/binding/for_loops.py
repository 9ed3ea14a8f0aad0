"""`for`: unrolled over known items, a loop over run-time ones."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable
from typing import Any

import libcst as cst

from torch2cpp.binding import growing, operators
from torch2cpp.binding.choices import distribute
from torch2cpp.binding.context import Context, Label
from torch2cpp.binding.control import branch, labelled
from torch2cpp.binding.convert import resolve
from torch2cpp.binding.expressions import evaluate
from torch2cpp.binding.iteration import Items, items_of
from torch2cpp.binding.loops import LoopPlan, run_loop
from torch2cpp.binding.meta import DEFAULT_HINTS, hints_of
from torch2cpp.binding.option_iterators import is_open, settle
from torch2cpp.binding.values import (
    NONE,
    AbsVal,
    Choice,
    DictObj,
    Host,
    Iter,
    ListObj,
    PartialDict,
    Ref,
    Rt,
    ScopeObj,
    Static,
)
from torch2cpp.binding.variables import iteration_names, set_name
from torch2cpp.binding.widening import widen_list
from torch2cpp.hostir.types import INT

#: More iterations than this are never unrolled.
MAX_UNROLL = 1024


def run_for(cx: Context, node: cst.For) -> None:
    """Runs a `for` statement."""
    from torch2cpp.binding.comprehensions import is_lazy, iterator_of
    from torch2cpp.binding.statements import run_body, store

    if node.asynchronous is not None:
        cx.refuse("T2C205", "async for in deployed code", "use a plain for")
    iterable = evaluate(cx, node.iter)
    key = cx.site(node)

    def one(item: AbsVal) -> None:
        store(cx, node.target, item)
        run_body(cx, node.body)

    tail = node.orelse
    orelse = None if tail is None else (lambda: run_body(cx, tail.body))
    iterable = iterable if is_open(iterable) else iterator_of(cx, iterable)
    if is_lazy(iterable) and iterable.collected is None:
        _lazy(cx, iterable, one, orelse, key)
        return
    names, target = _iteration_names(cx, node), node.target.value if isinstance(node.target, cst.Name) else ""

    def run(it: AbsVal, key: Any = key) -> AbsVal:
        loop(cx, items_of(cx, it), one, orelse, key, names, target)
        return NONE

    if is_open(iterable):
        numbers = itertools.count()
        settle(cx, iterable, lambda it: run(it, (key, "option", next(numbers))))
    elif isinstance(iterable, Choice):
        numbers = itertools.count()
        distribute(cx, iterable, lambda it: run(it, (key, "option", next(numbers))))
    else:
        run(iterable)


def _lazy(
    cx: Context, iterable: Iter, one: Callable[[AbsVal], None], orelse: Callable[[], None] | None, key: Any
) -> None:
    """A loop over items that are computed one by one, between the iterations."""
    from torch2cpp.binding.comprehensions import consume

    def whole(out: Label) -> AbsVal:
        consume(cx, iterable, lambda item: _iteration(cx, 0, out, lambda: one(item)), key)
        if orelse is not None:
            orelse()
        return NONE

    labelled(cx, "for", whole, cx.span)


def _iteration_names(cx: Context, node: cst.For | cst.While) -> frozenset[str]:
    function = cx.function_node()
    return iteration_names(node, function) if function is not None else frozenset()


def loop(
    cx: Context,
    items: Items,
    one: Callable[[AbsVal], None],
    orelse: Callable[[], None] | None,
    key: Any,
    local_names: frozenset[str] = frozenset(),
    target: str = "",
) -> None:
    """Runs `one` on every item, as a loop or unrolled."""
    unroll = items.known and (not items.prefers_loop or key in cx.facts.unrolled or cx.in_library())
    if unroll or items.most is not None:
        cx.mark("static")
        _unrolled(cx, items, _watched(cx, items, one), orelse)
        return
    if key in cx.facts.growing and (items.more is not None or isinstance(resolve(cx, items.source), Rt)):
        growing.loop_over_growing(cx, items, one, orelse, key, local_names)
        return
    if isinstance(items.count, Static) and items.count.value == 0:
        if orelse is not None:
            orelse()
        return

    def run(labels: tuple[Label, Label, bool]) -> None:
        _run_time(cx, items, one, key, labels, local_names, target)

    if orelse is None:
        watched = growing.Watch(cx, items, key)
        with cx.label("break") as break_label, cx.label("continue") as continue_label:
            run((break_label, continue_label, False))
        watched.check()
        return

    def with_else(out: Label) -> AbsVal:
        watched = growing.Watch(cx, items, key)
        with cx.label("continue") as continue_label:
            run((out, continue_label, True))
        watched.check()
        orelse()
        return NONE

    labelled(cx, "for", with_else, cx.span)


def _watched(cx: Context, items: Items, one: Callable[[AbsVal], None]) -> Callable[[AbsVal], None]:
    """`one`, followed by a look whether it changed the list that is walked: then that is a run-time list."""
    source = items.source
    before = cx.state.heap[source.id] if isinstance(source, Ref) else None

    def run(item: AbsVal) -> None:
        one(item)
        now = cx.state.heap[source.id] if before is not None else None
        if isinstance(before, ListObj) and isinstance(now, ListObj) and len(now.elems) != len(before.elems):
            widen_list(cx, cx.state, now, None)
        if isinstance(before, PartialDict) or isinstance(now, PartialDict):
            return  # the keys are compared when the next one is asked for
        if isinstance(before, DictObj) and isinstance(now, DictObj) and len(now.items) != len(before.items):
            cx.raise_(RuntimeError, "dictionary changed size during iteration")

    return run if before is not None else one


def _run_time(
    cx: Context,
    items: Items,
    one: Callable[[AbsVal], None],
    key: Any,
    labels: tuple[Label, Label, bool],
    local_names: frozenset[str],
    target: str,
) -> None:
    break_label, continue_label, outer_break = labels
    over, item = _bounds(cx, items, key)
    own_break = Label("none") if outer_break else break_label

    def body(index: Host | None) -> None:
        assert index is not None
        with cx.in_loop(break_label, continue_label):
            one(item(index))

    if target and isinstance(items.count, Static) and items.range_ is not None:
        _preset(cx, target, items)
    plan = LoopPlan(
        key,
        cx.span,
        over,
        body,
        own_break,
        continue_label,
        static=items.known,
        unrolls=items.known,
        hints=(0, 1, 2),
        local_names=local_names,
        index_name=target if items.range_ is not None and target else "i",
    )
    run_loop(cx, plan)


def _preset(cx: Context, target: str, items: Items) -> None:
    """A loop that surely runs leaves its variable bound: it is never seen unassigned afterwards."""
    assert items.range_ is not None
    scope = cx.state.heap[cx.frame.scope]
    assert isinstance(scope, ScopeObj)
    if target not in scope.names and target in cx.frame.local_names:
        set_name(cx, cx.frame.scope, target, items.range_[0])


def _bounds(cx: Context, items: Items, key: Any) -> tuple[tuple[Any, Any, Any], Callable[[Host], AbsVal]]:
    """The loop's range, and the item for its index."""
    if items.range_ is not None and isinstance(items.range_[2], Static):
        operands = tuple(operators.scalar_operand(cx, b) for b in items.range_)
        return (operands[0], operands[1], operands[2]), _identity(items)
    return (0, operators.scalar_operand(cx, items.count), 1), items.get


def _identity(items: Items) -> Callable[[Host], AbsVal]:
    assert items.range_ is not None
    start, step = items.range_[0], items.range_[2].value

    def item(index: Host) -> AbsVal:
        base = hints_of(start) or DEFAULT_HINTS
        index.hints = tuple(b + w * step for w, b in enumerate(base))
        return Host(INT, index.operand, index.hints, index.loops)

    return item


def _unrolled(cx: Context, items: Items, one: Callable[[AbsVal], None], orelse: Callable[[], None] | None) -> None:
    n = items.most if items.most is not None else items.count.value if isinstance(items.count, Static) else 0
    if n > MAX_UNROLL:
        cx.refuse(
            "T2C121",
            f"a loop of {n} iterations would have to be unrolled",
            f"loop over at most {MAX_UNROLL} modules or static values; write a loop over a range of tensors",
        )

    def whole(out: Label) -> AbsVal:
        for i in range(n):
            if isinstance(items.count, Host):
                here = cx.host("gt", items.count.operand, i, label="is_left")
                branch(cx, here, lambda: NONE, lambda: run_out(out), "for", cx.span)
            present = Static(True) if items.here is None else items.here(i)
            if isinstance(present, Host):
                there = functools.partial(iteration, i, out)
                branch(cx, present.operand, there, lambda: NONE, "there", cx.span)
            elif present.value:
                iteration(i, out)
        run_out(out)

    def iteration(i: int, out: Label) -> AbsVal:
        _iteration(cx, i, out, lambda: one(items.get(Static(i))))
        return NONE

    def run_out(out: Label) -> AbsVal:
        if orelse is not None:
            orelse()
        cx.leave(out, NONE)

    labelled(cx, "for", whole, cx.span)


def _iteration(cx: Context, i: int, out: Label, body: Callable[[], None]) -> None:
    def run(done: Label) -> AbsVal:
        with cx.in_loop(out, done):
            body()
        return NONE

    with cx.at(("iteration", i)):
        labelled(cx, "iteration", run, cx.span)
