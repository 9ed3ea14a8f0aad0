"""Methods of dicts and sets."""

from __future__ import annotations

from torch2cpp.binding import operators, struct_dicts
from torch2cpp.binding.containers import new_dict, run_time, site_of, widen_dict_with
from torch2cpp.binding.context import Context, Restart
from torch2cpp.binding.control import branch
from torch2cpp.binding.convert import NoType, from_operand, resolve
from torch2cpp.binding.dict_views import view
from torch2cpp.binding.item_writes import dict_update, put_mapping, set_item
from torch2cpp.binding.items import is_like, missing_key, need_static_if_loop
from torch2cpp.binding.keys import key_operand
from torch2cpp.binding.list_methods import Handler, arity, raise_if, static_value
from torch2cpp.binding.tables import dict_table, refuse_many
from torch2cpp.binding.values import NONE, AbsVal, DictObj, Host, PartialDict, Rt, Static, Tup
from torch2cpp.binding.widening import widen_dict
from torch2cpp.hostir.types import NEVER, DictType, ListType

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
        return _static_get(cx, o.value if type(o.value) is dict else dict(o.value), key, default)
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
    table = dict_table(cx, items, key)
    if table is not None:
        k = key_operand(cx, table, key)
        return _if_present(cx, table, k, lambda: _value(cx, table, "dict.get", k), lambda: default)
    entries = [(k, v) for k, v in items.items() if not isinstance(key, Host) or is_like(k, key)]
    refuse_many(cx, len(entries), "a dict looks among")

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
        elif not put_mapping(cx, ref, args[0]):

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
