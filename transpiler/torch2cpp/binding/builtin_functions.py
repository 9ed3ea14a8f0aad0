"""Python's built-in functions: queries, attributes by name, arithmetic, reductions."""

from __future__ import annotations

from typing import Any

import torch

from torch2cpp.binding import (  # registers the others
    builtin_conversions,
    builtin_iterables,
    builtin_iterators,
    builtin_math,
    counter_methods,
    dataclass_methods,
    function_objects,
    heap_selection,
    legacy_tensors,
    messages,
    numpy_functions,
    numpy_makers,
    operator_functions,
    operators,
    partial_dicts,
    python_functions,
    statistics_functions,
    struct_dicts,
)
from torch2cpp.binding.aten import call_aten
from torch2cpp.binding.builtin_table import TABLE, Handler, all_arguments, builtin, static_first
from torch2cpp.binding.context import Context
from torch2cpp.binding.convert import describe, is_scalar, resolve
from torch2cpp.binding.dict_views import is_view
from torch2cpp.binding.iteration import length_of
from torch2cpp.binding.kept_objects import is_kept
from torch2cpp.binding.optional import held_or_raise
from torch2cpp.binding.picking import picked_by
from torch2cpp.binding.values import (
    NONE,
    AbsVal,
    Array,
    DictObj,
    Host,
    Iter,
    ListObj,
    PartialDict,
    RangeVal,
    Rt,
    StarRest,
    Static,
    Tup,
)
from torch2cpp.hostir.ops import Operand
from torch2cpp.hostir.types import STR, DictType, ListType, OptionalType, ScalarType, SetType


def builtin_handler(value: Any) -> Handler | None:
    """What calling a Python builtin means; None if it is not one of them."""
    try:
        return TABLE.get(value)
    except TypeError:
        return None


# Queries -----------------------------------------------------------------------------------------


@builtin(len)
def _len(cx: Context, args: list[AbsVal], kwargs: dict[str, AbsVal]) -> AbsVal:
    o = resolve(cx, args[0])
    o = resolve(cx, operators.unwrap(cx, o, "object of type 'NoneType' has no len()"))
    if is_view(o) or (isinstance(o, Iter) and o.kind == "unordered"):
        return _len(cx, [o.parts[0]], {})
    t = o.tensor if isinstance(o, Array) else operators.tensor_of(cx, o)
    if t is not None:
        from torch2cpp.binding.tensor_methods import _len as tensor_len

        return tensor_len(cx, t, [], {})
    match o:
        case Static(value) if not is_kept(cx, value):
            return operators.static_call(cx, len, value)
        case Tup() | ListObj():
            return Static(len(o.elems))
        case DictObj():
            return Static(len(o.items))
        case PartialDict():
            return partial_dicts.length(cx, o)
        case Rt() if isinstance(o.type, ListType | DictType | SetType):
            if isinstance(o.type, ListType):
                return length_of(cx, o)
            return cx.scalar("dict.len" if isinstance(o.type, DictType) else "set.len", o.operand)
        case Rt() if struct_dicts.is_dict(cx, o):
            full = resolve(cx, struct_dicts.whole(cx, o))
            return partial_dicts.length(cx, full) if full is not o else Static(len(struct_dicts.keys(cx, o)))
        case Host() if o.type == STR:
            return cx.scalar("str.len", o.operand)
        case RangeVal() | Iter():
            from torch2cpp.binding.iteration import items_of

            return items_of(cx, o).count
    from torch2cpp.binding.calls import call_method_if_any

    out = call_method_if_any(cx, args[0], "__len__", [])
    if out is None:
        cx.refuse("T2C150", f"len() of {describe(cx, args[0])}", "take the length of a container or tensor")
    return out


@builtin(isinstance, static=False)
def _isinstance(cx: Context, args: list[AbsVal], kwargs: dict[str, AbsVal]) -> AbsVal:
    from torch2cpp.binding.objects import is_instance

    classes = args[1]
    if isinstance(classes, Tup):
        classes = Static(tuple(e.value for e in classes.elems))
    assert isinstance(classes, Static)
    return is_instance(cx, args[0], classes.value)


