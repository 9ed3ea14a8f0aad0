"""numpy functions that make arrays: arange of ints, zeros, ones, full, array."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from torch2cpp.binding import operators
from torch2cpp.binding.aten import call_aten, elements
from torch2cpp.binding.builtin_table import TABLE, Handler, tensor_or_item
from torch2cpp.binding.context import Context
from torch2cpp.binding.convert import describe, is_scalar, resolve, type_of
from torch2cpp.binding.make_tensor import raise_where_empty, tensor_from_data
from torch2cpp.binding.numpy_arrays import torch_dtype
from torch2cpp.binding.values import AbsVal, Array, Rt, Static, Tensor, Tup
from torch2cpp.hostir.types import BOOL, FLOAT, INT, ListType, TupleType, Type

Args = list[AbsVal]
Kwargs = dict[str, AbsVal]
_DTYPES: dict[Type, torch.dtype] = {BOOL: torch.bool, INT: torch.int64, FLOAT: torch.float64}


def _array(v: AbsVal) -> Array:
    assert isinstance(v, Tensor)
    return Array(v)


def _dtype(cx: Context, given: AbsVal | None, default: torch.dtype) -> torch.dtype:
    if given is None or (isinstance(given, Static) and given.value is None):
        return default
    try:
        return torch_dtype(given.value)
    except (AttributeError, KeyError, TypeError):
        cx.refuse("T2C172", f"a numpy array of {describe(cx, given)}", "use float32, float64, int64 or bool")


def _arange(cx: Context, args: Args, kwargs: Kwargs) -> AbsVal:
    bounds = [tensor_or_item(cx, a) for a in args]
    if set(kwargs) - {"dtype"} or not all(is_scalar(b) and type_of(cx, b) in (INT, BOOL) for b in bounds):
        cx.refuse("T2C172", "np.arange() of floats", "use [start + i * step for i in range(n)]")
    made = call_aten(cx, "arange", bounds, {"dtype": Static(torch.int64)})
    wanted = _dtype(cx, kwargs.get("dtype"), torch.int64)
    return _array(made if wanted is torch.int64 else call_aten(cx, "to", [made, Static(wanted)]))


def _filled(name: str) -> Handler:
    def run(cx: Context, args: Args, kwargs: Kwargs) -> AbsVal:
        shape, rest = args[0], list(args[1:])
        sizes = Tup((shape,)) if is_scalar(resolve(cx, shape)) else shape
        value = [tensor_or_item(cx, rest.pop(0) if rest else kwargs["fill_value"])] if name == "full" else []
        default = _DTYPES.get(type_of(cx, value[0]), torch.float64) if value else torch.float64
        wanted = _dtype(cx, rest[0] if rest else kwargs.get("dtype"), default)
        if set(kwargs) - {"dtype", "fill_value"}:
            cx.refuse("T2C172", f"np.{name}() with {', '.join(kwargs)}", "give a shape and a dtype")
        return _array(call_aten(cx, name, [sizes, *value], {"dtype": Static(wanted)}))

    return run


def _numbers(cx: Context, v: AbsVal) -> set[Type] | None:
    """The types of the numbers in nested lists; None where there is anything else."""
    o = resolve(cx, v)
    if is_scalar(o):
        return {type_of(cx, o)}
    if isinstance(o, Rt) and isinstance(o.type, ListType):
        return _types_inside(o.type)
    elems = elements(cx, v)
    if elems is None or operators.tensor_of(cx, o) is not None:
        return None
    found: set[Type] = set()
    for e in elems:
        inside = _numbers(cx, e)
        if inside is None:
            return None
        found |= inside
    return found


def _types_inside(t: Type) -> set[Type]:
    """The types of what is in nested lists and tuples that are kept at run time."""
    match t:
        case ListType():
            return _types_inside(t.elem)
        case TupleType():
            return set().union(*map(_types_inside, t.elems))
    return {t}


def _of_data(cx: Context, args: Args, kwargs: Kwargs) -> AbsVal:
    given = args[1] if len(args) > 1 else kwargs.get("dtype")
    source = args[0]
    if set(kwargs) - {"dtype", "copy"}:
        cx.refuse("T2C172", f"np.array() with {', '.join(kwargs)}", "give it numbers and a dtype")
    t = source.tensor if isinstance(source, Array) else operators.tensor_of(cx, resolve(cx, source))
    if t is not None:
        made = call_aten(cx, "clone", [t])
        wanted = _dtype(cx, given, t.meta.dtype)
        return _array(made if wanted is t.meta.dtype else call_aten(cx, "to", [made, Static(wanted)]))
    kinds = _numbers(cx, source)
    if kinds is None or not kinds <= set(_DTYPES):
        cx.refuse("T2C172", f"np.array({describe(cx, source)})", "give it numbers or nested lists of numbers")
    widest = next((k for k in (FLOAT, INT, BOOL) if k in kinds), FLOAT)
    wanted = _dtype(cx, given, _DTYPES[widest])
    made = tensor_from_data(cx, source, wanted, has_items=_raised_without_items(cx, source, given, wanted))
    if made is None:
        cx.refuse("T2C172", f"np.array({describe(cx, source)})", "give it numbers or nested lists of numbers")
    return _array(made)


def _raised_without_items(cx: Context, source: AbsVal, given: AbsVal | None, dtype: torch.dtype) -> bool:
    """Raises where a run-time list is empty and numpy's array of it would be another; whether it does.

    That one has one dimension and, where no dtype is given, is float64.
    """
    o = resolve(cx, source)
    if not isinstance(o, Rt) or not isinstance(o.type, ListType):
        return False
    nested = isinstance(o.type.elem, ListType | TupleType)
    if not nested and _dtype(cx, given, torch.float64) is dtype:
        return False
    there = str(_dtype(cx, given, torch.float64)).removeprefix("torch.")
    text = f"np.array() of an empty list has one dimension, and is {there} in Python: test for it before"
    raise_where_empty(cx, o, text)
    return True


def _register(function: Any, handler: Handler) -> None:
    TABLE[function] = handler


_register(np.arange, _arange)
_register(np.array, _of_data)
for _name in ("zeros", "ones", "full"):
    _register(getattr(np, _name), _filled(_name))
