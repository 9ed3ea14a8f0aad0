"""Python's built-in functions and the functions of `math` and numpy that mean a scalar function."""

from __future__ import annotations

import builtins
import collections
import copy
import functools
import itertools
import math
import operator
import types
from collections.abc import Callable
from typing import Any

import numpy as np
import torch

from torch2cpp.binding import operators
from torch2cpp.binding.aten import call_aten, elements, scalar_item
from torch2cpp.binding.context import Context
from torch2cpp.binding.convert import describe, is_scalar, resolve
from torch2cpp.binding.iteration import length_of
from torch2cpp.binding.values import (
    NONE,
    AbsVal,
    DictObj,
    Host,
    InstanceObj,
    Iter,
    ListObj,
    Native,
    RangeVal,
    Rt,
    StarRest,
    Static,
    Tensor,
    Tup,
)
from torch2cpp.hostir.types import FLOAT, INT, STR, DictType, ListType, SetType, TupleType

Handler = Callable[[Context, list[AbsVal], dict[str, AbsVal]], AbsVal]


def builtin_handler(value: Any) -> Handler | None:
    """What calling a Python builtin means; None if it is not one of them."""
    try:
        return _TABLE.get(value)
    except TypeError:
        return None


def all_static(args: list[AbsVal], kwargs: dict[str, AbsVal]) -> bool:
    """Whether Python itself can run the call now."""
    return all(isinstance(a, Static) and not _holds_tensor(a.value) for a in [*args, *kwargs.values()])


def _holds_tensor(value: Any) -> bool:
    if isinstance(value, torch.Tensor):
        return True
    return isinstance(value, list | tuple) and any(map(_holds_tensor, value))


def _static_first(f: Callable[..., Any]) -> Callable[[Handler], Handler]:
    """Runs the real function when all arguments are static."""

    def wrap(handler: Handler) -> Handler:
        @functools.wraps(handler)
        def run(cx: Context, args: list[AbsVal], kwargs: dict[str, AbsVal]) -> AbsVal:
            if all_static(args, kwargs) and not any(id(getattr(a, "value", None)) in cx.facts.state_objects
                                                    for a in args):  # fmt: skip
                from torch2cpp.binding.calls import _run_for_real

                return _run_for_real(cx, f, args, kwargs)
            return handler(cx, args, kwargs)

        return run

    return wrap


_TABLE: dict[Any, Handler] = {}


def _builtin(*fs: Any, static: bool = True) -> Callable[[Handler], Handler]:
    def register(handler: Handler) -> Handler:
        for f in fs:
            _TABLE[f] = _static_first(f)(handler) if static else handler
        return handler

    return register


def _tensor_or_item(cx: Context, v: AbsVal) -> AbsVal:
    """A scalar: 0-d tensors are read."""
    v = operators.unwrap(cx, v, "a number is needed, not 'NoneType'")
    t = operators.tensor_of(cx, resolve(cx, v))
    return scalar_item(cx, t) if t is not None else resolve(cx, v)


# Conversions -------------------------------------------------------------------------------------


@_builtin(int)
def _int(cx: Context, args: list[AbsVal], kwargs: dict[str, AbsVal]) -> AbsVal:
    if not args:
        return Static(0)
    v = _tensor_or_item(cx, args[0])
    if isinstance(v, Static):
        return operators.static_call(cx, int, v.value)
    if isinstance(v, Host):
        if v.type == INT:
            return v
        return operators.with_hints(cx, cx.scalar("int", v.operand), int, v)
    from torch2cpp.binding.calls import call_method_if_any

    made = call_method_if_any(cx, v, "__int__", [])
    if made is None:
        cx.refuse("T2C150", f"int() of {describe(cx, v)}", "convert a number or a tensor of one element")
    return made


