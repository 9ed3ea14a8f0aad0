"""Membership, operators and comparison of lists, tuples, dicts and sets."""

from __future__ import annotations

import numbers
from typing import Any

import torch

from torch2cpp.binding import operators, partial_dicts, struct_dicts
from torch2cpp.binding.aten import call_aten
from torch2cpp.binding.choices import distributes
from torch2cpp.binding.containers import element_type, fresh_rt, new_list
from torch2cpp.binding.context import Context
from torch2cpp.binding.convert import describe, is_scalar, resolve, same_layout, to_operand, type_of
from torch2cpp.binding.counter_methods import counter_binary, counter_equal, counter_inplace
from torch2cpp.binding.dict_views import is_view, snapshot
from torch2cpp.binding.items import _tuple
from torch2cpp.binding.kept_objects import holds_state
from torch2cpp.binding.keys import key_operand
from torch2cpp.binding.own_equality import searched
from torch2cpp.binding.tables import refuse_many, set_table, static_elements
from torch2cpp.binding.unlike import common_type
from torch2cpp.binding.values import (
    AbsVal,
    DictObj,
    Host,
    Iter,
    ListObj,
    PartialDict,
    RangeVal,
    Rt,
    Static,
    Tensor,
    Tup,
)
from torch2cpp.hostir.types import BOOL, FLOAT, INT, NEVER, STR, DictType, ListType, SetType, StructType, Type


def _is_float_among_ints(cx: Context, o: Rt, item: AbsVal) -> bool:
    """Whether a float is looked for among the keys of a run-time dict or set that are ints."""
    keys = o.type.key if isinstance(o.type, DictType) else o.type.elem  # type: ignore[union-attr]
    return keys == INT and is_scalar(item) and type_of(cx, item) == FLOAT


@distributes
def contains(cx: Context, obj: AbsVal, item: AbsVal) -> AbsVal:
    """`item in obj`"""
    o = resolve(cx, obj)
    if is_view(o, "keys"):
        return contains(cx, o.parts[0], item)
    o = obj = snapshot(cx, o, any_order=True) if isinstance(o, Iter) else obj
    o = resolve(cx, o)
    known = isinstance(o, Static) and isinstance(item, Static) and not isinstance(o.value, torch.Tensor)
    if known and not holds_state(cx, o.value) and not holds_state(cx, item.value):
        return operators.static_call(cx, lambda x, y: y in x, o.value, item.value)
    t = operators.tensor_of(cx, o)
    if t is not None:
        return _tensor_contains(cx, t, item)
    found = searched(cx, o, "contains", item)
    if found is not None:
        return found
    match o:
        case Rt() if isinstance(o.type, ListType | SetType | DictType):
            kind = {ListType: "list", SetType: "set", DictType: "dict"}[type(o.type)]
            if kind != "list" and _is_float_among_ints(cx, o, item):
                from torch2cpp.binding.calls import call_python
                from torch2cpp.binding.in_python import searching

                return call_python(cx, searching.contains_as_int, [obj, item], {})  # type: ignore[arg-type]
            key = key_operand(cx, o, item) if kind != "list" else to_operand(cx, item, o.type.elem)  # type: ignore[union-attr]
            return cx.scalar(f"{kind}.contains", o.operand, key, type_=BOOL)
        case DictObj() if isinstance(item, Static):
            return Static(item.value in o.items)
        case PartialDict():
            return partial_dicts.contains(cx, obj, o, item)
        case Rt() if isinstance(o.type, StructType) and not isinstance(cx.struct_key(o.type.name), type):
            return struct_dicts.contains(cx, o, item)
        case Static(value) if isinstance(value, dict | torch.nn.ModuleDict):
            return any_equal(cx, [Static(k) for k in value], item, value)
        case Static(value) if isinstance(value, set | frozenset | range):
            return any_equal(cx, [Static(k) for k in value], item, value)
        case Static(value) if isinstance(value, str):
            return cx.scalar("str.contains", value, operators.scalar_operand(cx, item))
        case RangeVal() if isinstance(item, Host | Static) and is_scalar(item) and type_of(cx, item) in (INT, BOOL):
            from torch2cpp.binding.calls import call_python
            from torch2cpp.binding.in_python import searching

            return call_python(cx, searching.in_range, [item, o.start, o.stop, o.step], {})  # type: ignore[arg-type]
        case Host() if o.type == STR:
            return cx.scalar("str.contains", o.operand, operators.scalar_operand(cx, item))
        case DictObj():
            return any_equal(cx, [Static(k) for k in o.items], item)
    from torch2cpp.binding.aten import elements

    elems = list(o.parts) if isinstance(o, Iter) and o.kind == "list" else elements(cx, obj)
    if elems is not None:
        return any_equal(cx, elems, item)
    from torch2cpp.binding.calls import call_method_if_any

    out = call_method_if_any(cx, obj, "__contains__", [item])
    if out is not None:
        return operators.truth(cx, out)
    cx.refuse("T2C163", f"membership in {describe(cx, obj)}", "use a list, tuple, dict, set or string")


