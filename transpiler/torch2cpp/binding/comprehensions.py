"""Comprehensions and generator expressions, and collecting any iterable into a list."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import libcst as cst

from torch2cpp.binding import operators
from torch2cpp.binding.container_methods import list_append
from torch2cpp.binding.containers import new_dict, new_list, set_item
from torch2cpp.binding.context import Context, Frame
from torch2cpp.binding.control import branch
from torch2cpp.binding.convert import resolve
from torch2cpp.binding.expressions import condition, evaluate
from torch2cpp.binding.for_loops import loop
from torch2cpp.binding.iteration import items_of
from torch2cpp.binding.optional import narrow, refinements
from torch2cpp.binding.values import NONE, AbsVal, Iter, ListObj, Static
from torch2cpp.binding.variables import stored_in

#: A comprehension over at most this many known items is unrolled.
MAX_UNROLLED_ITEMS = 32


def comprehension(cx: Context, node: Any) -> AbsVal:
    """`[...]`, `{...}`, `{k: v ...}` or a generator expression."""
    if isinstance(node, cst.GeneratorExp):
        first = evaluate(cx, node.for_in.iter)
        return Iter("generator", (first,), _Pending(node, cx.frame, cx.span))
    site = cx.site(node)
    first = evaluate(cx, node.for_in.iter)
    if isinstance(node, cst.DictComp):
        target = new_dict(cx, [], site)

        def put() -> None:
            set_item(cx, target, evaluate(cx, node.key), evaluate(cx, node.value))

        _run(cx, node.for_in, first, put, site)
        return target
    if isinstance(node, cst.SetComp):
        return _set_comprehension(cx, node, first, site)
    target = new_list(cx, [], site)
    _run(cx, node.for_in, first, lambda: list_append(cx, target, evaluate(cx, node.elt)), site)
    return target


class _Pending:
    """A generator expression that nothing has consumed yet."""

    def __init__(self, node: cst.GeneratorExp, frame: Frame, span: Any) -> None:
        self.node, self.frame, self.span = node, frame, span


def _set_comprehension(cx: Context, node: cst.SetComp, first: AbsVal, site: Any) -> AbsVal:
    from torch2cpp.binding.container_methods import set_add
    from torch2cpp.binding.containers import new_set

    target = new_set(cx, [], site)
    _run(cx, node.for_in, first, lambda: set_add(cx, target, evaluate(cx, node.elt)), site)
    return target


def _run(cx: Context, for_in: cst.CompFor, first: AbsVal, body: Callable[[], None], key: Any) -> None:
    """Runs the clauses of a comprehension in a scope of its own."""
    frame = cx.frame
    names: frozenset[str] = frozenset()
    clause: cst.CompFor | None = for_in
    while clause is not None:
        names |= _targets(clause.target)
        clause = clause.inner_for_in
    scope = cx.new_scope({}, frame.scope)
    inner = Frame(
        frame.name,
        scope,
        frame.globals,
        frame.source,
        frame.returns,
        owner=frame.owner,
        first=frame.first,
        local_names=names,
        node=frame.node,
    )
    cx.frames.append(inner)
    try:
        _clause(cx, for_in, first, body, key)
    finally:
        cx.frames.pop()


def _targets(target: cst.CSTNode) -> frozenset[str]:
    assignment = cst.For(target, cst.Name("_"), cst.IndentedBlock([]))  # type: ignore[arg-type]
    return stored_in(assignment)


def _clause(cx: Context, clause: cst.CompFor, source: AbsVal, body: Callable[[], None], key: Any) -> None:
    from torch2cpp.binding.statements import store

    def one(item: AbsVal) -> None:
        store(cx, clause.target, item)
        _tests(cx, list(clause.ifs), lambda: _inner(cx, clause, body, key))

    items = items_of(cx, source)
    if items.known and isinstance(items.count, Static) and items.count.value <= MAX_UNROLLED_ITEMS:
        items.prefers_loop = False  # a list of few items keeps its structure
    loop(cx, items, one, None, (key, cx.site(clause)), _targets(clause.target))


def _inner(cx: Context, clause: cst.CompFor, body: Callable[[], None], key: Any) -> None:
    if clause.inner_for_in is None:
        body()
    else:
        _clause(cx, clause.inner_for_in, evaluate(cx, clause.inner_for_in.iter), body, key)


def _tests(cx: Context, tests: list[cst.CompIf], body: Callable[[], None]) -> None:
    if not tests:
        body()
        return
    cond = condition(cx, tests[0].test)
    if isinstance(cond, Static):
        if cond.value:
            _tests(cx, tests[1:], body)
        return
    true, _ = refinements(cx, cond)

    def yes() -> AbsVal:
        narrow(cx.state, cx, true)
        _tests(cx, tests[1:], body)
        return NONE

    branch(cx, cond.operand, yes, lambda: NONE, "if", cx.span)


# Generators --------------------------------------------------------------------------------------


@contextmanager
def _frames(cx: Context, frames: list[Frame]) -> Iterator[None]:
    """Runs the body in other calls than the current ones."""
    saved, cx.frames = cx.frames, frames
    try:
        yield
    finally:
        cx.frames = saved


def consume(cx: Context, v: AbsVal, one: Callable[[AbsVal], None], site: Any) -> None:
    """Calls `one` on every item of an iterable, in order."""
    o = resolve(cx, v)
    if isinstance(o, Iter) and o.kind == "generator":
        pending: _Pending = o.extra
        ours = cx.frames

        def next_item() -> None:
            item = evaluate(cx, pending.node.elt)
            # What is done with the item happens in the function that consumes it.
            with _frames(cx, ours):
                one(item)

        with _frames(cx, [*ours, pending.frame]):
            _run(cx, pending.node.for_in, o.parts[0], next_item, site)
        return
    if isinstance(o, Iter) and o.kind == "filter":
        consume(cx, o.parts[0], lambda x: _filtered(cx, o.extra, x, one), site)
        return
    loop(cx, items_of(cx, v), one, None, site)


def _filtered(cx: Context, f: AbsVal, x: AbsVal, one: Callable[[AbsVal], None]) -> None:
    from torch2cpp.binding.calls import call

    keep = operators.truth(cx, x if isinstance(f, Static) and f.value is None else call(cx, f, [x], {}))
    if isinstance(keep, Static):
        if keep.value:
            one(x)
        return

    def yes() -> AbsVal:
        one(x)
        return NONE

    branch(cx, keep.operand, yes, lambda: NONE, "if", cx.span)


def generator_items(cx: Context, o: Iter) -> list[AbsVal] | None:
    """The items of a generator expression when their number is known."""
    listed = resolve(cx, collect(cx, o))
    return list(listed.elems) if isinstance(listed, ListObj) else None


def collect(cx: Context, v: AbsVal, site: Any = None) -> AbsVal:
    """`list(v)`"""
    site = (site or cx.site(None), "collect")
    target = new_list(cx, [], site)
    consume(cx, v, lambda x: list_append(cx, target, x), site)
    return target