@_builtin(float)
def _float(cx: Context, args: list[AbsVal], kwargs: dict[str, AbsVal]) -> AbsVal:
    v = _tensor_or_item(cx, args[0]) if args else Static(0.0)
    if isinstance(v, Static):
        return operators.static_call(cx, float, v.value)
    if isinstance(v, Host):
        return v if v.type == FLOAT else operators.with_hints(cx, cx.scalar("float", v.operand), float, v)
    cx.refuse("T2C150", f"float() of {describe(cx, v)}", "convert a number or a tensor of one element")


@_builtin(bool)
def _bool(cx: Context, args: list[AbsVal], kwargs: dict[str, AbsVal]) -> AbsVal:
    return operators.truth(cx, args[0]) if args else Static(False)


@_builtin(str)
def _str(cx: Context, args: list[AbsVal], kwargs: dict[str, AbsVal]) -> AbsVal:
    from torch2cpp.binding.strings import to_str

    return to_str(cx, args[0]) if args else Static("")


@_builtin(repr)
def _repr(cx: Context, args: list[AbsVal], kwargs: dict[str, AbsVal]) -> AbsVal:
    from torch2cpp.binding.strings import to_repr

    return to_repr(cx, args[0])


@_builtin(list, static=False)
def _list(cx: Context, args: list[AbsVal], kwargs: dict[str, AbsVal]) -> AbsVal:
    from torch2cpp.binding.comprehensions import collect
    from torch2cpp.binding.containers import new_list

    if not args:
        return new_list(cx, [], cx.site(None))
    if isinstance(args[0], Static) and isinstance(args[0].value, torch.nn.Module):
        return Static(list(args[0].value))  # type: ignore[call-overload]
    o = resolve(cx, args[0])
    if isinstance(o, Rt) and isinstance(o.type, ListType):
        from torch2cpp.binding.containers import fresh_rt

        t = ListType(o.type.elem)
        return fresh_rt(cx, "list.copy", o.operand, type_=t, example=o.example, site=cx.site(None))
    return collect(cx, args[0])


@_builtin(tuple, static=False)
def _tuple(cx: Context, args: list[AbsVal], kwargs: dict[str, AbsVal]) -> AbsVal:
    from torch2cpp.binding.iteration import known_items

    if not args:
        return Static(())
    items = known_items(cx, args[0])
    if items is None:
        return _run_time_tuple(cx, args[0])
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


@_builtin(dict, static=False)
def _dict(cx: Context, args: list[AbsVal], kwargs: dict[str, AbsVal]) -> AbsVal:
    from torch2cpp.binding.comprehensions import consume
    from torch2cpp.binding.containers import dict_update, new_dict, set_item
    from torch2cpp.binding.iteration import unpack

    ref = new_dict(cx, [], cx.site(None))
    if args:
        o = resolve(cx, args[0])
        mapping = (
            isinstance(o, DictObj)
            or (isinstance(o, Rt) and isinstance(o.type, DictType))
            or (isinstance(o, Static) and isinstance(o.value, dict))
        )
        if mapping:
            dict_update(cx, ref, args[0])
        else:

            def put(pair: AbsVal) -> None:
                k, v = unpack(cx, pair, 2, None)
                set_item(cx, ref, k, v)

            consume(cx, args[0], put, cx.site(None))
    for name, v in kwargs.items():
        set_item(cx, ref, Static(name), v)
    return ref


@_builtin(set, static=False)
def _set(cx: Context, args: list[AbsVal], kwargs: dict[str, AbsVal]) -> AbsVal:
    from torch2cpp.binding.comprehensions import consume
    from torch2cpp.binding.containers import new_set
    from torch2cpp.binding.dict_methods import members_in_order, set_add
    from torch2cpp.binding.literal_sets import make_set

    site = cx.site(None)
    if all_static(args, kwargs) and not any(id(a.value) in cx.facts.state_objects for a in args):
        known = operators.static_call(cx, set, *(a.value for a in args))
        return make_set(cx, known.value, site)
    ref = new_set(cx, [], site)
    if args:
        consume(cx, members_in_order(cx, args[0]), lambda x: set_add(cx, ref, x), site)
    return ref


