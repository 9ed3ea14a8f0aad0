"""Methods of dicts and sets."""

from __future__ import annotations

from torch2cpp.binding import operators, struct_dicts
from torch2cpp.binding.container_operators import contains
from torch2cpp.binding.containers import new_dict, new_set, run_time, site_of, widen_dict_with, widen_element
from torch2cpp.binding.context import Context, Restart
from torch2cpp.binding.control import branch
from torch2cpp.binding.convert import NoType, describe, from_operand, resolve, to_operand
from torch2cpp.binding.dict_views import snapshot, view
from torch2cpp.binding.item_writes import dict_update, set_item
from torch2cpp.binding.items import is_like, missing_key, need_static_if_loop
from torch2cpp.binding.keys import key_operand
from torch2cpp.binding.list_methods import Handler, arity, message_of, raise_if, static_value
from torch2cpp.binding.literal_sets import LiteralSet, make_run_time_set
from torch2cpp.binding.values import NONE, AbsVal, DictObj, Host, Iter, PartialDict, Rt, Static, Tup
from torch2cpp.binding.widening import widen_dict
from torch2cpp.hostir.types import NEVER, DictType, ListType, SetType

Args = list[AbsVal]
Kwargs = dict[str, AbsVal]


def _dict_rt(o: AbsVal) -> DictType:
    assert isinstance(o, Rt) and isinstance(o.type, DictType)
    return o.type


def _key(cx: Context, v: AbsVal) -> AbsVal:
    """A key argument; one that is known counts as static."""
    return static_value(v) or v


def make_run_time_dict(cx: Context, o: DictObj, key: AbsVal) -> None:
    """Starts binding again with this dict as a run-time one, since a key is decided at run time."""
    need_static_if_loop(cx, key)
    try:
        widen_dict(cx, cx.state, o)
    except NoType as error:
        cx.refuse("T2C112", f"{error} is stored in a dict with run-time keys", "store tensors and numbers in it")
    raise Restart


# Dicts --------------------------------------------------------------------------------------------


def _get(cx: Context, ref: AbsVal, args: Args, kwargs: Kwargs) -> AbsVal:
    arity(cx, "get", args, kwargs, 1, 2)
    o, key, default = resolve(cx, ref), _key(cx, args[0]), args[1] if len(args) > 1 else NONE
    if isinstance(o, Static):
        return _static_get(cx, dict(o.value), key, default)
    if isinstance(o, DictObj):
        if not isinstance(key, Static):
            make_run_time_dict(cx, o, key)
        return o.items.get(key.value, default) if isinstance(key, Static) else default
    if _dict_rt(o).value == NEVER:
        return default  # nothing was put in on any path
    k = key_operand(cx, o, key)
    if isinstance(default, Static) and default.value is None:
        return from_operand(cx, cx.host("dict.find", o.operand, k, label="found"), example=o.example)
    return _if_present(cx, o, k, lambda: _value(cx, o, "dict.get", k), lambda: default)


def _value(cx: Context, o: Rt, op: str, k: object) -> AbsVal:
    t = _dict_rt(o)
    return from_operand(cx, cx.host(op, o.operand, k, type_=t.value, label="value"), t.value, o.example)


def _if_present(cx: Context, o: Rt, k: object, then: object, orelse: object) -> AbsVal:
    present = cx.host("dict.contains", o.operand, k, label="present")
    return branch(cx, present, then, orelse, "value", cx.span)  # type: ignore[arg-type]


def _static_get(cx: Context, items: dict[object, object], key: AbsVal, default: AbsVal) -> AbsVal:
    """A dict of the model looked up with a run-time key: one branch per entry."""
    if isinstance(key, Host):
        need_static_if_loop(cx, key)
    entries = [(k, v) for k, v in items.items() if not isinstance(key, Host) or is_like(k, key)]

    def step(i: int) -> AbsVal:
        if i == len(entries):
            return default
        k, v = entries[i]
        same = operators.truth(cx, operators.compare(cx, "==", key, Static(k)))
        if isinstance(same, Static):
            return Static(v) if same.value else step(i + 1)
        return branch(cx, same.operand, lambda: Static(v), lambda: step(i + 1), "entry", cx.span)

    return step(0)


def _view(kind: str) -> Handler:
    def call(cx: Context, ref: AbsVal, args: Args, kwargs: Kwargs) -> AbsVal:
        arity(cx, kind, args, kwargs, 0, 0)
        return view(ref, kind)

    return call


