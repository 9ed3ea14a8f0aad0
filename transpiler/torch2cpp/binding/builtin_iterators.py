"""`itertools`, `functools.reduce`, `iter` and `next`."""

from __future__ import annotations

import functools
import itertools
import operator
from typing import Any

from torch2cpp.binding import operators
from torch2cpp.binding.builtin_table import TABLE, Handler, builtin
from torch2cpp.binding.context import Context, Label
from torch2cpp.binding.control import labelled
from torch2cpp.binding.convert import describe, resolve
from torch2cpp.binding.in_python import iterators
from torch2cpp.binding.stand_ins import stand_in
from torch2cpp.binding.values import NONE, AbsVal, Host, Iter, ScopeObj, StarRest, Static

Args = list[AbsVal]
Kwargs = dict[str, AbsVal]


def _body(cx: Context, body: Any, args: Args, kwargs: Kwargs) -> AbsVal:
    from torch2cpp.binding.calls import call_python

    return call_python(cx, body, args, kwargs)


def _plain(body: Any) -> Handler:
    return lambda cx, args, kwargs: _body(cx, body, args, kwargs)


for _name in ("chain", "takewhile", "dropwhile", "filterfalse", "compress", "starmap", "pairwise"):
    TABLE[getattr(itertools, _name)] = _plain(getattr(iterators, _name))
TABLE[itertools.chain.from_iterable] = _plain(iterators.chain_from_iterable)


@builtin(itertools.count, static=False)
def _count(cx: Context, args: Args, kwargs: Kwargs) -> AbsVal:
    from torch2cpp.binding.objects import instantiate

    return instantiate(cx, iterators.Count, args, kwargs)


@builtin(itertools.islice, static=False)
def _islice(cx: Context, args: Args, kwargs: Kwargs) -> AbsVal:
    if len(args) == 2 and not _is_none(args[1]):
        return _body(cx, iterators.islice_to, args, {})
    start, stop, step = [NONE, args[1], NONE] if len(args) == 2 else [*args[1:], NONE][:3]
    start = Static(0) if _is_none(start) else start
    step = Static(1) if _is_none(step) else step
    if _is_none(stop):
        return _body(cx, iterators.islice_from, [args[0], start, step], {})
    return _body(cx, iterators.islice, [args[0], start, stop, step], {})


def _is_none(v: AbsVal) -> bool:
    return isinstance(v, Static) and v.value is None


@builtin(itertools.zip_longest, static=False)
def _zip_longest(cx: Context, args: Args, kwargs: Kwargs) -> AbsVal:
    if len(args) != 2 or any(isinstance(a, StarRest) for a in args):
        cx.refuse("T2C200", f"zip_longest() of {len(args)} iterables", "zip two, or index the lists")
    return _body(cx, iterators.zip_longest_of_two, [*args, kwargs.get("fillvalue", NONE)], {})


@builtin(itertools.groupby, static=False)
def _groupby(cx: Context, args: Args, kwargs: Kwargs) -> AbsVal:
    key = args[1] if len(args) > 1 else kwargs.get("key", NONE)
    if isinstance(key, Static) and key.value is None:
        return _body(cx, iterators.groupby_itself, args[:1], {})
    return _body(cx, iterators.groupby, [args[0], key], {})


@builtin(itertools.repeat, static=False)
def _repeat(cx: Context, args: Args, kwargs: Kwargs) -> AbsVal:
    many = [*args[1:], *kwargs.values()]
    return _body(cx, iterators.repeat if many else iterators.repeat_forever, [args[0], *many], {})


@builtin(itertools.accumulate, static=False)
def _accumulate(cx: Context, args: Args, kwargs: Kwargs) -> AbsVal:
    function = args[1] if len(args) > 1 else kwargs.get("func", NONE)
    if isinstance(function, Static) and function.value is None:
        function = Static(operator.add)
    initial = kwargs.get("initial", NONE)
    if isinstance(initial, Static) and initial.value is None:
        return _body(cx, iterators.accumulate, [args[0], function], {})
    return _body(cx, iterators.accumulate_from, [args[0], function, initial], {})