@_builtin(frozenset)
def _frozenset(cx: Context, args: list[AbsVal], kwargs: dict[str, AbsVal]) -> AbsVal:
    return _set(cx, args, kwargs)


# Queries -----------------------------------------------------------------------------------------


@_builtin(len)
def _len(cx: Context, args: list[AbsVal], kwargs: dict[str, AbsVal]) -> AbsVal:
    o = resolve(cx, args[0])
    o = resolve(cx, operators.unwrap(cx, o, "object of type 'NoneType' has no len()"))
    t = operators.tensor_of(cx, o)
    if t is not None:
        from torch2cpp.binding.tensor_methods import _len as tensor_len

        return tensor_len(cx, t, [], {})
    match o:
        case Static(value):
            return operators.static_call(cx, len, value)
        case Tup() | ListObj():
            return Static(len(o.elems))
        case DictObj():
            return Static(len(o.items))
        case Rt() if isinstance(o.type, ListType | DictType | SetType):
            if isinstance(o.type, ListType):
                return length_of(cx, o)
            return cx.scalar("dict.len" if isinstance(o.type, DictType) else "set.len", o.operand)
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


@_builtin(isinstance, static=False)
def _isinstance(cx: Context, args: list[AbsVal], kwargs: dict[str, AbsVal]) -> AbsVal:
    from torch2cpp.binding.objects import is_instance

    classes = args[1]
    if isinstance(classes, Tup):
        classes = Static(tuple(e.value for e in classes.elems))
    assert isinstance(classes, Static)
    return is_instance(cx, args[0], classes.value)


@_builtin(type, static=False)
def _type(cx: Context, args: list[AbsVal], kwargs: dict[str, AbsVal]) -> AbsVal:
    from torch2cpp.binding.objects import python_class

    cls = python_class(cx, args[0])
    if cls is None:
        cx.refuse("T2C183", f"the class of {describe(cx, args[0])} is not known", "test a value of known class")
    return Static(cls)


@_builtin(hasattr, static=False)
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
    return Iter("keyed_choice", tuple(map(Static, modules.values())), (name, tuple(modules)))


@_builtin(getattr, static=False)
def _getattr(cx: Context, args: list[AbsVal], kwargs: dict[str, AbsVal]) -> AbsVal:
    from torch2cpp.binding.attributes import Missing, find_attribute, get_attribute

    chosen = _named_choice(cx, args)
    if chosen is not None:
        return chosen
    name = _name_of(cx, args[1])
    if len(args) == 2:
        return get_attribute(cx, args[0], name)
    try:
        return find_attribute(cx, args[0], name)
    except Missing:
        return args[2]


@_builtin(setattr, static=False)
def _setattr(cx: Context, args: list[AbsVal], kwargs: dict[str, AbsVal]) -> AbsVal:
    from torch2cpp.binding.attributes import set_attribute

    set_attribute(cx, args[0], _name_of(cx, args[1]), args[2])
    return NONE


def _name_of(cx: Context, v: AbsVal) -> str:
    if isinstance(v, Host):
        from torch2cpp.binding.containers import need_static

        need_static(cx, v)
        cx.refuse("T2C200", "an attribute name is decided at run time", "choose with an if between the attributes")
    assert isinstance(v, Static)
    return str(v.value)


@_builtin(callable, static=False)
def _callable(cx: Context, args: list[AbsVal], kwargs: dict[str, AbsVal]) -> AbsVal:
    o = resolve(cx, args[0])
    return Static(callable(o.value) if isinstance(o, Static) else type(o).__name__ in ("Func", "Bound", "Native"))


@_builtin(id, hash, static=False)
def _id(cx: Context, args: list[AbsVal], kwargs: dict[str, AbsVal]) -> AbsVal:
    cx.refuse("T2C200", "id() or hash() in deployed code", "compare values, or use `is`")