def _pop(cx: Context, ref: AbsVal, args: Args, kwargs: Kwargs) -> AbsVal:
    arity(cx, "pop", args, kwargs, 1, 2)
    o, key = resolve(cx, ref), _key(cx, args[0])
    if isinstance(o, DictObj):
        if not isinstance(key, Static):
            make_run_time_dict(cx, o, key)
            raise Restart
        if key.value not in o.items:
            if len(args) > 1:
                return args[1]
            cx.raise_(KeyError, repr(key.value))
        rest = {k: v for k, v in o.items.items() if k != key.value}
        cx.write(ref.id, DictObj(rest, o.site, o.factory))
        return o.items[key.value]
    if _dict_rt(o).value == NEVER:
        return args[1] if len(args) > 1 else missing_key(cx, key)
    k = key_operand(cx, o, key)
    if len(args) == 1:
        return _value(cx, o, "dict.pop", k)
    return _if_present(cx, o, k, lambda: _value(cx, o, "dict.pop", k), lambda: args[1])


def _popitem(cx: Context, ref: AbsVal, args: Args, kwargs: Kwargs) -> AbsVal:
    given = args[0] if args else kwargs.pop("last", Static(True))
    arity(cx, "popitem", args, kwargs, 0, 1)
    if not isinstance(given, Static):
        cx.refuse("T2C238", "popitem() with a run-time argument", "write True or False")
    newest = bool(given.value)
    o = resolve(cx, ref)
    if isinstance(o, DictObj):
        if not o.items:
            cx.raise_(KeyError, "'popitem(): dictionary is empty'")
        items = dict(o.items)
        key = list(items)[-1 if newest else 0]
        value = items.pop(key)
        cx.write(ref.id, DictObj(items, o.site, o.factory))
        return Tup((Static(key), value))
    t = _dict_rt(o)
    empty = cx.host("eq", cx.host("dict.len", o.operand), 0, label="empty")
    raise_if(cx, empty, KeyError, lambda: "'popitem(): dictionary is empty'")
    keys = cx.host("dict.keys", o.operand, type_=ListType(t.key), label="keys")
    last = cx.host("list.get", keys, -1 if newest else 0, type_=t.key, label="last" if newest else "first")
    value = _value(cx, o, "dict.pop", last)
    return Tup((from_operand(cx, last, t.key), value))


def _setdefault(cx: Context, ref: AbsVal, args: Args, kwargs: Kwargs) -> AbsVal:
    arity(cx, "setdefault", args, kwargs, 1, 2)
    o, key, default = resolve(cx, ref), _key(cx, args[0]), args[1] if len(args) > 1 else NONE
    if isinstance(o, DictObj):
        if isinstance(key, Static) and key.value in o.items:
            return o.items[key.value]
        set_item(cx, ref, key, default)
        return default
    if widen_dict_with(cx, site_of(cx, ref), o.type, key, default) != o.type:
        raise Restart
    k = key_operand(cx, o, key)
    missing = cx.host("not", cx.host("dict.contains", o.operand, k), label="missing")

    def put() -> AbsVal:
        set_item(cx, ref, key, default)
        return NONE

    branch(cx, missing, put, lambda: NONE, "default", cx.span)
    return _value(cx, o, "dict.get", k)


def _update(cx: Context, ref: AbsVal, args: Args, kwargs: Kwargs) -> AbsVal:
    from torch2cpp.binding.comprehensions import consume
    from torch2cpp.binding.unpacking import unpack

    arity(cx, "update", args, {}, 0, 1)
    if args:
        o = resolve(cx, args[0])
        run_time = isinstance(o, Rt) and (isinstance(o.type, DictType) or struct_dicts.is_dict(cx, o))
        if run_time or isinstance(o, DictObj | PartialDict) or (isinstance(o, Static) and isinstance(o.value, dict)):
            dict_update(cx, ref, args[0])
        else:

            def one(pair: AbsVal) -> None:
                k, v = unpack(cx, pair, 2, None)
                set_item(cx, ref, _key(cx, k), v)

            consume(cx, args[0], one, (cx.site(None), "update"))
    for name, v in kwargs.items():
        set_item(cx, ref, Static(name), v)
    return NONE


def _clear(cx: Context, ref: AbsVal, args: Args, kwargs: Kwargs) -> AbsVal:
    arity(cx, "clear", args, kwargs, 0, 0)
    o = resolve(cx, ref)
    if isinstance(o, DictObj):
        cx.write(ref.id, DictObj({}, o.site, o.factory))
    else:
        cx.effect("dict.clear", o.operand)
    return NONE