@builtin(issubclass, static=False)
def _issubclass(cx: Context, args: list[AbsVal], kwargs: dict[str, AbsVal]) -> AbsVal:
    from torch2cpp.binding.exceptions import ExcClass, name_below

    cls, of = args
    if not isinstance(of, Static):
        cx.refuse("T2C183", f"issubclass() of {describe(cx, of)}", "name the class")
    if isinstance(cls, ExcClass):
        return name_below(cx, cls.name, of.value)
    if not isinstance(cls, Static):
        cx.refuse("T2C183", f"issubclass() of {describe(cx, cls)}", "test a class that is known")
    return operators.static_call(cx, issubclass, cls.value, of.value)


@builtin(type, static=False)
def _type(cx: Context, args: list[AbsVal], kwargs: dict[str, AbsVal]) -> AbsVal:
    from torch2cpp.binding.exceptions import Exc, class_of
    from torch2cpp.binding.objects import python_class

    o = resolve(cx, args[0])
    if isinstance(o, Exc):
        return class_of(cx, o)
    cls = python_class(cx, args[0])
    if cls is None:
        cx.refuse("T2C183", f"the class of {describe(cx, args[0])} is not known", "test a value of known class")
    return Static(cls)


@builtin(hasattr, static=False)
def _hasattr(cx: Context, args: list[AbsVal], kwargs: dict[str, AbsVal]) -> AbsVal:
    from torch2cpp.binding.attributes import has_attribute

    name, o = args[1], resolve(cx, args[0])
    if isinstance(name, Host) and isinstance(o, Static) and not name.loops - cx.facts.unrolled:
        from torch2cpp.binding.container_operators import any_equal

        return any_equal(cx, [Static(n) for n in _attribute_names(o.value)], name)
    return has_attribute(cx, args[0], _name_of(cx, name))


def _attribute_names(value: Any) -> list[str]:
    """Names that a run-time string can mean: submodules, or the attributes of a plain object."""
    if isinstance(value, torch.nn.Module):
        return [*value._modules, *value._parameters, *value._buffers]
    return list(vars(value))


def _ends(cx: Context, operand: Any, side: int) -> str:
    """What a string made at run time surely begins (side 0) or ends (side 1) with."""
    if isinstance(operand, str):
        return operand
    op = cx.made_by.get(getattr(operand, "id", -1))
    if op is None or op.name != "str.add":
        return ""
    near, far = op.args if side == 0 else op.args[::-1]
    if isinstance(near, str):
        rest = _ends(cx, far, side) if isinstance(far, str) else ""
        return near + rest if side == 0 else rest + near
    return _ends(cx, near, side)


def _named_choice(cx: Context, args: list[AbsVal]) -> AbsVal | None:
    """`getattr(self, name)` with a name made at run time: one of the submodules."""
    name, o = args[1], resolve(cx, args[0])
    if not isinstance(name, Host) or not isinstance(o, Static) or name.loops - cx.facts.unrolled:
        return None
    prefix, suffix = _ends(cx, name.operand, 0), _ends(cx, name.operand, 1)
    modules = {
        n: m
        for n, m in getattr(o.value, "_modules", {}).items()
        if m is not None and n.startswith(prefix) and n.endswith(suffix)
    }
    if not modules:
        return None
    owner = type(o.value).__name__

    def missing() -> Operand:
        text = cx.host("str.add", f"'{owner}' object has no attribute '", name.operand)
        return cx.host("str.add", text, "'")

    return picked_by(cx, [(n, Static(m)) for n, m in modules.items()], name, AttributeError, missing)


@builtin(getattr, static=False)
def _getattr(cx: Context, args: list[AbsVal], kwargs: dict[str, AbsVal]) -> AbsVal:
    from torch2cpp.binding import late_fields
    from torch2cpp.binding.attributes import Missing, find_attribute, get_attribute, is_late

    chosen = _named_choice(cx, args)
    if chosen is not None:
        return chosen
    name = _name_of(cx, args[1])
    if len(args) == 2:
        return get_attribute(cx, args[0], name)
    o = resolve(cx, args[0])
    if is_late(cx, o, name):
        return late_fields.read_or(cx, o, name, lambda: args[2])
    try:
        return find_attribute(cx, args[0], name)
    except Missing:
        return args[2]


