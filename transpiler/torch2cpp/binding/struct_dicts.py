"""Dicts with known string keys that live at run time: structs that Python sees as dicts."""

from __future__ import annotations

from typing import Any, NoReturn

from torch2cpp.binding import field_loads, late_fields, unset_fields
from torch2cpp.binding.context import Context
from torch2cpp.binding.convert import describe, resolve, to_operand
from torch2cpp.binding.partial_dicts import put_all
from torch2cpp.binding.values import NONE, AbsVal, DictObj, Host, Iter, Native, PartialDict, Rt, Static
from torch2cpp.hostir.types import NEVER, STR, StructType, Type, UnionType, join


def is_dict(cx: Context, o: Rt) -> bool:
    """Whether a struct stands for a dict."""
    return isinstance(o.type, StructType) and not isinstance(cx.struct_key(o.type.name), type)


def _fields(cx: Context, o: Rt) -> dict[str, Type]:
    assert isinstance(o.type, StructType)
    return cx.facts.structs[cx.struct_key(o.type.name)]


def keys(cx: Context, o: Rt) -> list[str]:
    """The keys, in order. Those that are not set yet are late from then on; refuses where there are late ones."""
    unset_fields.escapes(cx, o)
    late = unset_fields.late_names(cx, o)
    if late:
        cx.refuse(
            "T2C161",
            f"a dict that is kept in a container is used as a whole, and {late[0]!r} is added to it later, if at all",
            "give the dict all its keys where it is made",
        )
    return list(_fields(cx, o))


def whole(cx: Context, v: AbsVal) -> AbsVal:
    """A dict some of whose keys may be missing as one whose structure is followed; any other value is itself."""
    o = resolve(cx, v)
    if isinstance(o, Rt) and is_dict(cx, o):
        unset_fields.escapes(cx, o)
        if unset_fields.late_names(cx, o):
            return late_fields.snapshot(cx, o)
    return v


def get_item(cx: Context, o: Rt, key: AbsVal) -> AbsVal:
    """`d[key]`"""
    if isinstance(key, Host) and key.type == STR:
        return _by_run_time_key(cx, o, key)
    if not isinstance(key, Static):
        _as_table(cx, o)
        cx.refuse("T2C161", f"a dict with known keys is indexed with {describe(cx, key)}", "use a constant key")
    fields = _fields(cx, o)
    if key.value not in fields:
        cx.raise_(KeyError, repr(key.value))
    return late_fields.read(cx, o, key.value, KeyError, repr(key.value))


def contains(cx: Context, o: Rt, key: AbsVal) -> AbsVal:
    """`key in d`"""
    from torch2cpp.binding.container_operators import any_equal

    if isinstance(key, Static):
        return late_fields.presence(cx, o, key.value)
    return any_equal(cx, [Static(k) for k in keys(cx, o)], key)


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
        _as_table(cx, o, value)
        cx.refuse("T2C161", f"a dict with known keys gets the key {describe(cx, key)}", "use a constant key")
    assert isinstance(o.type, StructType)
    if key.value not in _fields(cx, o):
        from torch2cpp.binding.containers import element_type

        _as_table(cx, o, value)
        unset_fields.add(cx, o, key.value, element_type(cx, value, field=True))
    late_fields.keep_order(cx, o, key.value)
    t = widen_field(cx, cx.struct_key(o.type.name), key.value, value)
    cx.effect("struct.set", o.operand, key.value, to_operand(cx, value, t))
    unset_fields.note_set(cx, o, key.value)
    field_loads.note_write(cx, o, key.value, value)