def _copy(cx: Context, ref: AbsVal, args: Args, kwargs: Kwargs) -> AbsVal:
    arity(cx, "copy", args, kwargs, 0, 0)
    o = resolve(cx, ref)
    site = cx.site(None)
    if isinstance(o, DictObj):
        return new_dict(cx, [(Static(k), v) for k, v in o.items.items()], site, o.factory)
    value = cx.host("dict.copy", o.operand, type_=o.type, label="dict")
    return run_time(cx, Rt(value, o.type, example=o.example), site)


def _move_to_end(cx: Context, ref: AbsVal, args: Args, kwargs: Kwargs) -> AbsVal:
    """Of an OrderedDict."""
    given = args[1] if len(args) > 1 else kwargs.pop("last", Static(True))
    arity(cx, "move_to_end", args, kwargs, 1, 2)
    o, key = resolve(cx, ref), _key(cx, args[0])
    last = isinstance(given, Static) and bool(given.value)
    if isinstance(o, DictObj) and isinstance(key, Static) and isinstance(given, Static):
        if key.value not in o.items:
            cx.raise_(KeyError, repr(key.value))
        rest = {k: v for k, v in o.items.items() if k != key.value}
        moved = {key.value: o.items[key.value]}
        cx.write(ref.id, DictObj({**rest, **moved} if last else {**moved, **rest}, o.site, o.factory))
        return NONE
    if not last:
        cx.refuse("T2C238", "move_to_end(last=False) of a run-time dict", "make a new dict")
    value = _pop(cx, ref, [args[0]], {})
    set_item(cx, ref, args[0], value)
    return NONE


READING_DICT: dict[str, Handler] = {"get": _get}
DICT: dict[str, Handler] = {
    "get": _get, "keys": _view("keys"), "values": _view("values"), "items": _view("items"), "pop": _pop,
    "popitem": _popitem, "move_to_end": _move_to_end, "setdefault": _setdefault, "update": _update, "clear": _clear,
    "copy": _copy,
}  # fmt: skip


# Sets ---------------------------------------------------------------------------------------------


def set_add(cx: Context, ref: AbsVal, value: AbsVal) -> None:
    """`ref.add(value)`"""
    o = resolve(cx, ref)
    if isinstance(o, Static):
        from torch2cpp.binding.model_state import make_state

        if isinstance(o.value, LiteralSet):
            make_run_time_set(cx, o.value)
        make_state(cx, o.value)
        cx.refuse("T2C236", f"{describe(cx, o)} is changed", "make the set with set() inside the deployed code")
    assert isinstance(o, Rt) and isinstance(o.type, SetType)
    widen_element(cx, site_of(cx, ref), o.type, value)
    cx.effect("set.add", o.operand, to_operand(cx, value, o.type.elem))


def _add(cx: Context, ref: AbsVal, args: Args, kwargs: Kwargs) -> AbsVal:
    arity(cx, "add", args, kwargs, 1, 1)
    set_add(cx, ref, args[0])
    return NONE


def _discard(cx: Context, ref: AbsVal, args: Args, kwargs: Kwargs) -> AbsVal:
    arity(cx, "discard", args, kwargs, 1, 1)
    o = resolve(cx, ref)
    assert isinstance(o, Rt) and isinstance(o.type, SetType)
    cx.effect("set.discard", o.operand, to_operand(cx, args[0], o.type.elem))
    return NONE


def _remove(cx: Context, ref: AbsVal, args: Args, kwargs: Kwargs) -> AbsVal:
    arity(cx, "remove", args, kwargs, 1, 1)
    missing = operators.logical_not(cx, contains(cx, ref, args[0]))
    assert isinstance(missing, Host)
    raise_if(cx, missing.operand, KeyError, lambda: message_of(cx, "", args[0], ""))
    return _discard(cx, ref, args, {})


def _set_update(cx: Context, ref: AbsVal, args: Args, kwargs: Kwargs) -> AbsVal:
    from torch2cpp.binding.comprehensions import consume

    arity(cx, "update", args, kwargs, 0, 1024)
    for i, other in enumerate(args):
        items = members_in_order(cx, other)
        consume(cx, items, lambda x: set_add(cx, ref, x), (cx.site(None), "update", i))
    return NONE


def members_in_order(cx: Context, v: AbsVal) -> AbsVal:
    """An iterable whose order does not matter: run-time sets are walked in sorted order."""
    o = resolve(cx, v)
    if isinstance(o, Iter):
        return snapshot(cx, o, any_order=True)
    if isinstance(o, Rt) and isinstance(o.type, SetType):
        listed = cx.host("set.sorted", o.operand, label="members")
        return Rt(listed, listed.type, example=o.example)
    return v


