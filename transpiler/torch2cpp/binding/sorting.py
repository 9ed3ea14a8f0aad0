"""`sorted` and `list.sort`."""

from __future__ import annotations

from typing import Any

from torch2cpp.binding import operators
from torch2cpp.binding.containers import element_type, fresh_rt, new_list, run_time
from torch2cpp.binding.context import Context
from torch2cpp.binding.control import branch
from torch2cpp.binding.convert import describe, resolve
from torch2cpp.binding.dict_views import snapshot
from torch2cpp.binding.list_methods import list_append, make_run_time_list, static_value
from torch2cpp.binding.optional import held, is_none
from torch2cpp.binding.own_equality import compares_itself, sort
from torch2cpp.binding.set_methods import is_ordered
from torch2cpp.binding.values import NONE, AbsVal, Host, Iter, ListObj, Rt, Static, Tup
from torch2cpp.hostir.ops import Operand
from torch2cpp.hostir.types import (
    BOOL,
    FLOAT,
    INT,
    DictType,
    ListType,
    OptionalType,
    ScalarType,
    SetType,
    TupleType,
    Type,
    UnionType,
)

_FALSE = Static(False)


def sorted_list(cx: Context, iterable: AbsVal, key: AbsVal = NONE, reverse: AbsVal = _FALSE) -> AbsVal:
    """`sorted(iterable, key=key, reverse=reverse)`: a new list."""
    if isinstance(iterable, Iter) and iterable.kind == "unordered" and not _is_none(key):
        cx.refuse("T2C234", "a set is sorted by a key, equal keys in an undefined order", "sort the set first")
    iterable = snapshot(cx, iterable, any_order=True)
    o = resolve(cx, iterable)
    site = (cx.site(None), "sorted")
    ref: AbsVal
    if isinstance(o, Rt) and isinstance(o.type, SetType):
        if not _is_none(key) and not is_ordered(cx, o.type.elem):
            cx.refuse("T2C234", "a set is sorted by a key, equal keys in an undefined order", "sort the set first")
        value = cx.host("set.sorted" if _is_none(key) else "set.members", o.operand, label="sorted")
        ref = run_time(cx, Rt(value, value.type, example=o.example), site)
        if _is_none(key) and isinstance(reverse, Static) and not reverse.value:
            return ref
    else:
        ref = _new(cx, iterable, o, site)
    sort_in_place(cx, ref, key, reverse)
    return ref


def _is_none(v: AbsVal) -> bool:
    return isinstance(v, Static) and v.value is None


def _new(cx: Context, iterable: AbsVal, o: AbsVal, site: object) -> AbsVal:
    """A new list of the iterable's items."""
    from torch2cpp.binding.comprehensions import collect, is_lazy
    from torch2cpp.binding.iteration import known_items

    if isinstance(o, Rt) and isinstance(o.type, ListType) and o.type.kind == "list":
        return fresh_rt(cx, "list.copy", o.operand, type_=o.type, example=o.example, site=site)
    if isinstance(o, Rt) and isinstance(o.type, DictType):
        keys = cx.host("dict.keys", o.operand, type_=ListType(o.type.key), label="keys")
        return run_time(cx, Rt(keys, keys.type), site)
    if not is_lazy(o):
        items = known_items(cx, iterable)
        if items is not None:
            return new_list(cx, items, site)
    return collect(cx, iterable, site)


def sort_in_place(cx: Context, ref: AbsVal, key: AbsVal, reverse: AbsVal) -> None:
    """`ref.sort(key=key, reverse=reverse)`"""
    from torch2cpp.binding.calls import call

    o = resolve(cx, ref)
    backwards = operators.truth(cx, reverse)
    if isinstance(o, ListObj):
        keys = [e if _is_none(key) else call(cx, key, [e], {}) for e in o.elems]
        static = [static_value(k) for k in keys]
        if all(k is not None for k in static) and isinstance(backwards, Static):
            _permute(cx, ref, o, [k.value for k in static if k is not None], bool(backwards.value))
            return
        for e in o.elems:
            element_type(cx, e)
        make_run_time_list(cx, o)
    assert isinstance(o, Rt) and isinstance(o.type, ListType)
    if _is_none(key) and compares_itself(cx, o.type.elem, "__lt__"):
        _sort_by_less(cx, ref, backwards)
        return
    flag: Operand = backwards.value if isinstance(backwards, Static) else backwards.operand
    if _is_none(key) and sortable(o.type.elem):
        cx.effect("list.sort", o.operand, flag)
    else:
        cx.effect("list.sort_by", o.operand, _keys(cx, ref, key).operand, flag)