@builtin(functools.reduce, static=False)
def _reduce(cx: Context, args: Args, kwargs: Kwargs) -> AbsVal:
    return _body(cx, iterators.reduce if len(args) == 2 else iterators.reduce_from, args, {})


# iter and next ------------------------------------------------------------------------------------


@builtin(iter, static=False)
def _iter(cx: Context, args: Args, kwargs: Kwargs) -> AbsVal:
    """An iterator: lazy ones are their own; over what has items by number, it is a place in it."""
    from torch2cpp.binding.comprehensions import is_lazy, iterator_of
    from torch2cpp.binding.dict_views import snapshot

    if len(args) != 1:
        cx.refuse("T2C200", "iter() with a sentinel", "write a while loop")
    given = iterator_of(cx, args[0])
    if is_lazy(given) or (isinstance(given, Iter) and given.kind == "iterator"):
        return given
    if isinstance(given, Iter) and given.kind in ("enumerate", "zip", "map", "reversed"):
        return given
    place = cx.new_scope({"at": Static(0)}, None)
    return Iter("iterator", (snapshot(cx, given),), place)


def next_item(cx: Context, it: Iter, end: Label) -> AbsVal:
    """The next item of an iterator over what has items by number; leaves `end` when there is none."""
    from torch2cpp.binding.containers import make_run_time
    from torch2cpp.binding.control import branch
    from torch2cpp.binding.iteration import at_run_time, items_of

    place = it.extra
    items = items_of(cx, it.parts[0])
    scope = cx.state.heap[place]
    assert isinstance(scope, ScopeObj)
    at = scope.names["at"]
    if isinstance(at, Host) and items.known:
        make_run_time(cx, it.parts[0])
        listed = at_run_time(cx, items, (cx.site(None), "iterator"))
        if listed is None:
            cx.refuse("T2C206", f"an iterator over {describe(cx, it.parts[0])} in a loop", "index the list instead")
        items = listed
    over = operators.truth(cx, operators.compare(cx, ">=", at, items.count))
    if isinstance(over, Host):
        branch(cx, over.operand, lambda: cx.leave(end, NONE), lambda: NONE, "exhausted", cx.span)
    elif over.value:
        cx.leave(end, NONE)
    from torch2cpp.binding.variables import set_name

    set_name(cx, place, "at", operators.binary(cx, "+", at, Static(1)))
    return items.get(at)


@builtin(next, static=False)
def _next(cx: Context, args: Args, kwargs: Kwargs) -> AbsVal:
    from torch2cpp.binding.calls import call, call_python, find_method
    from torch2cpp.binding.comprehensions import consume
    from torch2cpp.binding.in_python import iterators

    it, site = args[0], cx.site(None)
    it = stand_in(cx, it.value) if isinstance(it, Static) else it
    own = find_method(cx, it, "__next__")
    if own is not None and len(args) == 1:
        return call(cx, own, [], {})
    if own is not None:
        return call_python(cx, iterators.next_or, args, {})  # type: ignore[arg-type]
    o = resolve(cx, it)
    if not isinstance(o, Iter) or o.kind in ("list", "dict_view"):
        cx.refuse("T2C206", f"next() of {describe(cx, it)}", "use next(iter(xs)) or an index")

    def found(out: Label) -> AbsVal:
        def exhausted(end: Label) -> AbsVal:
            if o.kind == "iterator":
                cx.leave(out, next_item(cx, o, end))
            consume(cx, o, lambda x: cx.leave(out, x), (site, "next"))
            return NONE

        labelled(cx, "next", exhausted, cx.span)
        if len(args) == 1:
            cx.raise_(StopIteration, "")
        return args[1]

    return labelled(cx, "found", found, cx.span)
