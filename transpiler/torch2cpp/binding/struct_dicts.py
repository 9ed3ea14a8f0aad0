"""Dicts with known string keys that live at run time: structs that Python sees as dicts."""

from __future__ import annotations

from torch2cpp.binding import field_loads
from torch2cpp.binding.context import Context
from torch2cpp.binding.convert import describe, from_operand, resolve, to_operand
from torch2cpp.binding.values import NONE, AbsVal, DictObj, Host, Iter, Native, Rt, Static
from torch2cpp.hostir.types import STR, StructType, Type


def is_dict(cx: Context, o: Rt) -> bool:
    """Whether a struct stands for a dict."""
    return isinstance(o.type, StructType) and not isinstance(cx.struct_key(o.type.name), type)


def _fields(cx: Context, o: Rt) -> dict[str, Type]:
    assert isinstance(o.type, StructType)
    return cx.facts.structs[cx.struct_key(o.type.name)]


def keys(cx: Context, o: Rt) -> list[str]:
    """The keys, in order. Refuses where they are asked for before all of them are set."""
    if cx.unfilled.get(o.operand.id):
        cx.refuse(
            "T2C161",
            "the keys of a dict are asked for while it is being filled, before it goes into a container",
            "give the dict all its keys where it is made",
        )
    return list(_fields(cx, o))


def get_item(cx: Context, o: Rt, key: AbsVal) -> AbsVal:
    """`d[key]`"""
    if isinstance(key, Host) and key.type == STR:
        return _by_run_time_key(cx, o, key)
    if not isinstance(key, Static):
        cx.refuse("T2C161", f"a dict with known keys is indexed with {describe(cx, key)}", "use a constant key")
    fields = _fields(cx, o)
    if key.value not in fields:
        cx.raise_(KeyError, repr(key.value))
    assert isinstance(o.type, StructType)
    t = fields[key.value]
    before = field_loads.known(cx, o, key.value)
    if before is not None:
        return before
    value = cx.host("struct.get", o.operand, key.value, type_=t, label=key.value)
    out = from_operand(cx, value, t, cx.facts.examples.get((cx.struct_key(o.type.name), key.value)))
    field_loads.note_read(cx, o, key.value, out)
    return out


def _by_run_time_key(cx: Context, o: Rt, key: Host) -> AbsVal:
    """One of the values, by a key that is known at run time only: one branch per key."""
    from torch2cpp.binding import operators
    from torch2cpp.binding.control import branch
    from torch2cpp.binding.items import missing_key

    names = keys(cx, o)

    def step(i: int) -> AbsVal:
        if i == len(names):
            missing_key(cx, key)
        here = operators.compare(cx, "==", key, Static(names[i]))
        return branch(
            cx, here.operand, lambda: get_item(cx, o, Static(names[i])), lambda: step(i + 1), "value", cx.span
        )

    return step(0)


def set_item(cx: Context, o: Rt, key: AbsVal, value: AbsVal) -> None:
    """`d[key] = value`"""
    from torch2cpp.binding.objects import widen_field

    if not isinstance(key, Static) or not isinstance(key.value, str):
        cx.refuse("T2C161", f"a dict with known keys gets the key {describe(cx, key)}", "use a constant key")
    assert isinstance(o.type, StructType)
    if key.value not in _fields(cx, o):
        cx.refuse(
            "T2C161",
            f"the key {key.value!r} is added to a dict that is kept in a container",
            "give the dict all its keys where it is made",
        )
    cx.unfilled.get(o.operand.id, set()).discard(key.value)
    t = widen_field(cx, cx.struct_key(o.type.name), key.value, value)
    cx.effect("struct.set", o.operand, key.value, to_operand(cx, value, t))
    field_loads.note_write(cx, o, key.value, value)


def method(cx: Context, o: Rt, name: str) -> Native | None:
    """The reading methods of dict."""

    def get(c: Context, args: list[AbsVal], kwargs: dict[str, AbsVal]) -> AbsVal:
        if isinstance(args[0], Static) and args[0].value not in keys(c, o):
            return args[1] if len(args) > 1 else NONE
        return get_item(c, o, args[0])

    match name:
        case "get":
            return Native(name, get)
        case "keys" | "values" | "items":
            return Native(name, lambda c, a, k: Iter("dict_view", (o,), name))
    return None


def equal(cx: Context, a: Rt, b: AbsVal) -> AbsVal | None:
    """`a == b` with another dict of known keys; None where `b` is none."""
    from torch2cpp.binding import operators
    from torch2cpp.binding.control import branch
    from torch2cpp.binding.items import get_item as item_of

    other = resolve(cx, b)
    if isinstance(other, Rt) and is_dict(cx, other):
        names = keys(cx, other)
    elif isinstance(other, DictObj):
        names = list(other.items)
    elif isinstance(other, Static) and isinstance(other.value, dict):
        names = list(other.value)
    else:
        return None
    if set(names) != set(keys(cx, a)):
        return Static(False)

    def step(i: int) -> AbsVal:
        if i == len(names):
            return Static(True)
        pair = get_item(cx, a, Static(names[i])), item_of(cx, b, Static(names[i]))
        same = operators.truth(cx, operators.compare(cx, "==", *pair))
        if isinstance(same, Static):
            return step(i + 1) if same.value else Static(False)
        return branch(cx, same.operand, lambda: step(i + 1), lambda: Static(False), "same", cx.span)

    return step(0)
