"""`sum`, `min`, `max`, `any` and `all` over any iterable.

Items whose number is known are folded one by one; a run-time list is folded in a loop, or by one
operation where its elements are scalars. Any other iterable is made a list first, except for
`any` and `all`, which stop early as in Python.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from torch2cpp.binding import operators
from torch2cpp.binding.context import Context, Label
from torch2cpp.binding.control import branch, labelled
from torch2cpp.binding.convert import describe, from_operand, is_scalar, resolve, type_of
from torch2cpp.binding.dict_views import snapshot
from torch2cpp.binding.list_methods import raise_if
from torch2cpp.binding.sorting import sortable
from torch2cpp.binding.values import NONE, AbsVal, Host, Iter, ListObj, Rt, ScopeObj, Static, Tensor, Tup
from torch2cpp.binding.variables import set_name, use
from torch2cpp.hostir.types import BOOL, FLOAT, INT, NEVER, DictType, ListType, ScalarType, SetType

_ZERO = Static(0)
#: Tensors with more rows than this are walked in a loop.
_FEW = 16


def reduce_items(
    cx: Context,
    iterable: AbsVal,
    kind: str,
    key: AbsVal | None = None,
    default: AbsVal | None = None,
    start: AbsVal = _ZERO,
) -> AbsVal:
    """`sum(iterable, start)`, `min(iterable, key=, default=)`, `max`, `any` or `all`, by name."""
    o = iterable
    listed = isinstance(o, Iter) and o.kind == "unordered" and isinstance(o.parts[0].type, ListType)
    elem = o.parts[0].type.elem if listed else None
    if listed and (key is not None or (kind == "sum" and elem not in (INT, BOOL))):
        cx.refuse("T2C239", f"the {kind} of a set, whose order is not defined", f"{kind}(sorted(the set))")
    iterable = snapshot(cx, iterable, any_order=True)
    if kind == "sum":
        return _sum(cx, iterable, start)
    if kind in ("any", "all"):
        return _any_or_all(cx, iterable, kind)
    if isinstance(key, Static) and key.value is None:
        key = None
    return _extreme(cx, iterable, kind, key, default)


def _listed(cx: Context, iterable: AbsVal) -> list[AbsVal] | Rt:
    """The items: all of them where their number is known, else a run-time list."""
    from torch2cpp.binding.comprehensions import collect, is_lazy
    from torch2cpp.binding.iteration import known_items

    o = resolve(cx, iterable)
    if isinstance(o, Rt) and isinstance(o.type, ListType):
        return o
    if isinstance(o, Rt) and isinstance(o.type, SetType):
        from torch2cpp.binding.set_methods import members_of

        return members_of(cx, o)
    if isinstance(o, Rt) and isinstance(o.type, DictType):
        keys = cx.host("dict.keys", o.operand, type_=ListType(o.type.key), label="keys")
        return Rt(keys, keys.type)
    if isinstance(o, Static) and isinstance(o.value, range):
        return [Static(i) for i in o.value]
    t = operators.tensor_of(cx, o)
    many = t is not None and t.rank > 0 and isinstance(t.meta.dims[0], int) and t.meta.dims[0] > _FEW
    if not many and not is_lazy(o) and not (isinstance(o, Iter) and o.kind == "map"):
        items = known_items(cx, iterable)
        if items is not None:
            return items
    listed = resolve(cx, collect(cx, iterable))
    if isinstance(listed, ListObj):
        return list(listed.elems)
    assert isinstance(listed, Rt)
    return listed


class _Accumulator:
    """Variables of a fold: they live in a scope of their own, so that loops carry them."""

    def __init__(self, cx: Context, values: dict[str, AbsVal]) -> None:
        self.cx = cx
        self.scope = cx.new_scope({}, cx.frame.scope)
        self.put(**values)

    def __getitem__(self, name: str) -> AbsVal:
        scope = self.cx.state.heap[self.scope]
        assert isinstance(scope, ScopeObj)
        return use(self.cx, scope.names[name])

    def put(self, **values: AbsVal) -> None:
        for name, v in values.items():
            set_name(self.cx, self.scope, name, v)


def _element(cx: Context, rt: Rt, index: AbsVal) -> AbsVal:
    assert isinstance(rt.type, ListType)
    operand = operators.scalar_operand(cx, index)
    value = cx.host("list.get", rt.operand, operand, type_=rt.type.elem, label="item")
    return from_operand(cx, value, rt.type.elem, rt.example)


def _each(cx: Context, rt: Rt, begin: int, one: Callable[[AbsVal], None]) -> None:
    """A loop over the elements of a run-time list, from one index on."""
    from torch2cpp.binding.for_loops import loop
    from torch2cpp.binding.iteration import Items

    count = cx.scalar("list.len", rt.operand, label="count")
    items = Items(count, lambda i: i, False, True, (Static(begin), count, Static(1)))
    loop(cx, items, lambda i: one(_element(cx, rt, i)), None, (cx.site(None), "reduce"))


def _is_empty(cx: Context, rt: Rt) -> Host:
    return cx.scalar("eq", cx.host("list.len", rt.operand), 0, label="empty")


# sum ----------------------------------------------------------------------------------------------


def _sum(cx: Context, iterable: AbsVal, start: AbsVal) -> AbsVal:
    o = resolve(cx, iterable)
    if isinstance(o, Rt) and isinstance(o.type, SetType) and o.type.elem not in (INT, BOOL):
        cx.refuse("T2C239", "the sum of a set, whose order is not defined", "sum(sorted(the set))")
    items = _listed(cx, iterable)
    if isinstance(items, list):
        total = start
        for item in items:
            total = _plus(cx, total, item)
        return total
    assert isinstance(items.type, ListType)
    elem = items.type.elem
    if elem == NEVER:
        return start
    whole = isinstance(start, Static) and type(start.value) is int
    if elem in (INT, BOOL) and is_scalar(start) and type_of(cx, start) == INT:
        return _plus(cx, start, cx.scalar("list.sum", items.operand, label="total"))
    if not whole:
        return _fold_sum(cx, items, start)
    # The sum of nothing is the int itself, whatever the elements are.
    added = _sum_of_floats if elem == FLOAT and start.value == 0 else _sum_from_int
    return use(
        cx, branch(cx, _is_empty(cx, items).operand, lambda: start, lambda: added(cx, items, start), "sum", cx.span)
    )


def _sum_of_floats(cx: Context, rt: Rt, start: AbsVal) -> AbsVal:
    return cx.scalar("list.sum", rt.operand, label="total")


def _sum_from_int(cx: Context, rt: Rt, start: AbsVal) -> AbsVal:
    """Of a list that is not empty: the first addition comes before the loop, it gives the total its type."""
    first = operators.binary(cx, "+", start, _element(cx, rt, _ZERO))
    return _fold_sum(cx, rt, first, begin=1)


def _plus(cx: Context, total: AbsVal, item: AbsVal) -> AbsVal:
    if isinstance(total, Static) and type(total.value) is int and total.value == 0:
        if isinstance(item, Host) and item.type == INT:
            return item
    return operators.binary(cx, "+", total, item)


def _fold_sum(cx: Context, rt: Rt, start: AbsVal, begin: int = 0) -> AbsVal:
    """Adds up in a loop."""
    total = _Accumulator(cx, {"total": start})
    _each(cx, rt, begin, lambda x: total.put(total=operators.binary(cx, "+", total["total"], x)))
    return total["total"]


# any and all --------------------------------------------------------------------------------------


def _any_or_all(cx: Context, iterable: AbsVal, kind: str) -> AbsVal:
    from torch2cpp.binding.aten import elements

    o = resolve(cx, iterable)
    if isinstance(o, Rt) and isinstance(o.type, SetType | DictType):
        o = iterable = _rt_of(_listed(cx, iterable))
    if isinstance(o, Rt) and isinstance(o.type, ListType) and isinstance(o.type.elem, ScalarType):
        return cx.scalar(f"list.{kind}", o.operand)
    elems = list(o.parts) if isinstance(o, Iter) and o.kind == "list" else elements(cx, iterable)
    if elems is not None and all(map(is_scalar, elems)):
        return _of_scalars(cx, elems, kind)
    return _until_decided(cx, iterable, kind == "any")


def _rt_of(items: list[AbsVal] | Rt) -> Rt:
    assert isinstance(items, Rt)
    return items


def _of_scalars(cx: Context, elems: list[AbsVal], kind: str) -> AbsVal:
    """Scalars that are computed already: no branches."""
    decides = kind == "any"
    out: Host | None = None
    for e in elems:
        t = operators.truth(cx, e)
        if isinstance(t, Static):
            if bool(t.value) == decides:
                return Static(decides)
        else:
            out = t if out is None else cx.scalar("or" if decides else "and", out.operand, t.operand, label=kind)
    return Static(not decides) if out is None else out


def _until_decided(cx: Context, iterable: AbsVal, decides: bool) -> AbsVal:
    """Looks at items one after the other and stops at the first that decides."""
    from torch2cpp.binding.comprehensions import consume

    site = (cx.site(None), "decide")

    def search(out: Label) -> AbsVal:
        def stop() -> AbsVal:
            cx.leave(out, Static(decides))

        def go_on() -> AbsVal:
            return NONE

        def one(item: AbsVal) -> None:
            t = operators.truth(cx, item)
            if isinstance(t, Host):
                then, orelse = (stop, go_on) if decides else (go_on, stop)
                branch(cx, t.operand, then, orelse, "decided", cx.span)
            elif bool(t.value) == decides:
                stop()

        consume(cx, iterable, one, site)
        return Static(not decides)

    return labelled(cx, "any" if decides else "all", search, cx.span)


# min and max --------------------------------------------------------------------------------------


def _empty_message(kind: str) -> str:
    """What this Python says of min([])."""
    try:
        {"min": min, "max": max}[kind]([])
    except ValueError as error:
        return str(error)
    raise AssertionError(kind)


def _extreme(cx: Context, iterable: AbsVal, kind: str, key: AbsVal | None, default: AbsVal | None) -> AbsVal:
    items = _listed(cx, iterable)
    if isinstance(items, list):
        if items:
            return _known_extreme(cx, items, kind, key)
        if default is not None:
            return default
        cx.raise_(ValueError, _empty_message(kind))
    assert isinstance(items.type, ListType)
    elem = items.type.elem
    if elem == NEVER:
        if default is not None:
            return default
        cx.raise_(ValueError, _empty_message(kind))
    rt = items

    def find() -> AbsVal:
        if key is None and sortable(elem):
            value = cx.host(f"list.{kind}", rt.operand, type_=elem, label=kind)
            return from_operand(cx, value, elem, rt.example)
        return _fold_extreme(cx, rt, kind, key)

    if default is not None:
        return use(cx, branch(cx, _is_empty(cx, rt).operand, lambda: default, find, kind, cx.span))
    if key is not None or not sortable(elem):
        raise_if(cx, _is_empty(cx, rt).operand, ValueError, lambda: _empty_message(kind))
    return find()


def _key_of(cx: Context, item: AbsVal, key: AbsVal | None) -> AbsVal:
    from torch2cpp.binding.calls import call

    return item if key is None else call(cx, key, [item], {})


def _known_extreme(cx: Context, items: list[AbsVal], kind: str, key: AbsVal | None) -> AbsVal:
    alike = all(map(is_scalar, items)) and len({type_of(cx, i) for i in items}) == 1
    if key is None and alike and any(isinstance(i, Host) for i in items):
        return _scalar_extreme(cx, items, kind)
    best: tuple[AbsVal, AbsVal] = (items[0], _key_of(cx, items[0], key))
    for item in items[1:]:
        best = _better(cx, kind, best, (item, _key_of(cx, item, key)))
    return best[0]


def _better(cx: Context, kind: str, best: tuple[AbsVal, AbsVal], new: tuple[AbsVal, AbsVal]) -> tuple[Any, Any]:
    """The better of two items with their keys; the earlier one when they are equal."""
    wins = operators.truth(cx, operators.compare(cx, "<" if kind == "min" else ">", new[1], best[1]))
    if isinstance(wins, Static):
        return new if wins.value else best
    out = branch(cx, wins.operand, lambda: Tup(new), lambda: Tup(best), kind, cx.span)
    assert isinstance(out, Tup)
    return use(cx, out.elems[0]), use(cx, out.elems[1])


def _scalar_extreme(cx: Context, items: list[AbsVal], kind: str) -> AbsVal:
    best = items[0]
    for item in items[1:]:
        best = _scalar_better(cx, kind, best, item)
    return best


def _scalar_better(cx: Context, kind: str, a: AbsVal, b: AbsVal) -> AbsVal:
    f: Callable[..., Any] = {"min": min, "max": max}[kind]
    if isinstance(a, Static) and isinstance(b, Static):
        return Static(f(a.value, b.value))
    x, y = operators.scalar_operand(cx, a), operators.scalar_operand(cx, b)
    if type_of(cx, a) in (INT, FLOAT):
        return operators.with_hints(cx, cx.scalar(kind, x, y), f, a, b)
    wins = operators.compare(cx, "<" if kind == "min" else ">", b, a)
    assert isinstance(wins, Host)
    return cx.scalar("select", wins.operand, y, x, label=kind)


def _fold_extreme(cx: Context, rt: Rt, kind: str, key: AbsVal | None) -> AbsVal:
    """The best element of a run-time list that is not empty, found in a loop."""
    first = _element(cx, rt, _ZERO)
    if isinstance(first, Tensor) and key is None and first.rank != 0:
        cx.refuse("T2C239", f"{kind}() of a list of {describe(cx, first)}", f"use torch.stack(xs).{kind}()")
    found = _Accumulator(cx, {"best": first, "best_key": _key_of(cx, first, key)})

    def one(item: AbsVal) -> None:
        best, best_key = _better(cx, kind, (found["best"], found["best_key"]), (item, _key_of(cx, item, key)))
        found.put(best=best, best_key=best_key)

    _each(cx, rt, 1, one)
    return found["best"]