def method(cx: Context, o: Rt, name: str) -> Native | None:
    """The methods of dict; None for a name that is none."""

    def get(c: Context, args: list[AbsVal], kwargs: dict[str, AbsVal]) -> AbsVal:
        if not isinstance(args[0], Static):
            _as_table(c, o)
        default = args[1] if len(args) > 1 else NONE
        if not isinstance(args[0], Static):
            return get_item(c, o, args[0])
        if args[0].value not in _fields(c, o):
            return default
        return late_fields.read_or(c, o, args[0].value, lambda: default)

    def setdefault(c: Context, args: list[AbsVal], kwargs: dict[str, AbsVal]) -> AbsVal:
        default = args[1] if len(args) > 1 else NONE
        key = args[0]

        def added() -> AbsVal:
            set_item(c, o, key, default)  # a further key
            return default

        if not isinstance(key, Static) or key.value not in _fields(c, o):
            return added()
        return late_fields.read_or(c, o, key.value, added)

    def pop(c: Context, args: list[AbsVal], kwargs: dict[str, AbsVal]) -> AbsVal:
        if isinstance(args[0], Static) and args[0].value not in keys(c, o):
            if len(args) > 1:
                return args[1]
            c.raise_(KeyError, repr(args[0].value))
        _as_table(c, o)
        return _refuse(c, f"a key is taken out of {_WHAT}")

    match name:
        case "get":
            return Native(name, get)
        case "keys" | "values" | "items":
            return Native(name, lambda c, a, k: Iter("dict_view", (whole(c, o),), name))
        case "update":
            return Native(name, lambda c, a, k: _update(c, o, a, k))
        case "copy":
            return Native(name, lambda c, a, k: _copy(c, o))
        case "setdefault":
            return Native(name, setdefault)
        case "pop":
            return Native(name, pop)
        case "popitem" | "clear":

            def emptied(c: Context, args: list[AbsVal], kwargs: dict[str, AbsVal]) -> AbsVal:
                _as_table(c, o)
                return _refuse(c, f"{name}() of {_WHAT}")

            return Native(name, emptied)
    return None


_WHAT = "a dict that is kept in a container, with values of several types"


def _refuse(cx: Context, what: str) -> NoReturn:
    cx.refuse("T2C161", what, "give the dict all its keys where it is made")


def _as_table(cx: Context, o: Rt, value: AbsVal | None = None) -> None:
    """Its keys are data: where its values are of one type, it is a run-time dict from the next round on."""
    from torch2cpp.binding.containers import element_type
    from torch2cpp.binding.unlike import dicts_of_data

    values: Type | None = NEVER if value is None else element_type(cx, value)
    for t in _fields(cx, o).values():
        values = None if values is None else join(values, t)
    assert isinstance(o.type, StructType)
    if values is not None and not isinstance(values, UnionType) and o.type.name not in str(values):
        dicts_of_data(cx, cx.struct_key(o.type.name), values)


def _known_names(cx: Context, o: AbsVal) -> list[Any] | None:
    """The keys of a dict that has known ones, in order; None for any other value."""
    from torch2cpp.binding.dict_views import known_keys

    if isinstance(o, DictObj) or (isinstance(o, Static) and isinstance(o.value, dict)):
        return known_keys(cx, o)
    return keys(cx, o) if isinstance(o, Rt) and is_dict(cx, o) else None


def _update(cx: Context, o: Rt, args: list[AbsVal], kwargs: dict[str, AbsVal]) -> AbsVal:
    from torch2cpp.binding.items import get_item as item_of

    for other in args:
        other = whole(cx, other)
        found = resolve(cx, other)
        if isinstance(found, PartialDict):
            put_all(cx, found, lambda k, x: set_item(cx, o, k, x))
            continue
        names = _known_names(cx, found)
        if names is None:
            _as_table(cx, o)
            _refuse(cx, f"update() of {_WHAT}, with {describe(cx, other)}")
        for key in names:
            set_item(cx, o, Static(key), item_of(cx, other, Static(key)))
    for key, value in kwargs.items():
        set_item(cx, o, Static(key), value)
    return NONE


def _copy(cx: Context, o: Rt) -> AbsVal:
    from torch2cpp.binding.containers import new_dict

    site = cx.site(None)
    if unset_fields.late_names(cx, o) and (site in cx.facts.containers or site in cx.facts.structs):
        from torch2cpp.binding.item_writes import dict_update

        made = new_dict(cx, [], site)
        dict_update(cx, made, o)
        return made
    copied = whole(cx, o)
    if copied is not o:
        return copied
    return new_dict(cx, [(Static(k), get_item(cx, o, Static(k))) for k in keys(cx, o)], (cx.site(None), "copy"))


def equal(cx: Context, a: Rt, b: AbsVal) -> AbsVal | None:
    """`a == b` with another dict of known keys; None where `b` is none."""
    from torch2cpp.binding import operators
    from torch2cpp.binding.control import branch
    from torch2cpp.binding.items import get_item as item_of

    names = _known_names(cx, resolve(cx, b))
    if names is None:
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