def _tensor_contains(cx: Context, t: Tensor, item: AbsVal) -> AbsVal:
    """`item in tensor`: `bool((item == tensor).any())`, for numbers and tensors."""
    if isinstance(item, Static) and not isinstance(item.value, torch.Tensor | numbers.Number):
        text = f"Tensor.__contains__ only supports Tensor or scalar, but you passed in a {type(item.value)}."
        cx.raise_(RuntimeError, text)
    if not isinstance(item, Static | Tensor) and not (isinstance(item, Host) and item.type != STR):
        cx.refuse("T2C163", f"{describe(cx, item)} is looked for in a tensor", "look for a number or a tensor")
    same = operators.compare(cx, "==", item, t)
    return operators.truth(cx, call_aten(cx, "any", [same]))


def any_equal(cx: Context, elems: list[AbsVal], item: AbsVal, owner: Any = None) -> AbsVal:
    """Whether any of a known number of values equals `item`."""
    from torch2cpp.binding.control import branch

    known = static_elements(elems)
    table = set_table(cx, known, item, owner) if known is not None else None
    if table is not None:
        return contains(cx, table, item)
    if isinstance(item, Host):
        refuse_many(cx, len(elems), "it looks among")

    def step(i: int) -> AbsVal:
        if i == len(elems):
            return Static(False)
        same = operators.truth(cx, operators.compare(cx, "==", elems[i], item))
        if isinstance(same, Static):
            return Static(True) if same.value else step(i + 1)
        return branch(cx, same.operand, lambda: Static(True), lambda: step(i + 1), "found", cx.span)

    return step(0)


def container_binary(cx: Context, sign: str, a: AbsVal, b: AbsVal) -> AbsVal | None:
    """`+` and `*` of sequences, None when neither is one."""
    from torch2cpp.binding.aten import elements

    x, y = resolve(cx, a), resolve(cx, b)
    if sign == "%" and isinstance(x, Static) and isinstance(x.value, str):
        from torch2cpp.binding.strings import percent_format

        return percent_format(cx, x, b)
    counted = counter_binary(cx, sign, a, b)
    if counted is not None:
        return counted
    if sign == "*":
        if is_scalar(x):
            a, b, x, y = b, a, y, x
        return _repeat(cx, a, x, y) if is_scalar(y) else None
    if sign != "+":
        from torch2cpp.binding.set_operators import set_binary

        return set_binary(cx, sign, a, b)
    xs, ys = elements(cx, a), elements(cx, b)
    a_list = _is_list(x)
    if xs is not None and ys is not None:
        return new_list(cx, xs + ys, cx.site(None)) if a_list else _tuple(xs + ys)
    if isinstance(x, Rt | ListObj | Static | Tup) and isinstance(y, Rt | ListObj | Static | Tup):
        p, q = as_list_of(cx, a, y), as_list_of(cx, b, x)
        if p is None or q is None:
            return None
        if sequence_kind(x) != sequence_kind(y):
            cx.raise_(TypeError, f'can only concatenate {sequence_kind(x)} (not "{sequence_kind(y)}") to '
                                 f"{sequence_kind(x)}")  # fmt: skip
        t = common_type(cx, p.type, q.type)
        if t is None or not same_layout(p.type, t) or not same_layout(q.type, t):
            cx.refuse("T2C110", f"{describe(cx, a)} + {describe(cx, b)}", "join lists of one type")
        return fresh_rt(
            cx, "list.concat", p.operand, q.operand, type_=t, example=p.example or q.example, site=cx.site(None)
        )
    return None