@builtin(setattr, static=False)
def _setattr(cx: Context, args: list[AbsVal], kwargs: dict[str, AbsVal]) -> AbsVal:
    from torch2cpp.binding.attributes import set_attribute

    set_attribute(cx, args[0], _name_of(cx, args[1]), args[2])
    return NONE


@builtin(object.__setattr__, static=False)
def _own_setattr(cx: Context, args: list[AbsVal], kwargs: dict[str, AbsVal]) -> AbsVal:
    """How a frozen dataclass sets its fields in `__post_init__`."""
    from torch2cpp.binding.attributes import put_attribute

    put_attribute(cx, args[0], _name_of(cx, args[1]), args[2])
    return NONE


def _name_of(cx: Context, v: AbsVal) -> str:
    if isinstance(v, Host):
        from torch2cpp.binding.items import need_static

        need_static(cx, v)
        cx.refuse("T2C200", "an attribute name is decided at run time", "choose with an if between the attributes")
    assert isinstance(v, Static)
    return str(v.value)


@builtin(callable, static=False)
def _callable(cx: Context, args: list[AbsVal], kwargs: dict[str, AbsVal]) -> AbsVal:
    o = resolve(cx, args[0])
    return Static(callable(o.value) if isinstance(o, Static) else type(o).__name__ in ("Func", "Bound", "Native"))


@builtin(id, hash, static=False)
def _id(cx: Context, args: list[AbsVal], kwargs: dict[str, AbsVal]) -> AbsVal:
    cx.refuse("T2C200", "id() or hash() in deployed code", "compare values, or use `is`")


# Arithmetic --------------------------------------------------------------------------------------


@builtin(abs)
def _abs(cx: Context, args: list[AbsVal], kwargs: dict[str, AbsVal]) -> AbsVal:
    from torch2cpp.binding.calls import call_method_if_any

    v = resolve(cx, args[0])
    if isinstance(v, Array):
        from torch2cpp.binding.numpy_arrays import function

        return function(cx, "abs", [v], {})
    t = operators.tensor_of(cx, v)
    if t is not None:
        return call_aten(cx, "abs", [t])
    if isinstance(v, Rt) and isinstance(v.type, OptionalType):
        v = held_or_raise(cx, v, TypeError, "bad operand type for abs(): 'NoneType'")
    own = call_method_if_any(cx, args[0], "__abs__", [])
    if own is not None:
        return own
    if not isinstance(v, Host):
        cx.refuse("T2C150", f"abs() of {describe(cx, v)}", "give it a number or a tensor")
    return operators.with_hints(cx, cx.scalar("abs", v.operand), abs, v)


@builtin(round)
def _round(cx: Context, args: list[AbsVal], kwargs: dict[str, AbsVal]) -> AbsVal:
    v = resolve(cx, args[0])
    digits = args[1] if len(args) > 1 else kwargs.get("ndigits", NONE)
    t = operators.tensor_of(cx, v)
    none = isinstance(digits, Static) and digits.value is None
    if t is not None:
        return call_aten(cx, "round", [t], {} if none else {"decimals": digits})
    v = resolve(cx, operators.unwrap(cx, v, "type NoneType doesn't define __round__ method"))
    if not is_scalar(v):
        cx.refuse("T2C150", f"round() of {describe(cx, v)}", "round a number or a tensor")
    x = operators.scalar_operand(cx, v)
    if none:
        return operators.with_hints(cx, cx.scalar("round", x), round, v)
    return cx.scalar("round_digits", x, operators.scalar_operand(cx, digits))


@builtin(pow)
def _pow(cx: Context, args: list[AbsVal], kwargs: dict[str, AbsVal]) -> AbsVal:
    modulus = args[2] if len(args) > 2 else kwargs.get("mod", NONE)
    if isinstance(modulus, Static) and modulus.value is None:
        return operators.binary(cx, "**", args[0], args[1])
    numbers = [resolve(cx, a) for a in (args[0], args[1], modulus)]
    if not all(is_scalar(v) and operators._type(v).kind in ("int", "bool") for v in numbers):
        cx.raise_(TypeError, "pow() 3rd argument not allowed unless all arguments are integers")
    return cx.scalar("pow_mod", *(operators.scalar_operand(cx, v) for v in numbers), label="power")


