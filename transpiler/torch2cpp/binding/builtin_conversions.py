"""int, float, str, list, dict and the other types called as functions."""

from __future__ import annotations

import torch

from torch2cpp.binding import operators, struct_dicts
from torch2cpp.binding.builtin_table import TABLE, Handler, all_static, builtin, static_first, tensor_or_item
from torch2cpp.binding.context import Context
from torch2cpp.binding.convert import describe, is_scalar, resolve
from torch2cpp.binding.dict_views import snapshot, unordered
from torch2cpp.binding.kept_objects import is_kept
from torch2cpp.binding.values import (
    AbsVal,
    DictObj,
    Host,
    PartialDict,
    Rt,
    Static,
    Tup,
)
from torch2cpp.hostir.types import FLOAT, INT, STR, DictType, ListType, SetType

# Conversions -------------------------------------------------------------------------------------


@builtin(int)
def _int(cx: Context, args: list[AbsVal], kwargs: dict[str, AbsVal]) -> AbsVal:
    if not args and not kwargs:
        return Static(0)
    if len(args) > 1 or kwargs:
        return _int_with_base(cx, args, kwargs)
    v = tensor_or_item(cx, args[0])
    if isinstance(v, Static) and not is_kept(cx, v.value):
        return operators.static_call(cx, int, v.value)
    if isinstance(v, Host):
        if v.type == INT:
            return v
        return operators.with_hints(cx, cx.scalar("int", v.operand), int, v)
    made = _converted(cx, v, "__int__", "__index__", "__trunc__")
    if made is None:
        cx.refuse("T2C150", f"int() of {describe(cx, v)}", "convert a number or a tensor of one element")
    return made


def _int_with_base(cx: Context, args: list[AbsVal], kwargs: dict[str, AbsVal]) -> AbsVal:
    """`int(text, base)`"""
    from torch2cpp.binding.calls import call_python
    from torch2cpp.binding.in_python import number_text

    base = kwargs.get("base", args[1] if len(args) > 1 else None)
    if all(isinstance(v, Static) for v in (*args, *kwargs.values())):
        values, named = [v.value for v in args], {k: v.value for k, v in kwargs.items()}
        return operators.static_call(cx, lambda: int(*values, **named))
    text = resolve(cx, args[0]) if args else None
    if not isinstance(text, Host) or text.type != STR:
        cx.raise_(TypeError, "int() can't convert non-string with explicit base")
    if len(args) > 2 or kwargs.keys() - {"base"} or not isinstance(base, Static) or type(base.value) is not int:
        cx.refuse("T2C150", f"int() with the base {describe(cx, base)}", "give the base as a number")
    if not 2 <= base.value <= 36:
        cx.refuse("T2C150", f"int() of a run-time string with the base {base.value}", "give a base of 2 to 36")
    return call_python(cx, number_text.int_with_base, [text, base], {})  # type: ignore[arg-type]


@builtin(float)
def _float(cx: Context, args: list[AbsVal], kwargs: dict[str, AbsVal]) -> AbsVal:
    v = tensor_or_item(cx, args[0]) if args else Static(0.0)
    if isinstance(v, Static) and not is_kept(cx, v.value):
        return operators.static_call(cx, float, v.value)
    if isinstance(v, Host):
        return v if v.type == FLOAT else operators.with_hints(cx, cx.scalar("float", v.operand), float, v)
    made = _converted(cx, v, "__float__", "__index__")
    if made is not None:
        return _float(cx, [made], {})
    cx.refuse("T2C150", f"float() of {describe(cx, v)}", "convert a number or a tensor of one element")


def _converted(cx: Context, v: AbsVal, *methods: str) -> AbsVal | None:
    """What the first of these methods that the object has gives."""
    from torch2cpp.binding.calls import call_method_if_any, find_method

    name = next((m for m in methods if find_method(cx, v, m) is not None), None)
    return None if name is None else call_method_if_any(cx, v, name, [])


def _in_base(spec: str) -> Handler:
    """hex, bin and oct."""

    def run(cx: Context, args: list[AbsVal], kwargs: dict[str, AbsVal]) -> AbsVal:
        v = tensor_or_item(cx, args[0])
        if not is_scalar(v) or operators._type(v).kind not in ("int", "bool"):
            kind = operators._type(v).kind if is_scalar(v) else "object"
            cx.raise_(TypeError, f"'{kind}' object cannot be interpreted as an integer")
        n = cx.host("int", operators.scalar_operand(cx, v)) if operators._type(v).kind == "bool" else v.operand
        return cx.scalar("str.format", n, spec, label="text")

    return run


for _f, _spec in ((hex, "#x"), (bin, "#b"), (oct, "#o")):
    TABLE[_f] = static_first(_f)(_in_base(_spec))


@builtin(bool)
def _bool(cx: Context, args: list[AbsVal], kwargs: dict[str, AbsVal]) -> AbsVal:
    return operators.truth(cx, args[0]) if args else Static(False)


@builtin(str)
def _str(cx: Context, args: list[AbsVal], kwargs: dict[str, AbsVal]) -> AbsVal:
    from torch2cpp.binding.strings import to_str

    return to_str(cx, args[0]) if args else Static("")


@builtin(repr)
def _repr(cx: Context, args: list[AbsVal], kwargs: dict[str, AbsVal]) -> AbsVal:
    from torch2cpp.binding.strings import to_repr

    return to_repr(cx, args[0])


