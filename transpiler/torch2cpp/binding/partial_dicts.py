"""Dicts some of whose keys are there on some paths only: `if wanted: out["masks"] = m`.

Such a dict keeps its structure: each key that may be missing is a variable that may be unbound. What
asks for one key asks whether that is there; a loop skips the keys that are not; what needs the dict as
a whole is done once for each set of keys. As a result it is a struct with optional fields. Where the
paths do not agree on the order of the keys, or the values have one type, it is a run-time dict instead.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, Concatenate, ParamSpec

from torch2cpp.binding.choices import option_value
from torch2cpp.binding.context import Context
from torch2cpp.binding.control import branch
from torch2cpp.binding.convert import resolve, to_operand
from torch2cpp.binding.join_values import dict_of, may_be_missing, may_be_unbound
from torch2cpp.binding.optional import KnownNone, KnownOption, held, possible
from torch2cpp.binding.values import (
    NONE,
    UNBOUND,
    AbsVal,
    Choice,
    DictObj,
    Host,
    Iter,
    Native,
    PartialDict,
    Ref,
    Rt,
    Static,
    Tup,
    Unbound,
    fresh_id,
)
from torch2cpp.hostir.ops import Operand
from torch2cpp.hostir.types import INT, OptionalType

P = ParamSpec("P")

#: What needs the whole dict is done for at most two to the power of this sets of keys.
MAX_OPEN = 5


def is_partial(cx: Context, v: AbsVal) -> bool:
    """Whether a value is a dict whose keys depend on the path."""
    return isinstance(v, Ref) and isinstance(cx.state.heap.get(v.id), PartialDict)


def known_keys(o: AbsVal) -> list[Any]:
    """The keys that a dict has or may have, in order; none for what is no dict with known keys."""
    return list(o.items) if isinstance(o, DictObj | PartialDict) else []


# One key ------------------------------------------------------------------------------------------


def presence(cx: Context, value: AbsVal) -> Static | Host:
    """Whether the item of a key is there."""
    if isinstance(value, Unbound):
        return Static(False)
    if not may_be_missing(value):
        return Static(True)
    if isinstance(value, Choice):
        left = possible(cx.state, value)
        missing = next(i for i, o in enumerate(value.options) if isinstance(o.static, Unbound))
        if missing not in left or left == [missing]:
            return Static(missing not in left)
        there = cx.scalar("ne", value.tag, missing, label="there")
        rest = frozenset(left) - {missing}
        cx.knows[there.operand.id] = ((KnownOption(value, rest),), (KnownOption(value, frozenset({missing})),))
        return there
    assert isinstance(value, Rt)
    known = cx.state.narrowed.get(value.operand)
    if known is not None:
        return Static(not (isinstance(known, Static) and known.value is None))
    out = cx.scalar("not", cx.host("optional.is_none", value.operand, label="missing"), label="there")
    cx.knows[out.operand.id] = ((value,), (KnownNone(value),))
    return out


def held_item(cx: Context, value: AbsVal) -> AbsVal:
    """The value of a key, on a path where it is there."""
    if not may_be_missing(value):
        return value
    if not isinstance(value, Choice):
        assert isinstance(value, Rt)
        return held(cx, value)
    known = cx.state.narrowed.get(value.tag)
    rest = [i for i, o in enumerate(value.options) if not isinstance(o.static, Unbound)]
    if known is None and len(rest) == 1:
        known = cx.state.narrowed[value.tag] = rest[0]
    if known is not None:
        return option_value(cx, value, known)
    tag: Operand = value.tag
    for number, i in reversed(list(enumerate(rest))):
        if number != i:
            tag = cx.host("select", cx.host("eq", value.tag, i), number, tag, type_=INT, label=value.tag.name)
    return Choice(tag, tuple(value.options[i] for i in rest), value.name, value.loop)


def _missing_raises(cx: Context, key: Any, value: AbsVal) -> AbsVal:
    return item_or_raise(cx, value, KeyError, repr(key))


def item_or_raise(cx: Context, value: AbsVal, error: type[Exception], message: str) -> AbsVal:
    """The value of a key or a field; raises the error where it is not there."""
    from torch2cpp.binding.list_methods import raise_if
    from torch2cpp.binding.operators import logical_not

    there = presence(cx, value)
    if isinstance(there, Static):
        if not there.value:
            cx.raise_(error, message)
    else:
        raise_if(cx, logical_not(cx, there).operand, error, lambda: message)
    return held_item(cx, value)


def contains(cx: Context, ref: Ref, o: PartialDict, item: AbsVal) -> AbsVal:
    """`item in d`"""
    from torch2cpp.binding.container_operators import contains as contains_whole

    if isinstance(item, Static):
        return presence(cx, o.items.get(item.value, UNBOUND))
    return settled(cx, ref, lambda: contains_whole(cx, ref, item))


def get_item(cx: Context, ref: Ref, o: PartialDict, key: AbsVal) -> AbsVal:
    """`d[key]`"""
    from torch2cpp.binding.items import get_item as get_whole

    if isinstance(key, Static):
        return _missing_raises(cx, key.value, o.items.get(key.value, UNBOUND))
    return settled(cx, ref, lambda: get_whole(cx, ref, key))


def set_item(cx: Context, ref: Ref, o: PartialDict, key: AbsVal, value: AbsVal) -> None:
    """`d[key] = value`: a key that is there keeps its place, another one is put at the end."""
    from torch2cpp.binding.item_writes import set_item as set_whole

    def again() -> AbsVal:
        set_whole(cx, ref, key, value)
        return NONE

    if not isinstance(key, Static):
        settled(cx, ref, again)
        return
    there = presence(cx, o.items.get(key.value, UNBOUND))
    items = dict(o.items)
    if isinstance(there, Static) and not there.value:
        items.pop(key.value, None)
    elif not isinstance(there, Static) and key.value != list(items)[-1]:
        settled(cx, ref, again, [key.value])
        return
    items[key.value] = value
    cx.write(ref.id, dict_of(items, o.site))


def delete_item(cx: Context, ref: Ref, o: PartialDict, key: AbsVal) -> None:
    """`del d[key]`"""
    from torch2cpp.binding.item_writes import delete_item as delete_whole

    def again() -> AbsVal:
        delete_whole(cx, ref, key)
        return NONE

    if not isinstance(key, Static):
        settled(cx, ref, again)
        return
    _missing_raises(cx, key.value, o.items.get(key.value, UNBOUND))
    cx.write(ref.id, dict_of({k: x for k, x in o.items.items() if k != key.value}, o.site))


def put_all(cx: Context, o: PartialDict, put: Callable[[AbsVal, AbsVal], None]) -> None:
    """Calls `put(key, value)` for the items that are there, in order."""
    for k, x in o.items.items():
        there = presence(cx, x)

        def one(k: Any = k, x: AbsVal = x) -> AbsVal:
            put(Static(k), held_item(cx, x))
            return NONE

        if isinstance(there, Host):
            branch(cx, there.operand, one, lambda: NONE, "there", cx.span)
        elif there.value:
            one()


# The whole dict -----------------------------------------------------------------------------------


def settled(cx: Context, ref: Ref, f: Callable[[], AbsVal], keys: list[Any] | None = None) -> AbsVal:
    """`f()` once for each set of keys, with the dict as it is then; `keys` limits those that must be known."""
    o = cx.state.heap[ref.id]
    if not isinstance(o, PartialDict):
        return f()
    is_open = [k for k, x in o.items.items() if may_be_missing(x) and (keys is None or k in keys)]
    if not is_open:
        return f()
    if len(is_open) > MAX_OPEN:
        names = ", ".join(map(repr, is_open))
        cx.refuse(
            "T2C111",
            f"a dict is used as a whole, and {len(is_open)} of its keys may be missing: {names}",
            "ask for its keys one by one, or always set them, to None where there is nothing",
        )
    key = is_open[0]
    there = presence(cx, o.items[key])

    def way(has: bool) -> AbsVal:
        value = held_item(cx, o.items[key]) if has else UNBOUND
        fixed = dict_of({**o.items, key: value}, o.site)
        cx.state.heap[ref.id] = fixed
        out = settled(cx, ref, f, keys)
        if cx.state.heap[ref.id] is fixed:
            cx.state.heap[ref.id] = o
        return out

    if isinstance(there, Static):
        return way(there.value)
    return branch(cx, there.operand, lambda: way(True), lambda: way(False), "there", cx.span)


def all_settled(cx: Context, values: list[AbsVal], f: Callable[[], AbsVal]) -> AbsVal:
    """`f()` once for each set of keys of the dicts among some values."""
    ref = next((v for v in values if is_partial(cx, v)), None)
    return f() if ref is None else settled(cx, ref, lambda: all_settled(cx, values, f))


def settles(f: Callable[Concatenate[Context, P], AbsVal]) -> Callable[Concatenate[Context, P], AbsVal]:
    """Lets an operation on dicts take those whose keys depend on the path: it runs once for each set of keys."""

    @functools.wraps(f)
    def run(cx: Context, *args: Any, **kwargs: Any) -> AbsVal:
        given = [x for a in args for x in (a if isinstance(a, list) else (a,))]
        return all_settled(cx, given, lambda: f(cx, *args, **kwargs))

    return run  # type: ignore[return-value]


def length(cx: Context, o: PartialDict) -> AbsVal:
    """`len(d)`"""
    from torch2cpp.binding.operators import binary

    out: AbsVal = Static(0)
    for x in o.items.values():
        out = binary(cx, "+", out, presence(cx, x))
    return out


def truth(cx: Context, ref: Ref, o: PartialDict) -> Static | Host:
    """`bool(d)`"""
    from torch2cpp.binding.operators import truth as truth_of_whole

    if not all(map(may_be_missing, o.items.values())):
        return Static(True)
    out: Static | Host = settled(cx, ref, lambda: truth_of_whole(cx, ref))
    return out


def entry(cx: Context, ref: Ref, key: Any, kind: str) -> AbsVal:
    """What a view of the dict shows for a key that is there."""
    if kind == "keys":
        return Static(key)
    o = resolve(cx, ref)
    value = held_item(cx, o.items[key])
    return value if kind == "values" else Tup((Static(key), value))


def field_operand(cx: Context, value: AbsVal, want: OptionalType) -> Operand:
    """The item of a key that may be missing, as the field of a struct."""
    there = presence(cx, value)
    none = functools.partial(cx.host, "optional.none", type_=want, label="none")
    if isinstance(value, Rt) and may_be_unbound(value) and isinstance(there, Host):
        from torch2cpp.binding.convert import same_layout

        assert isinstance(value.type, OptionalType)
        if same_layout(value.type.elem, want.elem):
            return cx.host("optional.cast", value.operand, type_=want, label=value.operand.name)

    def some() -> AbsVal:
        inner = to_operand(cx, held_item(cx, value), want.elem)
        return Rt(cx.host("optional.some", inner, type_=want, label="some"), want)

    if isinstance(there, Static):
        return some().operand if there.value else none()
    return branch(cx, there.operand, some, lambda: Rt(none(), want), "field", cx.span).operand


# Methods ------------------------------------------------------------------------------------------


def method(cx: Context, ref: Ref, o: PartialDict, name: str) -> Native | None:
    """A method of the dict; None if dicts have none of that name."""
    from torch2cpp.binding.dict_methods import DICT

    if name in ("keys", "values", "items"):
        return Native(name, lambda c, a, k: Iter("dict_view", (ref,), name))
    own = {"get": _get, "copy": _copy, "clear": _clear}.get(name)
    if own is not None:
        return Native(name, lambda c, a, k: own(c, ref, a, k))
    handler = DICT.get(name)
    if handler is None:
        return None
    if name == "update":
        return Native(name, lambda c, a, k: handler(c, ref, a, k))

    def of_each(c: Context, args: list[AbsVal], kwargs: dict[str, AbsVal]) -> AbsVal:
        first = args[0] if args and name in ("pop", "setdefault") else None
        keys = [first.value] if isinstance(first, Static) else None

        def on_what_is_there() -> AbsVal:
            found = resolve(c, ref)
            if keys is not None and isinstance(found, PartialDict):
                return _one_key(c, ref, found, name, args)
            return handler(c, ref, list(args), dict(kwargs))

        return settled(c, ref, on_what_is_there, keys)

    return Native(name, of_each)


def _one_key(cx: Context, ref: Ref, o: PartialDict, name: str, args: list[AbsVal]) -> AbsVal:
    """`pop` and `setdefault` of a key that is known to be there or not, while others are not."""
    key = args[0].value
    default = args[1] if len(args) > 1 else None
    if name == "setdefault":
        if key not in o.items:
            set_item(cx, ref, o, args[0], default or NONE)
            return default or NONE
        return o.items[key]
    if key not in o.items:
        if default is None:
            cx.raise_(KeyError, repr(key))
        return default
    value = o.items[key]
    delete_item(cx, ref, o, args[0])
    return value


def _get(cx: Context, ref: Ref, args: list[AbsVal], kwargs: dict[str, AbsVal]) -> AbsVal:
    from torch2cpp.binding.dict_methods import DICT
    from torch2cpp.binding.list_methods import arity

    arity(cx, "get", args, kwargs, 1, 2)
    o = resolve(cx, ref)
    if not isinstance(o, PartialDict) or not isinstance(args[0], Static):
        return settled(cx, ref, lambda: DICT["get"](cx, ref, list(args), {}))
    default = args[1] if len(args) > 1 else NONE
    value = o.items.get(args[0].value, UNBOUND)
    there = presence(cx, value)
    if isinstance(there, Static):
        return held_item(cx, value) if there.value else default
    if isinstance(value, Rt) and isinstance(default, Static) and default.value is None:
        return Rt(value.operand, value.type, example=value.example)
    return branch(cx, there.operand, lambda: held_item(cx, value), lambda: default, "value", cx.span)


def _copy(cx: Context, ref: Ref, args: list[AbsVal], kwargs: dict[str, AbsVal]) -> AbsVal:
    from torch2cpp.binding.containers import new_dict
    from torch2cpp.binding.item_writes import dict_update

    site, o = cx.site(None), resolve(cx, ref)
    if site in cx.facts.containers or site in cx.facts.structs or not isinstance(o, PartialDict):
        made = new_dict(cx, [], site)
        dict_update(cx, made, ref)
        return made
    out = Ref(fresh_id())
    cx.state.heap[out.id] = PartialDict(dict(o.items), site)
    return out


def _clear(cx: Context, ref: Ref, args: list[AbsVal], kwargs: dict[str, AbsVal]) -> AbsVal:
    cx.write(ref.id, DictObj({}, resolve(cx, ref).site))
    return NONE