# Arithmetic --------------------------------------------------------------------------------------


@_builtin(abs)
def _abs(cx: Context, args: list[AbsVal], kwargs: dict[str, AbsVal]) -> AbsVal:
    v = resolve(cx, args[0])
    t = operators.tensor_of(cx, v)
    if t is not None:
        return call_aten(cx, "abs", [t])
    assert isinstance(v, Host)
    return operators.with_hints(cx, cx.scalar("abs", v.operand), abs, v)


@_builtin(round)
def _round(cx: Context, args: list[AbsVal], kwargs: dict[str, AbsVal]) -> AbsVal:
    v = resolve(cx, args[0])
    digits = args[1] if len(args) > 1 else kwargs.get("ndigits", NONE)
    t = operators.tensor_of(cx, v)
    none = isinstance(digits, Static) and digits.value is None
    if t is not None:
        return call_aten(cx, "round", [t], {} if none else {"decimals": digits})
    assert is_scalar(v)
    x = operators.scalar_operand(cx, v)
    if none:
        return operators.with_hints(cx, cx.scalar("round", x), round, v)
    return cx.scalar("round_digits", x, operators.scalar_operand(cx, digits))


@_builtin(pow)
def _pow(cx: Context, args: list[AbsVal], kwargs: dict[str, AbsVal]) -> AbsVal:
    return operators.binary(cx, "**", args[0], args[1])


@_builtin(divmod)
def _divmod(cx: Context, args: list[AbsVal], kwargs: dict[str, AbsVal]) -> AbsVal:
    return Tup((operators.binary(cx, "//", *args), operators.binary(cx, "%", *args)))


@_builtin(min, max)
def _placeholder(cx: Context, args: list[AbsVal], kwargs: dict[str, AbsVal]) -> AbsVal:
    raise AssertionError("replaced below")


def _extreme(name: str) -> Handler:
    def run(cx: Context, args: list[AbsVal], kwargs: dict[str, AbsVal]) -> AbsVal:
        from torch2cpp.binding.container_methods import reduce_items

        if len(args) == 1:
            return reduce_items(cx, args[0], name, key=kwargs.get("key"), default=kwargs.get("default"))
        return reduce_items(cx, Iter("list", tuple(args)), name, key=kwargs.get("key"))

    return run


_TABLE[min] = _static_first(min)(_extreme("min"))
_TABLE[max] = _static_first(max)(_extreme("max"))


@_builtin(sum, static=False)
def _sum(cx: Context, args: list[AbsVal], kwargs: dict[str, AbsVal]) -> AbsVal:
    from torch2cpp.binding.container_methods import reduce_items

    start = args[1] if len(args) > 1 else kwargs.get("start", Static(0))
    return reduce_items(cx, args[0], "sum", start=start)


@_builtin(any, static=False)
def _any(cx: Context, args: list[AbsVal], kwargs: dict[str, AbsVal]) -> AbsVal:
    from torch2cpp.binding.container_methods import reduce_items

    return reduce_items(cx, args[0], "any")


@_builtin(all, static=False)
def _all(cx: Context, args: list[AbsVal], kwargs: dict[str, AbsVal]) -> AbsVal:
    from torch2cpp.binding.container_methods import reduce_items

    return reduce_items(cx, args[0], "all")


@_builtin(sorted, static=False)
def _sorted(cx: Context, args: list[AbsVal], kwargs: dict[str, AbsVal]) -> AbsVal:
    from torch2cpp.binding.container_methods import sorted_list

    return sorted_list(cx, args[0], kwargs.get("key", NONE), kwargs.get("reverse", Static(False)))


# Iterables ---------------------------------------------------------------------------------------