@builtin(divmod)
def _divmod(cx: Context, args: list[AbsVal], kwargs: dict[str, AbsVal]) -> AbsVal:
    return Tup((operators.binary(cx, "//", *args), operators.binary(cx, "%", *args)))


@builtin(min, max)
def _placeholder(cx: Context, args: list[AbsVal], kwargs: dict[str, AbsVal]) -> AbsVal:
    raise AssertionError("replaced below")


def _spread(cx: Context, name: str, args: list[AbsVal]) -> AbsVal:
    """The arguments of `max(*xs, y)` as one list. A single argument would have to be iterable itself."""
    from torch2cpp.binding.list_methods import raise_if

    listed = all_arguments(cx, args)
    given = sum(not isinstance(a, StarRest) for a in args)
    o = resolve(cx, listed)
    if given > 1 or not isinstance(o, Rt) or not isinstance(o.type, ListType):
        return listed
    if not isinstance(o.type.elem, ScalarType) or o.type.elem == STR:
        cx.refuse("T2C203", f"{name}(*xs) of a {o.type}, which may hold one item only", f"use {name}(xs)")
    count = cx.host("list.len", o.operand)
    if given == 0:
        raise_if(cx, cx.host("eq", count, 0), TypeError, lambda: f"{name} expected at least 1 argument, got 0")
    text = f"'{o.type.elem.kind}' object is not iterable"
    raise_if(cx, cx.host("eq", count, 1), TypeError, lambda: text)
    return listed


def _extreme(name: str) -> Handler:
    def run(cx: Context, args: list[AbsVal], kwargs: dict[str, AbsVal]) -> AbsVal:
        from torch2cpp.binding.container_methods import reduce_items

        if any(isinstance(a, StarRest) for a in args):
            args = [_spread(cx, name, args)]
        if len(args) == 1:
            return reduce_items(cx, args[0], name, key=kwargs.get("key"), default=kwargs.get("default"))
        return reduce_items(cx, Iter("list", tuple(args)), name, key=kwargs.get("key"))

    return run


TABLE[min] = static_first(min)(_extreme("min"))
TABLE[max] = static_first(max)(_extreme("max"))


@builtin(sum, static=False)
def _sum(cx: Context, args: list[AbsVal], kwargs: dict[str, AbsVal]) -> AbsVal:
    from torch2cpp.binding.container_methods import reduce_items

    start = args[1] if len(args) > 1 else kwargs.get("start", Static(0))
    return reduce_items(cx, args[0], "sum", start=start)


@builtin(any, static=False)
def _any(cx: Context, args: list[AbsVal], kwargs: dict[str, AbsVal]) -> AbsVal:
    from torch2cpp.binding.container_methods import reduce_items

    return reduce_items(cx, args[0], "any")


@builtin(all, static=False)
def _all(cx: Context, args: list[AbsVal], kwargs: dict[str, AbsVal]) -> AbsVal:
    from torch2cpp.binding.container_methods import reduce_items

    return reduce_items(cx, args[0], "all")


@builtin(sorted, static=False)
def _sorted(cx: Context, args: list[AbsVal], kwargs: dict[str, AbsVal]) -> AbsVal:
    from torch2cpp.binding.container_methods import sorted_list

    return sorted_list(cx, args[0], kwargs.get("key", NONE), kwargs.get("reverse", Static(False)))


__all__ = [
    "builtin_conversions",
    "builtin_handler",
    "builtin_iterables",
    "builtin_iterators",
    "builtin_math",
    "counter_methods",
    "dataclass_methods",
    "function_objects",
    "heap_selection",
    "legacy_tensors",
    "messages",
    "numpy_functions",
    "numpy_makers",
    "operator_functions",
    "python_functions",
    "statistics_functions",
]  # fmt: skip
