"""`heapq.nsmallest` and `nlargest`: by sorting where that gives the same, else with the moves of CPython's heap."""

from __future__ import annotations

import heapq
from typing import Any

from torch2cpp.binding.builtin_table import TABLE, Handler, static_first
from torch2cpp.binding.context import Context
from torch2cpp.binding.convert import NoType, resolve, type_of
from torch2cpp.binding.in_python import heapq_functions
from torch2cpp.binding.values import NONE, AbsVal, Iter, ListObj, Rt, Static
from torch2cpp.hostir.types import BOOL, INT, STR, ListType, TupleType, Type


def _selects(by_heap: Any, by_sorting: Any) -> Handler:
    def run(cx: Context, args: list[AbsVal], kwargs: dict[str, AbsVal]) -> AbsVal:
        from torch2cpp.binding.calls import call_python

        given = dict(zip(("n", "iterable", "key"), args)) | kwargs
        key = given.get("key", NONE)
        items = TABLE[list](cx, [given["iterable"]], {})
        if isinstance(key, Static) and key.value is None and _is_total(cx, items):
            return call_python(cx, by_sorting, [given["n"], items], {})
        return call_python(cx, by_heap, [given["n"], items, key, Static(_has_length(cx, given["iterable"]))], {})

    return run


def _is_total(cx: Context, items: AbsVal) -> bool:
    """Whether the items are of types in which what is neither smaller nor larger is equal: no NaN, no objects."""

    def total(t: Type) -> bool:
        return t in (INT, BOOL, STR) or (isinstance(t, TupleType) and all(map(total, t.elems)))

    o = resolve(cx, items)
    try:
        if isinstance(o, ListObj):
            return all(total(type_of(cx, e)) for e in o.elems)
        return isinstance(o, Rt) and isinstance(o.type, ListType) and total(o.type.elem)
    except NoType:
        return False


def _has_length(cx: Context, iterable: AbsVal) -> bool:
    """Whether `len()` takes it: containers and views of them, not iterators."""
    o = resolve(cx, iterable)
    return not isinstance(o, Iter) or o.kind in ("choice", "choice_slice", "dict_view")


TABLE[heapq.nsmallest] = static_first(heapq.nsmallest)(
    _selects(heapq_functions.nsmallest, heapq_functions.nsmallest_by_sorting)
)
TABLE[heapq.nlargest] = static_first(heapq.nlargest)(
    _selects(heapq_functions.nlargest, heapq_functions.nlargest_by_sorting)
)