@_builtin(range)
def _range(cx: Context, args: list[AbsVal], kwargs: dict[str, AbsVal]) -> AbsVal:
    parts = [_tensor_or_item(cx, a) for a in args]
    for p in parts:
        if not (is_scalar(p) and (operators._type(p).kind in ("int", "bool"))):
            cx.raise_(TypeError, f"'{operators._type(p).kind if is_scalar(p) else 'object'}' object cannot be "
                                 "interpreted as an integer")  # fmt: skip
    if len(parts) == 1:
        return RangeVal(Static(0), parts[0], Static(1))
    return RangeVal(parts[0], parts[1], parts[2] if len(parts) > 2 else Static(1))


@_builtin(enumerate, static=False)
def _enumerate(cx: Context, args: list[AbsVal], kwargs: dict[str, AbsVal]) -> AbsVal:
    start = args[1] if len(args) > 1 else kwargs.get("start", Static(0))
    return Iter("enumerate", (_indexable(cx, args[0]),), start)


@_builtin(zip, static=False)
def _zip(cx: Context, args: list[AbsVal], kwargs: dict[str, AbsVal]) -> AbsVal:
    if len(args) == 1 and isinstance(args[0], StarRest):
        rows = resolve(cx, args[0].value)
        if isinstance(rows, Rt) and isinstance(rows.type, ListType) and isinstance(rows.type.elem, TupleType):
            return Iter("unzip", (args[0].value,))
        cx.refuse("T2C200", f"zip(*{describe(cx, rows)})", "append to one list per column instead")
    return Iter("zip", tuple(_indexable(cx, a) for a in args))


@_builtin(reversed, static=False)
def _reversed(cx: Context, args: list[AbsVal], kwargs: dict[str, AbsVal]) -> AbsVal:
    return Iter("reversed", (_indexable(cx, args[0]),))


@_builtin(map, static=False)
def _map(cx: Context, args: list[AbsVal], kwargs: dict[str, AbsVal]) -> AbsVal:
    return Iter("map", tuple(_indexable(cx, a) for a in args[1:]), args[0])


@_builtin(filter, static=False)
def _filter(cx: Context, args: list[AbsVal], kwargs: dict[str, AbsVal]) -> AbsVal:
    return Iter("filter", (args[1],), args[0])


@_builtin(iter, static=False)
def _iter(cx: Context, args: list[AbsVal], kwargs: dict[str, AbsVal]) -> AbsVal:
    return args[0]


def _indexable(cx: Context, v: AbsVal) -> AbsVal:
    """A generator or filter has no item i: it is collected first."""
    o = resolve(cx, v)
    if isinstance(o, Iter) and o.kind in ("generator", "filter"):
        from torch2cpp.binding.comprehensions import collect

        return collect(cx, v)
    return v


@_builtin(itertools.chain, static=False)
def _chain(cx: Context, args: list[AbsVal], kwargs: dict[str, AbsVal]) -> AbsVal:
    from torch2cpp.binding.containers import concat_parts

    return concat_parts(cx, [(True, a) for a in args], cx.site(None))


def _known_combinations(f: Callable[..., Any]) -> Handler:
    def run(cx: Context, args: list[AbsVal], kwargs: dict[str, AbsVal]) -> AbsVal:
        from torch2cpp.binding.iteration import known_items

        lists = [known_items(cx, a) if not (isinstance(a, Static) and isinstance(a.value, int)) else a for a in args]
        if any(x is None for x in lists):
            cx.refuse("T2C200", f"itertools.{f.__name__} of a run-time list", "write nested loops")
        plain = [x.value if isinstance(x, Static) else x for x in lists]
        names = {k: v.value for k, v in kwargs.items()}
        return Tup(tuple(Tup(tuple(c)) for c in f(*plain, **names)))

    return run


for _f in (itertools.combinations, itertools.product, itertools.permutations, itertools.combinations_with_replacement):
    _TABLE[_f] = _known_combinations(_f)


@_builtin(slice)
def _slice(cx: Context, args: list[AbsVal], kwargs: dict[str, AbsVal]) -> AbsVal:
    from torch2cpp.binding.expressions import make_slice

    parts = [NONE, *args] if len(args) == 1 else list(args)
    return make_slice([*parts, *[NONE] * (3 - len(parts))])


