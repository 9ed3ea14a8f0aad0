"""Iteration: every iterable as a number of items and a way to get item i."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import torch

from torch2cpp.binding import operators, partial_dicts
from torch2cpp.binding.context import Context
from torch2cpp.binding.convert import NoType, describe, from_operand, resolve, to_operand, type_of
from torch2cpp.binding.generators import take
from torch2cpp.binding.kept_objects import is_kept
from torch2cpp.binding.literal_sets import as_made
from torch2cpp.binding.meta import DEFAULT_HINTS, hints_of
from torch2cpp.binding.optional import held_or_raise
from torch2cpp.binding.unlike import common_type
from torch2cpp.binding.values import (
    AbsVal,
    Array,
    DictObj,
    Host,
    InstanceObj,
    Iter,
    ListObj,
    PartialDict,
    RangeVal,
    Rt,
    Static,
    Sym,
    Tensor,
    Tup,
)
from torch2cpp.binding.widening import list_type
from torch2cpp.hostir.types import (
    INT,
    NEVER,
    STR,
    DictType,
    ListType,
    OptionalType,
    SetType,
    StructType,
    TupleType,
    Type,
)


@dataclass
class Items:
    """An iterable taken apart."""

    #: Number of items: static, or a host int.
    count: Static | Host
    get: Callable[[AbsVal], AbsVal]
    #: Whether the number of items is known and a loop over them may be unrolled.
    known: bool
    #: Whether it counts or walks data (a range, a tensor): then a loop stays a loop unless it cannot.
    prefers_loop: bool = False
    #: For a range: its bounds, to print the loop as one over them.
    range_: tuple[AbsVal, AbsVal, AbsVal] | None = None
    #: The list or dict that is walked, which the body may change.
    source: AbsVal = None
    #: Lists that are walked together or backwards, and what tells whether item i is still there.
    walked: tuple[AbsVal, ...] = ()
    more: Callable[[AbsVal], Static | Host] | None = None
    #: Dicts that are walked in another way, and must not change.
    fixed: tuple[AbsVal, ...] = ()
    #: The same items for a body that changes the source, where they differ.
    live: Callable[[], Items] | None = None
    #: For known items that are there or not: whether item i is.
    here: Callable[[int], Static | Host] | None = None
    #: Where the count is a run-time value but each item must be known: how many there are at most.
    most: int | None = None


def items_of(cx: Context, v: AbsVal) -> Items:
    """The items of any iterable. Refuses what is none."""
    o = resolve(cx, v)
    if isinstance(o, Rt) and isinstance(o.type, OptionalType):
        o = resolve(cx, held_or_raise(cx, o, TypeError, "'NoneType' object is not iterable"))
    t = operators.tensor_of(cx, o)
    if t is not None:
        return _tensor_items(cx, t)
    from torch2cpp.binding.comprehensions import iterator_of

    walked = iterator_of(cx, v)
    if walked is not v and walked is not o:
        return items_of(cx, walked)
    match o:
        case Array():
            from torch2cpp.binding.numpy_arrays import get_item as array_item

            whole = _tensor_items(cx, o.tensor)
            return replace(whole, get=lambda i: array_item(cx, o, i))
        case Static(value):
            return _static_items(cx, v, value)
        case Tup():
            return _known(list(o.elems))
        case ListObj():
            return replace(_known_list(cx, v, o), source=v)
        case DictObj():
            return replace(_known([Static(k) for k in o.items]), source=v)
        case PartialDict():
            return _partial_items(cx, v, o, "keys")
        case RangeVal():
            return _range_items(cx, o)
        case Iter():
            return _iter_items(cx, o)
        case Rt():
            return replace(_rt_items(cx, o), source=v)
        case Host() if o.type == STR:
            length = cx.scalar("str.len", o.operand)
            return Items(length, lambda i: cx.scalar("str.get", o.operand, operators.scalar_operand(cx, i)), False)
        case InstanceObj():
            return _instance_items(cx, v)
    cx.refuse("T2C164", f"iteration over {describe(cx, v)}", "iterate over lists, tuples, dicts, ranges or tensors")


def _known(elems: list[AbsVal]) -> Items:
    def get(i: AbsVal) -> AbsVal:
        assert isinstance(i, Static)
        return elems[i.value]

    return Items(Static(len(elems)), get, True)


def _known_list(cx: Context, v: AbsVal, o: ListObj) -> Items:
    """The items of a list of known length; the body of the loop may assign some before their turn."""

    def get(i: AbsVal) -> AbsVal:
        now = resolve(cx, v)
        assert isinstance(i, Static)
        elems = now.elems if isinstance(now, ListObj) and len(now.elems) == len(o.elems) else o.elems
        return elems[i.value]

    return Items(Static(len(o.elems)), get, True)


def _static_items(cx: Context, v: AbsVal, value: Any) -> Items:
    if isinstance(value, range):
        bounds = (Static(value.start), Static(value.stop), Static(value.step))
        n = len(value)

        def at(i: AbsVal) -> AbsVal:
            scaled = operators.binary(cx, "*", i, Static(value.step))
            return operators.binary(cx, "+", Static(value.start), scaled)

        return Items(Static(n), at, True, prefers_loop=True, range_=bounds)
    from torch2cpp.binding.model_state import state_of_static

    as_state = state_of_static(cx, value)
    if as_state is not None:
        return items_of(cx, as_state)
    if is_kept(cx, value) and call_has(cx, v, "__getitem__"):
        return _instance_items(cx, v)
    try:
        elems = list(as_made(value))
    except TypeError as e:
        if isinstance(value, torch.nn.Module) or hasattr(value, "__getitem__"):
            cx.refuse("T2C164", f"iteration over {describe(cx, v)}", "give it a list to iterate over")
        cx.raise_(TypeError, str(e))
    return _known([Static(x) for x in elems])


def _range_items(cx: Context, r: RangeVal) -> Items:
    count = _range_count(cx, r)

    def at(i: AbsVal) -> AbsVal:
        return operators.binary(cx, "+", r.start, operators.binary(cx, "*", i, r.step))

    return Items(count, at, False, prefers_loop=True, range_=(r.start, r.stop, r.step))


def _range_count(cx: Context, r: RangeVal) -> Host:
    """len(range(start, stop, step)) for a constant step."""
    if not isinstance(r.step, Static):
        listed = cx.host("list.range", *(operators.scalar_operand(cx, x) for x in (r.start, r.stop, r.step)))
        return cx.scalar("list.len", listed)
    s = r.step.value
    span = operators.binary(cx, "-", r.stop, r.start) if s > 0 else operators.binary(cx, "-", r.start, r.stop)
    up = operators.binary(cx, "+", span, Static(abs(s) - 1)) if abs(s) > 1 else span
    n = operators.binary(cx, "//", up, Static(abs(s))) if abs(s) > 1 else up
    n_host = n if isinstance(n, Host) else None
    if n_host is None:
        assert isinstance(n, Static)
        return Host(cx.host("max", n.value, 0).type, cx.host("max", n.value, 0), (max(0, n.value),) * 3)  # type: ignore[arg-type]
    out = cx.scalar("max", n_host.operand, 0)
    out.hints = tuple(max(0, h) for h in (n_host.hints or DEFAULT_HINTS))
    return out


def _tensor_items(cx: Context, t: Tensor) -> Items:
    from torch2cpp.binding.indexing import get_item

    if t.rank == 0:
        cx.raise_(TypeError, "iteration over a 0-d tensor")
    size = t.meta.dims[0]
    count: Static | Host = Static(size) if isinstance(size, int) else size_host(cx, t, 0)
    return Items(count, lambda i: get_item(cx, t, i), isinstance(size, int), prefers_loop=True)


def size_host(cx: Context, t: Tensor, dim: int) -> Host:
    """A varying size as a host int."""
    d = t.meta.dims[dim]
    assert isinstance(d, Sym)
    out = cx.scalar("tensor.size", t.operand, dim, label=f"{t.operand.name}_size{dim}".replace(".", "_"))
    out.hints, out.dim = d.hints, d
    return out


def length_of(cx: Context, o: Rt) -> Host:
    """`len` of a run-time list; that of an input is known in the sample worlds."""
    count = cx.scalar("list.len", o.operand)
    count.hints = cx.lengths.get(o.operand.id, count.hints)
    return count


def _rt_items(cx: Context, o: Rt) -> Items:
    match o.type:
        case ListType():
            elem = o.type.elem
            if elem == NEVER:
                return _known([])  # nothing was put in on any path
            count = length_of(cx, o)

            def get(i: AbsVal) -> AbsVal:
                value = cx.host("list.get", o.operand, operators.scalar_operand(cx, i), type_=elem, label="item")
                return from_operand(cx, value, elem, o.example)

            return Items(count, get, False)
        case DictType():
            keys = cx.host("dict.keys", o.operand, type_=ListType(o.type.key))
            return _rt_items(cx, Rt(keys, keys.type))
        case SetType():
            from torch2cpp.binding.set_methods import is_ordered, members_of

            if not is_ordered(cx, o.type.elem):
                cx.refuse("T2C165", "iteration over a set, whose order is not defined", "iterate over sorted(the set)")
            return _rt_items(cx, members_of(cx, o))
    from torch2cpp.binding import struct_dicts

    if call_has(cx, o, "__iter__") or call_has(cx, o, "__getitem__"):
        return _instance_items(cx, o)
    if struct_dicts.is_dict(cx, o):
        full = struct_dicts.whole(cx, o)
        return items_of(cx, full) if full is not o else _known([Static(k) for k in struct_dicts.keys(cx, o)])
    cx.refuse("T2C164", f"iteration over {describe(cx, o)}", "iterate over lists, dicts, ranges or tensors")


def _instance_items(cx: Context, v: AbsVal) -> Items:
    from torch2cpp.binding.calls import call_method_if_any

    count = call_method_if_any(cx, v, "__len__", [])
    if count is None or not call_has(cx, v, "__getitem__"):
        cx.refuse("T2C164", f"iteration over {describe(cx, v)}", "give the class __len__ and __getitem__")
    known = isinstance(count, Static)
    return Items(count, lambda i: call_method_if_any(cx, v, "__getitem__", [i]), known)


def call_has(cx: Context, v: AbsVal, name: str) -> bool:
    o = resolve(cx, v)
    if isinstance(o, Rt) and isinstance(o.type, StructType):
        key = cx.struct_key(o.type.name)
        return isinstance(key, type) and hasattr(key, name)
    if isinstance(o, Static):
        return is_kept(cx, o.value) and hasattr(type(o.value), name)
    return isinstance(o, InstanceObj) and hasattr(o.cls, name)


#: Iterables that are exhausted once they were walked.
_ONE_SHOT = {"enumerate", "zip", "reversed", "map", "unzip"}


def _iter_items(cx: Context, o: Iter) -> Items:
    from torch2cpp.binding.comprehensions import collect, is_lazy

    if is_lazy(o):
        return items_of(cx, collect(cx, o))
    if o.kind in _ONE_SHOT and not cx.peeking:
        take(cx, o)
    match o.kind:
        case "unordered":
            cx.refuse("T2C165", "iteration over a set, whose order is not defined", "iterate over sorted(the set)")
        case "list":
            return _known(list(o.parts))
        case "enumerate":
            inner = in_a_row(cx, o.parts[0])
            start = o.extra
            return _enumerated(cx, inner, start)
        case "zip":
            return _zip_items(cx, [in_a_row(cx, p) for p in o.parts])
        case "reversed":
            return _reversed_items(cx, in_a_row(cx, o.parts[0]))
        case "map":
            zipped = _zip_items(cx, [in_a_row(cx, p) for p in o.parts])
            return Items(
                zipped.count,
                lambda i: mapped(cx, o.extra, list(zipped.get(i).elems)),
                zipped.known,
                most=zipped.most,
                walked=zipped.walked,
                more=zipped.more,
                fixed=zipped.fixed,
            )
        case "dict_view":
            return _view_items(cx, o)
        case "choice_slice":
            return _choice_slice(cx, o)
        case "unzip":
            return _unzip_items(cx, o)
    cx.refuse("T2C164", f"iteration over a {o.kind}", "make it a list first")


def mapped(cx: Context, function: AbsVal, args: list[AbsVal]) -> AbsVal:
    """One item of `map(function, ...)`; what it makes is not what the expression around makes."""
    from torch2cpp.binding.calls import call

    with cx.at("map"):
        return call(cx, function, args, {})


def _enumerated(cx: Context, inner: Items, start: AbsVal) -> Items:
    live = inner.live
    return replace(
        inner,
        get=lambda i: Tup((operators.binary(cx, "+", i, start), inner.get(i))),
        range_=None,
        live=None if live is None else lambda: _enumerated(cx, live(), start),
    )


def _reversed_items(cx: Context, inner: Items) -> Items:
    last = operators.binary(cx, "-", inner.count, Static(1))
    walked, fixed = _sources(cx, inner)

    def more(i: AbsVal) -> Static | Host:
        at = operators.binary(cx, "-", last, i)
        return _both(cx, compared(cx, ">=", at, Static(0)), still_there(cx, inner, at))

    return Items(
        inner.count,
        lambda i: inner.get(operators.binary(cx, "-", last, i)),
        inner.known,
        inner.prefers_loop,
        walked=walked,
        more=more,
        fixed=fixed,
    )


def _sources(cx: Context, items: Items) -> tuple[tuple[AbsVal, ...], tuple[AbsVal, ...]]:
    """The lists that items come from, and the dicts."""
    if items.source is None:
        return items.walked, items.fixed
    o = resolve(cx, items.source)
    if isinstance(o, Rt) and not isinstance(o.type, ListType):
        return items.walked, (*items.fixed, items.source)
    return (*items.walked, items.source), items.fixed


def compared(cx: Context, sign: str, a: AbsVal, b: AbsVal) -> Static | Host:
    """`a <sign> b` of ints."""
    out: Static | Host = operators.truth(cx, operators.compare(cx, sign, a, b))
    return out


def _both(cx: Context, a: Static | Host, b: Static | Host) -> Static | Host:
    for one, other in ((a, b), (b, a)):
        if isinstance(one, Static):
            return other if one.value else one
    return cx.scalar("and", operators.scalar_operand(cx, a), operators.scalar_operand(cx, b))


def still_there(cx: Context, items: Items, i: AbsVal) -> Static | Host:
    """Whether item i is there now, where the container may have changed meanwhile."""
    if items.more is not None:
        return items.more(i)
    o = resolve(cx, items.source) if items.source is not None else None
    if isinstance(o, Rt) and isinstance(o.type, ListType):
        return compared(cx, "<", i, cx.scalar("list.len", o.operand))
    return compared(cx, "<", i, items.count)


def _view_items(cx: Context, o: Iter) -> Items:
    """`keys()`, `values()` or `items()` of a dict, as they are now."""
    from torch2cpp.binding.dict_views import snapshot

    ref, kind = o.parts[0], o.extra
    d = resolve(cx, ref)
    if isinstance(d, PartialDict):
        return _partial_items(cx, ref, d, kind)
    if not (isinstance(d, Rt) and isinstance(d.type, DictType)):
        return _known_view(cx, o)
    listed = snapshot(cx, o)
    if not isinstance(listed, Rt):
        return replace(items_of(cx, listed), source=ref)  # nothing was put in on any path
    return replace(_rt_items(cx, listed), source=ref, live=lambda: _live_entries(cx, ref, d, kind))


def _known_view(cx: Context, o: Iter) -> Items:
    """The entries for known keys, each value read when its turn comes: the body of the loop may assign some."""
    from torch2cpp.binding.dict_views import entry, known_keys

    ref, kind = o.parts[0], o.extra
    keys = known_keys(cx, resolve(cx, ref))

    def get(i: AbsVal) -> AbsVal:
        assert isinstance(i, Static)
        now = resolve(cx, ref)
        if known_keys(cx, now) != keys:
            cx.refuse("T2C164", "a dict whose keys the loop over it changes", "loop over list(d.items())")
        return entry(cx, now, keys[i.value], kind)

    return Items(Static(len(keys)), get, True, source=ref)


def _partial_items(cx: Context, ref: AbsVal, o: PartialDict, kind: str) -> Items:
    """The entries of a dict some of whose keys may be missing: those are skipped."""
    keys = list(o.items)

    def value(i: int) -> AbsVal:
        now = resolve(cx, ref)
        if partial_dicts.known_keys(now) != keys:
            cx.refuse("T2C164", "a dict whose keys the loop over it changes", "loop over list(d.items())")
        return now.items[keys[i]]

    def get(i: AbsVal) -> AbsVal:
        assert isinstance(i, Static)
        value(i.value)
        return partial_dicts.entry(cx, ref, keys[i.value], kind)

    def here(i: int) -> Static | Host:
        return partial_dicts.presence(cx, value(i))

    return Items(Static(len(keys)), get, True, source=ref, here=here)


def in_a_row(cx: Context, v: AbsVal) -> Items:
    """The items, those that may be missing left out: as a list, where there are such."""
    items = items_of(cx, v)
    if items.here is None:
        return items
    from torch2cpp.binding.comprehensions import collect

    return items_of(cx, collect(cx, v))


def _live_entries(cx: Context, ref: AbsVal, d: Rt, kind: str) -> Items:
    """The same, each value read when its turn comes: the loop assigns some."""
    from torch2cpp.binding.dict_views import entry_now, snapshot, view

    keys = snapshot(cx, view(ref, "keys"))
    assert isinstance(keys, Rt)
    count = cx.scalar("list.len", keys.operand)
    return Items(count, lambda i: entry_now(cx, d, keys, operators.scalar_operand(cx, i), kind), False, source=ref)


def _choice_slice(cx: Context, o: Iter) -> Items:
    """modules[a:b:c] with run-time bounds: a run-time list of indices into the modules."""
    count = cx.scalar("list.len", o.extra)

    def get(i: AbsVal) -> AbsVal:
        index = cx.scalar("list.get", o.extra, operators.scalar_operand(cx, i))
        return Iter("choice", o.parts, index)

    return Items(count, get, False)


def _unzip_items(cx: Context, o: Iter) -> Items:
    """zip(*pairs) of a run-time list of tuples: as many lists as a tuple has elements, none if it is empty."""
    from torch2cpp.binding.for_loops import loop
    from torch2cpp.binding.items import get_item

    rows = resolve(cx, o.parts[0])
    assert isinstance(rows, Rt) and isinstance(rows.type, ListType) and isinstance(rows.type.elem, TupleType)
    width = len(rows.type.elem.elems)
    empty = cx.host("eq", cx.host("list.len", rows.operand), 0)
    count = cx.scalar("select", empty, 0, width, type_=INT)
    count.hints = (width,) * 3

    def get(i: AbsVal) -> AbsVal:
        from torch2cpp.binding.container_methods import list_append
        from torch2cpp.binding.containers import new_list

        assert isinstance(i, Static)
        site = (cx.site(None), "unzip", i.value)
        column = new_list(cx, [], site)
        loop(cx, items_of(cx, rows), lambda row: list_append(cx, column, get_item(cx, row, i)), None, site)
        return column

    return Items(count, get, False)


def _least(cx: Context, counts: list[Static | Host]) -> Static | Host:
    static = [c.value for c in counts if isinstance(c, Static)]
    hosts = [c for c in counts if isinstance(c, Host)]
    if not hosts:
        return Static(min(static, default=0))
    out = hosts[0]
    for c in [*hosts[1:], *([Static(min(static))] if static else [])]:
        smaller = cx.scalar("min", out.operand, operators.scalar_operand(cx, c))
        pairs = zip(out.hints or DEFAULT_HINTS, hints_of(c) or DEFAULT_HINTS)
        smaller.hints = tuple(min(a, b) for a, b in pairs)
        out = smaller
    return out


def _zip_items(cx: Context, parts: list[Items]) -> Items:
    if any(isinstance(p.count, Static) and p.count.value == 0 for p in parts):
        return _known([])
    count = _least(cx, [p.count for p in parts])
    known = all(p.known for p in parts)
    sources = [_sources(cx, p) for p in parts]
    most = None
    if not known:
        listed = [at_run_time(cx, p, (cx.site(None), "zip", i)) for i, p in enumerate(parts)]
        if None in listed:
            # Items that must be known, such as modules: unrolled, and guarded by the count.
            most = min(p.count.value for p in parts if isinstance(p.count, Static))
        else:
            parts = [p for p in listed if p is not None]

    def more(i: AbsVal) -> Static | Host:
        out: Static | Host = Static(True)
        for p in parts:
            out = _both(cx, out, still_there(cx, p, i))
        return out

    return Items(
        count,
        lambda i: Tup(tuple(p.get(i) for p in parts)),
        known,
        all(p.prefers_loop for p in parts),
        walked=tuple(x for walked, _ in sources for x in walked),
        more=more,
        fixed=tuple(x for _, fixed in sources for x in fixed),
        most=most,
    )


def at_run_time(cx: Context, part: Items, site: Any) -> Items | None:
    """The same items for a run-time index; None where they can be no run-time list."""
    from torch2cpp.binding.containers import make_run_time, new_list

    if not part.known or part.prefers_loop or not isinstance(part.count, Static):
        return part
    made = new_list(cx, [part.get(Static(i)) for i in range(part.count.value)], site)
    obj = resolve(cx, made)
    if isinstance(obj, ListObj):
        try:
            if list_type(cx, cx.state, obj) is None:
                return None
        except NoType:
            return None
        make_run_time(cx, made)
    return items_of(cx, made)


def known_items(cx: Context, v: AbsVal) -> list[AbsVal] | None:
    """All items of an iterable whose length is known; None otherwise."""
    o = resolve(cx, v)
    from torch2cpp.binding.comprehensions import is_lazy, lazy_items

    if is_lazy(o):
        return lazy_items(cx, o)
    if isinstance(o, Rt | RangeVal) or (isinstance(o, Host) and o.type == STR):
        return None
    peeking, cx.peeking = cx.peeking, True
    try:
        items = items_of(cx, v)
    finally:
        cx.peeking = peeking
    if not items.known or not isinstance(items.count, Static) or items.here is not None:
        return None
    if isinstance(o, Iter) and o.kind in _ONE_SHOT and not cx.peeking:
        take(cx, o)
    return [items.get(Static(i)) for i in range(items.count.value)]


def to_run_time_list(cx: Context, v: AbsVal) -> Rt:
    """Any iterable as a new run-time list."""
    elems = known_items(cx, v)
    if elems is not None:
        elem: Type | None = NEVER
        for e in elems:
            try:
                elem = common_type(cx, elem, type_of(cx, e)) if elem is not None else None
            except NoType:
                elem = None
        if elem is None:
            cx.refuse("T2C110", f"{describe(cx, v)} as a run-time list", "use values of one type")
        t = ListType(elem)
        value = cx.host("list.new", *(to_operand(cx, e, elem) for e in elems), type_=t, label="list")
        return Rt(value, t, example=elems[0] if elems else None)
    from torch2cpp.binding.comprehensions import collect

    out = resolve(cx, collect(cx, v))
    assert isinstance(out, Rt)
    return out