def _combined(keep: bool | None) -> Handler:
    """`union` (None), `intersection` (True), `difference` (False): a new set."""

    def combine(cx: Context, ref: AbsVal, args: Args, kwargs: Kwargs) -> AbsVal:
        from torch2cpp.binding.comprehensions import consume

        arity(cx, "union or difference", args, kwargs, 1, 1)
        out = new_set(cx, [], cx.site(None))

        def one(x: AbsVal) -> None:
            if keep is None:
                set_add(cx, out, x)
                return
            inside = contains(cx, args[0], x)
            wanted = inside if keep else operators.logical_not(cx, inside)

            def put() -> AbsVal:
                set_add(cx, out, x)
                return NONE

            if isinstance(wanted, Static):
                if wanted.value:
                    put()
            else:
                branch(cx, wanted.operand, put, lambda: NONE, "member", cx.span)

        consume(cx, members_in_order(cx, ref), one, (cx.site(None), "left"))
        if keep is None:
            consume(cx, members_in_order(cx, args[0]), one, (cx.site(None), "right"))
        return out

    return combine


def _refused(what: str, remedy: str) -> Handler:
    def refuse(cx: Context, ref: AbsVal, args: Args, kwargs: Kwargs) -> AbsVal:
        cx.refuse("T2C238", what, remedy)

    return refuse


def _set_copy(cx: Context, ref: AbsVal, args: Args, kwargs: Kwargs) -> AbsVal:
    arity(cx, "copy", args, kwargs, 0, 0)
    out = new_set(cx, [], cx.site(None))
    _set_update(cx, out, [ref], {})
    return out


def _as_a_set(cx: Context, v: AbsVal) -> AbsVal:
    """An argument of a set's method, which may be any iterable, as a run-time set."""
    o = resolve(cx, v)
    if isinstance(o, Rt) and isinstance(o.type, SetType):
        return v
    out = new_set(cx, [], (cx.site(None), "as_set"))
    _set_update(cx, out, [Tup(tuple(map(Static, sorted(o.value, key=repr)))) if isinstance(o, Static) and isinstance(
        o.value, set | frozenset) else v], {})  # fmt: skip
    return out


def _set_order(sign: str) -> Handler:
    def compare(cx: Context, ref: AbsVal, args: Args, kwargs: Kwargs) -> AbsVal:
        from torch2cpp.binding.set_operators import ordered

        arity(cx, "issubset or issuperset", args, kwargs, 1, 1)
        return ordered(cx, sign, resolve(cx, ref), resolve(cx, _as_a_set(cx, args[0])))

    return compare


def _disjoint(cx: Context, ref: AbsVal, args: Args, kwargs: Kwargs) -> AbsVal:
    from torch2cpp.binding.calls import call_python
    from torch2cpp.binding.in_python import sets

    arity(cx, "isdisjoint", args, kwargs, 1, 1)
    members = members_in_order(cx, resolve(cx, ref))
    return call_python(cx, sets.apart, [members, _as_a_set(cx, args[0])], {})  # type: ignore[arg-type]


def _symmetric(cx: Context, ref: AbsVal, args: Args, kwargs: Kwargs) -> AbsVal:
    from torch2cpp.binding.set_operators import set_binary

    arity(cx, "symmetric_difference", args, kwargs, 1, 1)
    return set_binary(cx, "^", ref, _as_a_set(cx, args[0]))


def _set_clear(cx: Context, ref: AbsVal, args: Args, kwargs: Kwargs) -> AbsVal:
    from torch2cpp.binding.comprehensions import consume

    arity(cx, "clear", args, kwargs, 0, 0)
    o = resolve(cx, ref)
    consume(cx, members_in_order(cx, o), lambda x: _take_out(cx, ref, x), (cx.site(None), "clear"))
    return NONE


def _take_out(cx: Context, ref: AbsVal, x: AbsVal) -> None:
    _discard(cx, ref, [x], {})


SET: dict[str, Handler] = {
    "add": _add, "discard": _discard, "remove": _remove, "update": _set_update, "copy": _set_copy,
    "union": _combined(None), "intersection": _combined(True), "difference": _combined(False),
    "pop": _refused("set.pop(), which takes an undefined element", "pop from a list"),
    "clear": _set_clear, "issubset": _set_order("<="), "issuperset": _set_order(">="), "isdisjoint": _disjoint,
    "symmetric_difference": _symmetric,
}  # fmt: skip