@_builtin(print, static=False)
def _print(cx: Context, args: list[AbsVal], kwargs: dict[str, AbsVal]) -> AbsVal:
    from torch2cpp.binding.strings import to_str

    sep = kwargs.get("sep", Static(" "))
    text: AbsVal = Static("")
    for i, a in enumerate(args):
        if i:
            text = operators.binary(cx, "+", text, sep)
        text = operators.binary(cx, "+", text, to_str(cx, a))
    cx.effect("print", operators.scalar_operand(cx, text))
    return NONE


@_builtin(copy.deepcopy, static=False)
def _deepcopy(cx: Context, args: list[AbsVal], kwargs: dict[str, AbsVal]) -> AbsVal:
    """Copies what is inside too; an object that appears twice is refused rather than copied twice."""
    from torch2cpp.binding.comprehensions import consume
    from torch2cpp.binding.container_methods import list_append
    from torch2cpp.binding.containers import new_dict, new_list

    o = resolve(cx, args[0])
    site = cx.site(None)
    if isinstance(o, Tup):
        return Tup(tuple(_deepcopy(cx, [e], {}) for e in o.elems), o.cls, o.names)
    if isinstance(o, ListObj):
        return new_list(cx, [_deepcopy(cx, [e], {}) for e in o.elems], site, o.kind)
    if isinstance(o, DictObj):
        return new_dict(cx, [(Static(k), _deepcopy(cx, [v], {})) for k, v in o.items.items()], site, o.factory)
    if isinstance(o, Rt) and isinstance(o.type, ListType):
        out = new_list(cx, [], site)
        consume(cx, args[0], lambda x: list_append(cx, out, _deepcopy(cx, [x], {})), site)
        return out
    if isinstance(o, Static | Host) or operators.tensor_of(cx, o) is not None:
        return _copy(cx, args, {})
    cx.refuse("T2C200", f"deepcopy of {describe(cx, args[0])}", "copy lists, dicts or tensors")


@_builtin(copy.copy, static=False)
def _copy(cx: Context, args: list[AbsVal], kwargs: dict[str, AbsVal]) -> AbsVal:
    o = resolve(cx, args[0])
    t = operators.tensor_of(cx, o)
    if t is not None:
        return call_aten(cx, "clone", [t])
    if is_scalar(o) or isinstance(o, Tup):
        return args[0]
    if isinstance(o, ListObj) or (isinstance(o, Rt) and isinstance(o.type, ListType)):
        return _list(cx, args, {})
    if isinstance(o, DictObj):
        return _dict(cx, args, {})
    cx.refuse("T2C200", f"copy of {describe(cx, args[0])}", "copy lists, dicts or tensors")


@_builtin(collections.deque, static=False)
def _deque(cx: Context, args: list[AbsVal], kwargs: dict[str, AbsVal]) -> AbsVal:
    from torch2cpp.binding.container_methods import list_extend
    from torch2cpp.binding.containers import new_list

    if len(args) > 1 or any(not (isinstance(v, Static) and v.value is None) for v in kwargs.values()):
        cx.refuse("T2C200", "deque with maxlen", "drop the oldest item with popleft")
    ref = new_list(cx, [], cx.site(None), "deque")
    if args:
        list_extend(cx, ref, args[0])
    return ref


@_builtin(collections.defaultdict, static=False)
def _defaultdict(cx: Context, args: list[AbsVal], kwargs: dict[str, AbsVal]) -> AbsVal:
    from torch2cpp.binding.containers import new_dict

    factory = args[0] if args else None
    if isinstance(factory, Static) and factory.value is None:
        factory = None
    return new_dict(cx, [], cx.site(None), factory)


_TABLE[collections.OrderedDict] = _dict