def as_list_of(cx: Context, v: AbsVal, like: AbsVal, elem: Type | None = NEVER) -> Rt | None:
    """A sequence as a run-time list with the element type of another, or `elem`."""
    from torch2cpp.binding.aten import elements

    obj = resolve(cx, v)
    if isinstance(obj, Rt):
        return obj if isinstance(obj.type, ListType) else None
    elems = elements(cx, v)
    if elems is None:
        return None
    if isinstance(like, Rt) and isinstance(like.type, ListType):
        elem = like.type.elem
    for e in elems:
        elem = common_type(cx, elem, element_type(cx, e)) if elem is not None else None
    if elem is None:
        return None
    t = ListType(elem, "tuple" if sequence_kind(obj) == "tuple" else "list")
    value = cx.host("list.new", *(to_operand(cx, e, elem) for e in elems), type_=t, label="list")
    return Rt(value, t, example=elems[0] if elems else None)


def sequence_kind(o: AbsVal) -> str:
    """Whether a sequence is a tuple or a list to Python."""
    if isinstance(o, Static):
        return "tuple" if isinstance(o.value, tuple) else "list"
    if isinstance(o, Rt) and isinstance(o.type, ListType):
        return "tuple" if o.type.kind == "tuple" else "list"
    return "tuple" if isinstance(o, Tup) else "list"


def _is_list(o: AbsVal) -> bool:
    return sequence_kind(o) == "list"


def _repeat(cx: Context, a: AbsVal, x: AbsVal, n: AbsVal) -> AbsVal | None:
    from torch2cpp.binding.aten import elements

    elems = elements(cx, a)
    if elems is not None and isinstance(n, Static):
        out = elems * n.value
        return new_list(cx, out, cx.site(None)) if _is_list(x) else _tuple(out)
    fact = cx.facts.containers.get(cx.site(None))
    rt = as_list_of(cx, a, x, fact.elem if isinstance(fact, ListType) else NEVER)
    if rt is None:
        return None
    return fresh_rt(
        cx,
        "list.repeat",
        rt.operand,
        operators.scalar_operand(cx, n),
        type_=rt.type,
        example=rt.example,
        site=cx.site(None),
    )


def inplace_binary(cx: Context, sign: str, old: AbsVal, value: AbsVal) -> AbsVal | None:
    """`list += iterable` and `set |= set` change the container itself; None for everything else."""
    o = resolve(cx, old)
    if counter_inplace(cx, sign, old, value):
        return old
    is_list = isinstance(o, ListObj) or (isinstance(o, Rt) and isinstance(o.type, ListType) and o.type.kind != "tuple")
    if sign == "+" and is_list:
        from torch2cpp.binding.container_methods import list_extend

        list_extend(cx, old, value)
        return old
    from torch2cpp.binding.set_operators import set_inplace

    return old if set_inplace(cx, sign, old, value) else None