@builtin(list, static=False)
def _list(cx: Context, args: list[AbsVal], kwargs: dict[str, AbsVal]) -> AbsVal:
    from torch2cpp.binding.comprehensions import collect
    from torch2cpp.binding.containers import new_list

    if not args:
        return new_list(cx, [], cx.site(None))
    if isinstance(args[0], Static) and isinstance(args[0].value, torch.nn.Module):
        return Static(list(args[0].value))  # type: ignore[call-overload]
    args = [snapshot(cx, args[0])]
    o = resolve(cx, args[0])
    if isinstance(o, Rt) and isinstance(o.type, SetType):
        from torch2cpp.binding.containers import fresh_rt
        from torch2cpp.binding.set_methods import is_ordered

        if not is_ordered(cx, o.type.elem):
            return unordered(cx, o)
        t = ListType(o.type.elem)
        return fresh_rt(cx, "set.members", o.operand, type_=t, example=o.example, site=cx.site(None))
    if isinstance(o, Rt) and isinstance(o.type, ListType):
        from torch2cpp.binding.containers import fresh_rt

        t = ListType(o.type.elem)
        return fresh_rt(cx, "list.copy", o.operand, type_=t, example=o.example, site=cx.site(None))
    return collect(cx, args[0])


@builtin(tuple, static=False)
def _tuple(cx: Context, args: list[AbsVal], kwargs: dict[str, AbsVal]) -> AbsVal:
    from torch2cpp.binding.iteration import known_items

    if not args:
        return Static(())
    source = snapshot(cx, args[0])
    o = resolve(cx, source)
    if isinstance(o, Rt) and isinstance(o.type, SetType):
        from torch2cpp.binding.set_methods import is_ordered, members_of

        if not is_ordered(cx, o.type.elem):
            return unordered(cx, o)
        return _run_time_tuple(cx, members_of(cx, o))
    items = known_items(cx, source)
    if items is None:
        return _run_time_tuple(cx, source)
    if all(isinstance(i, Static) for i in items):
        return Static(tuple(i.value for i in items))
    return Tup(tuple(items))


def _run_time_tuple(cx: Context, v: AbsVal) -> AbsVal:
    """A tuple of run-time length: a list that nobody changes."""
    from torch2cpp.binding.comprehensions import collect
    from torch2cpp.binding.containers import fresh_rt

    o = resolve(cx, v)
    listed = o if isinstance(o, Rt) and isinstance(o.type, ListType) else resolve(cx, collect(cx, v))
    assert isinstance(listed, Rt) and isinstance(listed.type, ListType)
    t = ListType(listed.type.elem, "tuple")
    return fresh_rt(cx, "list.copy", listed.operand, type_=t, example=listed.example, site=cx.site(None))


@builtin(dict, static=False)
def _dict(cx: Context, args: list[AbsVal], kwargs: dict[str, AbsVal]) -> AbsVal:
    from torch2cpp.binding.comprehensions import consume
    from torch2cpp.binding.containers import new_dict
    from torch2cpp.binding.item_writes import dict_update, put_mapping, set_item
    from torch2cpp.binding.unpacking import unpack

    ref = new_dict(cx, [], cx.site(None))
    if args:
        o = resolve(cx, args[0])
        mapping = (
            isinstance(o, DictObj | PartialDict)
            or (isinstance(o, Rt) and (isinstance(o.type, DictType) or struct_dicts.is_dict(cx, o)))
            or (isinstance(o, Static) and isinstance(o.value, dict))
        )
        if mapping:
            dict_update(cx, ref, args[0])
        elif not put_mapping(cx, ref, args[0]):

            def put(pair: AbsVal) -> None:
                k, v = unpack(cx, pair, 2, None)
                set_item(cx, ref, k, v)

            consume(cx, args[0], put, cx.site(None))
    for name, v in kwargs.items():
        set_item(cx, ref, Static(name), v)
    return ref


@builtin(set, static=False)
def _set(cx: Context, args: list[AbsVal], kwargs: dict[str, AbsVal]) -> AbsVal:
    from torch2cpp.binding.containers import new_set
    from torch2cpp.binding.literal_sets import make_set
    from torch2cpp.binding.set_methods import copy_of, is_rt_set, update

    site = cx.site(None)
    if all_static(cx, args, kwargs):
        known = operators.static_call(cx, set, *(a.value for a in args))
        return make_set(cx, known.value, site)
    if args and is_rt_set(resolve(cx, args[0])):
        return copy_of(cx, args[0], site)
    ref = new_set(cx, [], site)
    if args:
        update(cx, ref, args[0])
    return ref


@builtin(frozenset)
def _frozenset(cx: Context, args: list[AbsVal], kwargs: dict[str, AbsVal]) -> AbsVal:
    return _set(cx, args, kwargs)


@builtin(ord)
def _ord(cx: Context, args: list[AbsVal], kwargs: dict[str, AbsVal]) -> AbsVal:
    text = resolve(cx, args[0])
    if not isinstance(text, Host) or text.type != STR:
        cx.refuse("T2C150", f"ord() of {describe(cx, text)}", "give it a string of one character")
    return cx.scalar("str.ord", text.operand)


@builtin(chr)
def _chr(cx: Context, args: list[AbsVal], kwargs: dict[str, AbsVal]) -> AbsVal:
    point = tensor_or_item(cx, args[0])
    if not isinstance(point, Host) or point.type != INT:
        cx.refuse("T2C150", f"chr() of {describe(cx, point)}", "give it an int")
    return cx.scalar("str.chr", point.operand)