@_builtin(object, static=False)
def _object(cx: Context, args: list[AbsVal], kwargs: dict[str, AbsVal]) -> AbsVal:
    return Static(object())


# math, numpy, operator ---------------------------------------------------------------------------


def _math(name: str) -> Handler:
    def run(cx: Context, args: list[AbsVal], kwargs: dict[str, AbsVal]) -> AbsVal:
        vals = [_tensor_or_item(cx, a) for a in args]
        if all(isinstance(v, Static) for v in vals):
            return operators.static_call(cx, getattr(math, name), *(v.value for v in vals))
        row = "math.log_base" if name == "log" and len(vals) == 2 else f"math.{name}"
        ops = [operators.scalar_operand(cx, v) for v in vals]
        return operators.with_hints(cx, cx.scalar(row, *ops), getattr(math, name), *vals)

    return run


def _register_math() -> None:
    from torch2cpp.hostir.host_ops import TABLE

    for row in TABLE:
        name = row.removeprefix("math.")
        if row.startswith("math.") and isinstance(getattr(math, name, None), types.BuiltinFunctionType):
            f = getattr(math, name)
            _TABLE[f] = _static_first(f)(_math(name))


_register_math()


def _numpy_scalar(name: str) -> Handler:
    """numpy functions that mean a scalar function on host scalars, or their torch twin on tensors."""

    def run(cx: Context, args: list[AbsVal], kwargs: dict[str, AbsVal]) -> AbsVal:
        o = resolve(cx, args[0])
        t = operators.tensor_of(cx, o)
        if t is not None:
            return call_aten(cx, name, [t, *args[1:]], kwargs)
        return _math(name)(cx, args, {})

    return run


for _name in ("sqrt", "exp", "log", "log2", "log10", "sin", "cos", "tan", "tanh"):
    _TABLE[getattr(np, _name)] = _static_first(getattr(np, _name))(_numpy_scalar(_name))


@_builtin(np.argmax, static=False)
def _np_argmax(cx: Context, args: list[AbsVal], kwargs: dict[str, AbsVal]) -> AbsVal:
    """`np.argmax` of a list: the index of the first largest item."""
    from torch2cpp.binding.containers import as_list

    t = operators.tensor_of(cx, resolve(cx, args[0]))
    if t is not None:
        return scalar_item(cx, _must(call_aten(cx, "argmax", [t])))
    elems = elements(cx, args[0])
    if elems is not None:
        flat = [_tensor_or_item(cx, e) for e in elems]
        from torch2cpp.binding.make_tensor import tensor_from_data

        made = tensor_from_data(cx, Tup(tuple(flat)), torch.float64)
        assert made is not None
        return scalar_item(cx, _must(call_aten(cx, "argmax", [made])))
    listed = as_list(cx, args[0])
    top = cx.host("list.max", listed.operand)
    return cx.scalar("list.index", listed.operand, top)


def _must(v: AbsVal) -> Tensor:
    assert isinstance(v, Tensor)
    return v


def _operator(sign: str) -> Handler:
    return lambda cx, a, k: operators.binary(cx, sign, a[0], a[1])


for _sign, (_python, _, _) in operators.BINARY.items():
    _TABLE[_python] = _operator(_sign)
for _sign, (_python, _, _) in operators.COMPARE.items():
    _TABLE[_python] = lambda cx, a, k, _sign=_sign: operators.compare(cx, _sign, a[0], a[1])  # type: ignore[misc]
_TABLE[operator.itemgetter] = lambda cx, a, k: Native(
    "itemgetter",
    lambda c, xs, kk: _get_items(c, xs[0], a),
)


def _get_items(cx: Context, obj: AbsVal, keys: list[AbsVal]) -> AbsVal:
    from torch2cpp.binding.containers import get_item

    got = [get_item(cx, obj, k) for k in keys]
    return got[0] if len(got) == 1 else Tup(tuple(got))


__all__ = ["InstanceObj", "builtin_handler", "builtins"]
