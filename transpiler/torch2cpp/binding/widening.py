"""Containers that must be run-time ones from where they were made: learnt, then binding starts again."""

from __future__ import annotations

from torch2cpp.binding.context import Context, Restart
from torch2cpp.binding.convert import type_of
from torch2cpp.binding.dict_kinds import kind_of
from torch2cpp.binding.join_values import example_of, types_where_there
from torch2cpp.binding.unlike import common_type
from torch2cpp.binding.values import (
    AbsVal,
    DictObj,
    ListObj,
    PartialDict,
    State,
    Static,
)
from torch2cpp.hostir.types import DictType, ListType, Type, UnionType, join


def list_type(cx: Context, state: State, obj: ListObj) -> Type | None:
    """The type of a run-time list that holds the elements of this one."""
    saved, cx.state = cx.state, state
    try:
        elem: Type | None = None
        for e in obj.elems:
            e = as_runtime(cx, e)
            with cx.to_store():
                t = type_of(cx, e)
            elem = t if elem is None else common_type(cx, elem, t)
            if elem is None:
                return None
        from torch2cpp.hostir.types import NEVER

        return ListType(elem if elem is not None else NEVER, obj.kind)
    finally:
        cx.state = saved


def as_runtime(cx: Context, v: AbsVal) -> AbsVal:
    """An element put into a run-time container must be run-time itself if it is mutable."""
    from torch2cpp.binding.containers import make_run_time

    make_run_time(cx, v)
    return v


def widen_list(cx: Context, state: State, obj: ListObj, elem: AbsVal | None, learn_only: bool = False) -> None:
    """Learns that a list must be a run-time list, and starts again."""
    t = list_type(cx, state, obj)
    if t is None:
        cx.refuse(
            "T2C110",
            "a list whose length is decided at run time holds values of different types",
            "keep values of different types in different lists, or in tuples of one form",
        )
    old = cx.facts.containers.get(obj.site)
    new = t if old is None else common_type(cx, old, t)
    if new is None:
        cx.refuse("T2C110", f"a run-time list holds both {old} and {t}", "use one list per type of element")
    if obj.elems:
        cx.facts.examples.setdefault(obj.site, obj.elems[0])
    if new != old:
        cx.facts.containers[obj.site] = new
    if not learn_only:
        raise Restart(obj.site)


def widen_dict(cx: Context, state: State, obj: DictObj | PartialDict, by_key: bool = True) -> None:
    """Learns that a dict must be a run-time dict; `by_key` where its keys must be run-time values."""
    from torch2cpp.hostir.types import NEVER

    key: Type | None = NEVER
    value: Type | None = NEVER
    saved, cx.state = cx.state, state
    try:
        for k, x in obj.items.items():
            x = as_runtime(cx, x)
            with cx.to_store():
                key = join(key, type_of(cx, Static(k))) if key is not None else None
                for t in types_where_there(cx, x):
                    value = common_type(cx, value, t) if value is not None else None
    finally:
        cx.state = saved
    if by_key or value is None or isinstance(value, UnionType):
        cx.facts.by_key.add(obj.site)
    kind = kind_of(cx, obj.factory, obj.site)
    old = cx.facts.containers.get(obj.site, DictType(NEVER, NEVER, kind))
    new = join(old, DictType(key, value, kind)) if key is not None and value is not None else None
    if new is None:
        cx.refuse("T2C111", "a dict filled at run time holds values of different types", "use one dict per type")
    if obj.items:
        cx.facts.examples.setdefault(obj.site, example_of(next(iter(obj.items.values()))))
    cx.facts.containers[obj.site] = new