def container_compare(cx: Context, sign: str, a: AbsVal, b: AbsVal) -> AbsVal | None:
    """Equality and ordering of sequences and dicts; None when they are not."""
    from torch2cpp.binding.aten import elements
    from torch2cpp.binding.control import branch
    from torch2cpp.binding.set_operators import set_compare

    x, y = resolve(cx, a), resolve(cx, b)
    counted = counter_equal(cx, a, b) if sign in ("==", "!=") else None
    if counted is not None:
        return counted if sign == "==" else operators.logical_not(cx, counted)
    of_sets = set_compare(cx, sign, a, b)
    if of_sets is not None:
        return of_sets
    xs, ys = elements(cx, a), elements(cx, b)
    if xs is not None and ys is not None:
        if _is_list(x) != _is_list(y):
            return Static(sign == "!=") if sign in ("==", "!=") else None
        if sign in ("==", "!="):
            if len(xs) != len(ys):
                return Static(sign == "!=")

            def step(i: int) -> AbsVal:
                if i == len(xs):
                    return Static(True)
                same = operators.truth(cx, operators.compare(cx, "==", xs[i], ys[i]))
                if isinstance(same, Static):
                    return step(i + 1) if same.value else Static(False)
                return branch(cx, same.operand, lambda: step(i + 1), lambda: Static(False), "same", cx.span)

            out = step(0)
            return out if sign == "==" else operators.logical_not(cx, out)
        return _lexicographic(cx, sign, xs, ys)
    if sign in ("<", ">", "<=", ">=") and (isinstance(x, Rt) or isinstance(y, Rt)):
        return _ordered(cx, sign, as_list_of(cx, a, y), as_list_of(cx, b, x))
    for v, other in ((x, b), (y, a)):
        if sign in ("==", "!=") and isinstance(v, Rt) and struct_dicts.is_dict(cx, v):
            full = struct_dicts.whole(cx, v)
            if full is not v:
                return operators.compare(cx, sign, full, other)
            same = struct_dicts.equal(cx, v, struct_dicts.whole(cx, other))
            return same if same is None or sign == "==" else operators.logical_not(cx, same)
    if sign in ("==", "!=") and (isinstance(x, Rt) or isinstance(y, Rt)):
        p, q = as_list_of(cx, a, y), as_list_of(cx, b, x)
        same = None if p is None or q is None else searched(cx, p, "equal", q)
        if same is not None:
            return same if sign == "==" else operators.logical_not(cx, same)
        if p is not None and q is not None:
            eq = cx.scalar("equal", p.operand, q.operand)
            return eq if sign == "==" else operators.logical_not(cx, eq)
    return None


def _ordered(cx: Context, sign: str, p: Rt | None, q: Rt | None) -> AbsVal | None:
    """The order of lists of run-time length; None where their elements have none."""
    from torch2cpp.binding.sorting import sortable

    if p is None or q is None or p.type != q.type or not sortable(p.type):
        return None
    if sign in ("<", ">"):
        return cx.scalar("list.less", *((p.operand, q.operand) if sign == "<" else (q.operand, p.operand)))
    assert isinstance(p.type, ListType)
    if p.type.elem not in (INT, BOOL, STR):  # a NaN is neither less nor not
        return None
    less = cx.host("list.less", *((q.operand, p.operand) if sign == "<=" else (p.operand, q.operand)))
    return cx.scalar("not", less)


def _lexicographic(cx: Context, sign: str, xs: list[AbsVal], ys: list[AbsVal]) -> AbsVal:
    from torch2cpp.binding.control import branch

    def step(i: int) -> AbsVal:
        if i == min(len(xs), len(ys)):
            return operators.compare(cx, sign, Static(len(xs)), Static(len(ys)))
        same = operators.truth(cx, operators.compare(cx, "==", xs[i], ys[i]))
        if isinstance(same, Static):
            return step(i + 1) if same.value else operators.compare(cx, sign, xs[i], ys[i])
        return branch(
            cx, same.operand, lambda: step(i + 1), lambda: operators.compare(cx, sign, xs[i], ys[i]), "less", cx.span
        )

    return step(0)
