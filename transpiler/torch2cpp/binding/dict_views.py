"""`keys()`, `values()` and `items()` of dicts: live views, read when they are used."""

from __future__ import annotations

from typing import Any

from torch2cpp.binding import struct_dicts
from torch2cpp.binding.context import Context
from torch2cpp.binding.convert import from_operand, resolve
from torch2cpp.binding.growth import note_view
from torch2cpp.binding.values import AbsVal, DictObj, Iter, PartialDict, Rt, Static, Tup
from torch2cpp.hostir.types import NEVER, DictType, ListType, TupleType


def view(ref: AbsVal, kind: str) -> Iter:
    """The view of a dict; `kind` is "keys", "values" or "items"."""
    return Iter("dict_view", (ref,), kind)


def unordered(cx: Context, o: Rt) -> Iter:
    """`list(s)` of a set: a list whose order is not defined, for uses to which it does not matter."""
    members = cx.host("set.sorted", o.operand, label="members")
    return Iter("unordered", (Rt(members, members.type, example=o.example),))


def is_view(v: AbsVal, *kinds: str) -> bool:
    """Whether a value is a view of a dict, of one of these kinds if any are given."""
    return isinstance(v, Iter) and v.kind == "dict_view" and (not kinds or v.extra in kinds)


def snapshot(cx: Context, v: AbsVal, any_order: bool = False) -> AbsVal:
    """What a view shows now, as a list that nobody changes; any other value is itself.

    With `any_order`, the order does not matter: then a list of a set's members will do in any order.
    """
    if isinstance(v, Iter) and v.kind == "unordered" and any_order:
        return v.parts[0]
    if not is_view(v):
        return v
    (ref,), kind = v.parts, v.extra
    o = resolve(cx, ref)
    if isinstance(o, Rt) and isinstance(o.type, DictType):
        return _run_time(cx, o, kind)
    if isinstance(o, PartialDict):
        from torch2cpp.binding.comprehensions import collect

        return collect(cx, v)
    return Iter("list", tuple(entry(cx, o, k, kind) for k in known_keys(cx, o)))


def known_keys(cx: Context, o: AbsVal) -> list[Any]:
    """The keys of a dict that has known ones, in order."""
    if isinstance(o, Static):
        return list(o.value)
    if isinstance(o, DictObj):
        return list(o.items)
    return struct_dicts.keys(cx, o)


def entry(cx: Context, o: AbsVal, key: Any, kind: str) -> AbsVal:
    """What a view of a dict shows for one of its known keys."""
    if kind == "keys":
        return Static(key)
    if isinstance(o, Static):
        value: AbsVal = Static(o.value[key])
        return value if kind == "values" else Tup((Static(key), value))
    value = o.items[key] if isinstance(o, DictObj) else struct_dicts.get_item(cx, o, Static(key))
    return value if kind == "values" else Tup((Static(key), value))


def _run_time(cx: Context, o: Rt, kind: str) -> AbsVal:
    t = o.type
    assert isinstance(t, DictType)
    if t.value == NEVER:
        return Iter("list", ())  # nothing was put in on any path
    elem = {"keys": t.key, "values": t.value, "items": TupleType((t.key, t.value))}[kind]
    listed = cx.host(f"dict.{kind}", o.operand, type_=ListType(elem), label=kind)
    if kind == "keys":
        return Rt(listed, listed.type)
    note_view(cx, listed, o.operand)
    return Rt(listed, listed.type, example=o.example if kind == "values" else Tup((None, o.example)))


def entry_now(cx: Context, o: Rt, keys: Rt, index: Any, kind: str) -> AbsVal:
    """The entry of a run-time dict for the key at a place of an earlier list of its keys, read now."""
    t = o.type
    assert isinstance(t, DictType)
    key = cx.host("list.get", keys.operand, index, type_=t.key, label="key")
    if kind == "keys":
        return from_operand(cx, key, t.key)
    value = from_operand(cx, cx.host("dict.get", o.operand, key, type_=t.value, label="value"), t.value, o.example)
    return value if kind == "values" else Tup((from_operand(cx, key, t.key), value))