def _sort_by_less(cx: Context, ref: AbsVal, backwards: Static | Host) -> None:
    """By the elements' own `<`. Backwards is reversed, sorted and reversed: equal ones keep their order."""
    o = resolve(cx, ref)
    if not isinstance(backwards, Static):
        cx.refuse("T2C235", "objects are sorted in an order decided at run time", "sort in two branches")
    if backwards.value:
        cx.effect("list.reverse", o.operand)
    sort(cx, ref)
    if backwards.value:
        cx.effect("list.reverse", o.operand)


def _permute(cx: Context, ref: AbsVal, o: ListObj, keys: list[Any], reverse: bool) -> None:
    order = operators.static_call(cx, lambda: sorted(range(len(keys)), key=lambda i: keys[i], reverse=reverse))
    assert isinstance(order, Static)
    cx.write(ref.id, ListObj(tuple(o.elems[i] for i in order.value), o.site, o.kind))


def sortable(t: Type) -> bool:
    """Whether a run-time list of this type has an order: scalars, numbers of several types, and tuples of them."""
    if isinstance(t, TupleType):
        return all(map(sortable, t.elems))
    if isinstance(t, ListType):
        return t.kind != "deque" and sortable(t.elem)
    if isinstance(t, UnionType):
        return all(m in (BOOL, INT, FLOAT) for m in t.members)
    return isinstance(t, ScalarType) and t.kind != "complex" and not t.of


def _keys(cx: Context, ref: AbsVal, key: AbsVal) -> Rt:
    """The keys of a run-time list's elements, as a run-time list."""
    from torch2cpp.binding.calls import call
    from torch2cpp.binding.comprehensions import consume

    site = (cx.site(None), "keys")
    target = new_list(cx, [], site)

    def one(item: AbsVal) -> None:
        found = item if _is_none(key) else call(cx, key, [item], {})
        list_append(cx, target, sort_key(cx, _not_none(cx, ref, found)))

    consume(cx, ref, one, site)
    keys = resolve(cx, target)
    if isinstance(keys, ListObj):
        make_run_time_list(cx, keys)
    assert isinstance(keys, Rt) and isinstance(keys.type, ListType)
    if not sortable(keys.type.elem) and str(keys.type.elem) != "never":
        cx.refuse("T2C235", f"a list is sorted by a {keys.type.elem}", "sort by numbers, strings or tuples of them")
    return keys


def _not_none(cx: Context, ref: AbsVal, key: AbsVal) -> AbsVal:
    """A key such as `d.get` gives: None has no order, which a list of one element does not ask for."""
    if not (isinstance(key, Rt) and isinstance(key.type, OptionalType) and isinstance(key.type.elem, ScalarType)):
        return key
    kind = key.type.elem.kind
    blank = {"int": 0, "float": 0.0, "str": "", "bool": False}.get(kind)
    missing = is_none(cx, key)
    if blank is None or isinstance(missing, Static):
        return held(cx, key) if isinstance(missing, Static) and not missing.value else key

    def without() -> AbsVal:
        o = resolve(cx, ref)
        assert isinstance(o, Rt)

        def fail() -> AbsVal:
            cx.raise_(TypeError, f"'<' not supported between instances of 'NoneType' and '{kind}'")

        several = cx.host("gt", cx.host("list.len", o.operand), 1, label="several")
        return branch(cx, several, fail, lambda: Static(blank), "key", cx.span)

    return branch(cx, missing.operand, without, lambda: held(cx, key), "key", cx.span)


def sort_key(cx: Context, v: AbsVal) -> AbsVal:
    """A sort key as scalars: 0-d tensors compare as their items, lists as tuples."""
    from torch2cpp.binding.aten import elements, scalar_item

    t = operators.tensor_of(cx, v)
    if t is not None:
        if t.rank != 0:
            cx.refuse("T2C235", f"a list is sorted by {describe(cx, v)}", "sort by numbers, strings or tuples of them")
        return scalar_item(cx, t)
    elems = elements(cx, v)
    if elems is not None:
        return Tup(tuple(sort_key(cx, e) for e in elems))
    return v
