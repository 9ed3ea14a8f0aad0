"""Comprehensions and generator expressions, and collecting any iterable into a list."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import libcst as cst

from torch2cpp.binding import operators
from torch2cpp.binding.choices import distribute
from torch2cpp.binding.container_methods import list_append
from torch2cpp.binding.containers import new_dict, new_list
from torch2cpp.binding.context import Context, Frame, Label
from torch2cpp.binding.control import branch, labelled
from torch2cpp.binding.convert import resolve
from torch2cpp.binding.expressions import condition, evaluate
from torch2cpp.binding.for_loops import loop
from torch2cpp.binding.generators import GeneratorCall, in_frames, run_generator, take
from torch2cpp.binding.item_writes import set_item
from torch2cpp.binding.iteration import Items, at_run_time, items_of
from torch2cpp.binding.kept_objects import is_kept, walks_itself
from torch2cpp.binding.option_iterators import is_open, settle
from torch2cpp.binding.optional import narrow, refinements
from torch2cpp.binding.stand_ins import has_stand_in, stand_in
from torch2cpp.binding.values import NONE, AbsVal, Choice, InstanceObj, Iter, ListObj, Rt, ScopeObj, Static, Tup
from torch2cpp.binding.variables import set_name, stored_in
from torch2cpp.hostir.types import StructType

#: A comprehension over at most this many known items is unrolled.
MAX_UNROLLED_ITEMS = 32


def comprehension(cx: Context, node: Any) -> AbsVal:
    """`[...]`, `{...}`, `{k: v ...}` or a generator expression."""
    if isinstance(node, cst.GeneratorExp):
        first = evaluate(cx, node.for_in.iter)
        return Iter("generator", (first,), _Pending(node, cx.frame, cx.span), born=cx.stamp())
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
        comprehension=True,
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

    if isinstance(source, Choice) or is_open(source):
        numbers = itertools.count()

        def option(it: AbsVal) -> AbsVal:
            _clause(cx, clause, it, body, (key, "option", next(numbers)))
            return NONE

        if isinstance(source, Choice):
            distribute(cx, source, option)
        else:
            settle(cx, source, option)
        return
    source = iterator_of(cx, source)
    if is_lazy(source):
        consume(cx, source, one, (key, cx.site(clause)))
        return
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


def consume(cx: Context, v: AbsVal, one: Callable[[AbsVal], None], site: Any) -> None:
    """Calls `one` on every item of an iterable, in order; items that are computed lazily come one by one."""
    o = iterator_of(cx, v)
    if not is_lazy(o):
        loop(cx, items_of(cx, o), one, None, site)
    elif o.collected is not None:
        consume(cx, o.collected, one, site)
    elif o.kind == "iterator":
        _from_its_place(cx, o, one, site)
    else:
        take(cx, o)
        _lazily(cx, o, one, site)


def _from_its_place(cx: Context, o: Iter, one: Callable[[AbsVal], None], site: Any) -> None:
    """The items that `next()` has left, each taken as it is asked for."""
    from torch2cpp.binding.builtin_iterators import next_item
    from torch2cpp.binding.loops import LoopPlan, run_loop

    items = items_of(cx, o.parts[0])
    if items.known and isinstance(items.count, Static):
        count: int = items.count.value

        def rest(out: Label) -> AbsVal:
            for i in range(count):
                with cx.at(("item", i)):
                    one(next_item(cx, o, out))
            return NONE

        labelled(cx, "rest", rest, cx.span)
        return
    with cx.label("exhausted") as exhausted, cx.label("continue") as continue_label:

        def body(_: Any) -> None:
            one(next_item(cx, o, exhausted))

        plan = LoopPlan(site, cx.span, None, body, exhausted, continue_label, False, False, (0, 1, 2), frozenset())
        run_loop(cx, plan)


def iterator_of(cx: Context, v: AbsVal) -> AbsVal:
    """What `iter(v)` walks: for an object of a user class, what its `__iter__` gives."""
    from torch2cpp.binding.calls import call_method_if_any, call_python, find_method
    from torch2cpp.binding.in_python import iterators
    from torch2cpp.binding.objects import python_class

    v = stand_in(cx, v.value) if isinstance(v, Static) and has_stand_in(v.value) else v
    o = resolve(cx, v)
    if not _is_object(cx, o):
        return o if isinstance(o, Iter) else v
    given = v
    if find_method(cx, v, "__iter__") is not None:
        given = call_method_if_any(cx, v, "__iter__", [])
        if isinstance(given, Iter):
            return given
    if find_method(cx, given, "__next__") is not None:
        return call_python(cx, iterators.by_next, [given], {})  # type: ignore[arg-type]
    if given is not v:
        name = getattr(python_class(cx, given), "__name__", "object")
        cx.raise_(TypeError, f"iter() returned non-iterator of type '{name}'")
    return v


def _is_object(cx: Context, o: AbsVal) -> bool:
    if isinstance(o, Static):
        return is_kept(cx, o.value) or walks_itself(o.value)
    return isinstance(o, InstanceObj) or (isinstance(o, Rt) and isinstance(o.type, StructType))


def is_lazy(o: AbsVal) -> bool:
    """Whether an iterable has no item i: its items are computed one after the other."""
    if not isinstance(o, Iter):
        return False
    around = o.kind in ("enumerate", "zip", "map") and any(map(is_lazy, o.parts))
    return around or o.kind in ("generator", "filter", "iterator")


def _lazily(cx: Context, o: Iter, one: Callable[[AbsVal], None], site: Any) -> None:
    from torch2cpp.binding.calls import call

    match o.kind:
        case "generator" if isinstance(o.extra, GeneratorCall):
            run_generator(cx, o.extra, one)
        case "generator":
            _run_expression(cx, o, one, site)
        case "filter":
            consume(cx, o.parts[0], lambda x: _filtered(cx, o.extra, x, one), site)
        case "map" if len(o.parts) == 1:
            from torch2cpp.binding.iteration import mapped

            consume(cx, o.parts[0], lambda x: one(mapped(cx, o.extra, [x])), site)
        case "map":
            _zipped(cx, o.parts, lambda t: one(call(cx, o.extra, list(t.elems), {})), site)
        case "zip":
            _zipped(cx, o.parts, one, site)
        case _:
            place = Counter(cx)
            consume(cx, o.parts[0], lambda x: one(Tup((operators.binary(cx, "+", place.next(), o.extra), x))), site)


def _run_expression(cx: Context, o: Iter, one: Callable[[AbsVal], None], site: Any) -> None:
    pending: _Pending = o.extra
    ours = cx.frames

    def next_item() -> None:
        item = evaluate(cx, pending.node.elt)
        # What is done with the item happens in the function that consumes it.
        with in_frames(cx, ours):
            one(item)

    with in_frames(cx, [*ours, pending.frame]):
        _run(cx, pending.node.for_in, o.parts[0], next_item, site)


class Counter:
    """A count that loops carry: 0, 1, 2, ..."""

    def __init__(self, cx: Context) -> None:
        self.cx = cx
        self.scope = cx.new_scope({"count": Static(0)}, cx.frame.scope)

    def next(self) -> AbsVal:
        """The number whose turn it is."""
        scope = self.cx.state.heap[self.scope]
        assert isinstance(scope, ScopeObj)
        now = scope.names["count"]
        set_name(self.cx, self.scope, "count", operators.binary(self.cx, "+", now, Static(1)))
        return now


def _by_number(cx: Context, v: AbsVal, site: Any) -> Items:
    """The items of a list that goes along with a lazy iterable: a run-time number asks for them."""
    items = items_of(cx, v)
    return at_run_time(cx, items, (site, "along")) or items


def _zipped(cx: Context, parts: tuple[AbsVal, ...], one: Callable[[AbsVal], None], site: Any) -> None:
    """zip of one lazy iterable with lists: they end it before or after the lazy one is asked, as they stand."""
    from torch2cpp.binding.builtin_iterators import next_item

    walked = [isinstance(p, Iter) and p.kind == "iterator" for p in parts]
    generators = [i for i, p in enumerate(parts) if is_lazy(p) and not walked[i]]
    if len(generators) > 1 or (generators and any(walked[: generators[0]])):
        cx.refuse("T2C206", "zip() of two generators", "make one of them a list")
    at = generators[0] if generators else walked.index(True)
    others = [None if i == at or walked[i] else _by_number(cx, p, (site, i)) for i, p in enumerate(parts)]
    place = Counter(cx)

    def whole(out: Label) -> AbsVal:
        def stop_at(n: AbsVal, among: list[Any]) -> None:
            for items in filter(None, among):
                ended = operators.truth(cx, operators.compare(cx, ">=", n, items.count))
                if isinstance(ended, Static):
                    if ended.value:
                        cx.leave(out, NONE)
                else:
                    branch(cx, ended.operand, lambda: cx.leave(out, NONE), lambda: NONE, "ended", cx.span)

        def item(x: AbsVal) -> None:
            n = place.next()
            given = []
            for i, items in enumerate(others):
                if i > at:
                    stop_at(n, [items])
                if items is not None:
                    given.append(items.get(n))
                else:
                    given.append(x if i == at else next_item(cx, parts[i], out))
            one(Tup(tuple(given)))
            stop_at(operators.binary(cx, "+", n, Static(1)), others[:at])

        stop_at(Static(0), others[:at])
        consume(cx, parts[at], item, site)
        return NONE

    labelled(cx, "zip", whole, cx.span)


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


def lazy_items(cx: Context, o: Iter) -> list[AbsVal] | None:
    """The items of a lazy iterable when their number is known; otherwise it is a list from now on."""
    if o.collected is None:
        cx.iterators.append((o, o.uses, None))
        o.collected = collect(cx, o)
    listed = resolve(cx, o.collected)
    return list(listed.elems) if isinstance(listed, ListObj) else None


def collect(cx: Context, v: AbsVal, site: Any = None) -> AbsVal:
    """`list(v)`"""
    if isinstance(v, Iter) and v.collected is not None:
        return v.collected
    site = (site or cx.site(None), "collect")
    target = new_list(cx, [], site)
    consume(cx, v, lambda x: list_append(cx, target, x), site)
    return target
