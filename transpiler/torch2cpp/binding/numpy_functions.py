"""numpy functions on Python numbers, on lists of them, and on arrays (see numpy_arrays.py)."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from torch2cpp.binding import numpy_arrays as arrays
from torch2cpp.binding import operators
from torch2cpp.binding.aten import call_aten
from torch2cpp.binding.builtin_table import TABLE, Handler, static_first, tensor_or_item
from torch2cpp.binding.context import Context
from torch2cpp.binding.convert import describe, is_scalar, resolve, type_of
from torch2cpp.binding.in_python import numpy_functions as bodies
from torch2cpp.binding.values import NONE, AbsVal, Array, Choice, Host, ListObj, Rt, StarRest, Static, Tup
from torch2cpp.hostir.types import BOOL, FLOAT, INT, ListType

Args = list[AbsVal]
Kwargs = dict[str, AbsVal]
#: Reductions whose numpy result is a float of the elements as floats.
_AS_FLOATS = {"sum", "mean", "var", "std", "median"}


def _body(cx: Context, body: Any, args: Args, kwargs: Kwargs) -> AbsVal:
    from torch2cpp.binding.calls import call_python

    return call_python(cx, body, args, kwargs)


def _elementwise(name: str, body: Any) -> Handler:
    def run(cx: Context, args: Args, kwargs: Kwargs) -> AbsVal:
        if any(isinstance(a, Array) for a in args):
            return arrays.function(cx, name, args, kwargs)
        if any(isinstance(a, StarRest) for a in args):
            return _body(cx, body, args, kwargs)
        t = operators.tensor_of(cx, resolve(cx, args[0]))
        if t is not None and t.rank > 0:
            # numpy takes a tensor's array
            return arrays.function(cx, name, [Array(t), *args[1:]], kwargs)
        return _body(cx, body, [tensor_or_item(cx, a) for a in args], kwargs)

    return run


def _listed(cx: Context, v: AbsVal, as_floats: bool, mixed_as_floats: bool = False) -> AbsVal | None:
    """A list of numbers, its elements read; as floats where any is one; None for what is no such list.

    `mixed_as_floats`: ints become floats where only the run time knows which of the numbers are floats.
    """
    from torch2cpp.binding.calls import call
    from torch2cpp.binding.comprehensions import consume
    from torch2cpp.binding.container_methods import list_append
    from torch2cpp.binding.containers import new_list

    def number(x: AbsVal) -> AbsVal:
        mixed = mixed_as_floats and isinstance(x, Choice)
        return call(cx, Static(float), [x], {}) if mixed else tensor_or_item(cx, x)

    o = resolve(cx, v)
    if (isinstance(o, Static) and isinstance(o.value, list | tuple)) or isinstance(o, Tup | ListObj):
        from torch2cpp.binding.iteration import known_items

        items = [number(x) for x in known_items(cx, v) or []]
        if not all(is_scalar(x) and type_of(cx, x) in (INT, FLOAT, BOOL) for x in items):
            return None
        to_float = as_floats or any(type_of(cx, x) == FLOAT for x in items) or not items
        made = new_list(cx, [_as_float(cx, x) if to_float else x for x in items], (cx.site(None), "numbers"))
        from torch2cpp.binding.containers import make_run_time

        if len(items) > 8:
            make_run_time(cx, made)  # a loop over them stays a loop
        return made
    if not isinstance(o, Rt) or not isinstance(o.type, ListType):
        return None
    if o.type.elem == FLOAT or (o.type.elem == INT and not as_floats):
        return v
    numbers = new_list(cx, [], (cx.site(None), "numbers"))
    known = o.type.elem in (INT, BOOL)

    def one(x: AbsVal) -> None:
        x = number(x)
        if not is_scalar(x):
            cx.refuse("T2C172", f"a numpy function of {describe(cx, v)}", "give it a list of numbers")
        list_append(cx, numbers, _as_float(cx, x) if as_floats or not known else x)

    consume(cx, v, one, (cx.site(None), "numbers"))
    return numbers


def _as_float(cx: Context, v: AbsVal) -> AbsVal:
    if isinstance(v, Static):
        return Static(float(v.value))
    assert isinstance(v, Host)
    return v if v.type == FLOAT else cx.scalar("float", v.operand)


def _reduction(name: str, body: Any) -> Handler:
    def run(cx: Context, args: Args, kwargs: Kwargs) -> AbsVal:
        o = args[0]
        t = operators.tensor_of(cx, resolve(cx, o))
        if isinstance(o, Array) or (t is not None and name not in ("max", "min", "median")):
            return arrays.method(cx, o if isinstance(o, Array) else Array(t), name)(args[1:], kwargs)  # type: ignore[arg-type]
        rest = {k: v for k, v in kwargs.items() if not (k == "axis" and isinstance(v, Static) and v.value is None)}
        if name == "argmax" and not rest and len(args) == 1:
            known = _known_argmax(cx, o)
            if known is not None:
                return known
        if len(args) > 1 or set(rest) - {"ddof"}:
            cx.refuse("T2C172", f"np.{name}() with {', '.join(rest) or 'an axis'}", "reduce a flat list of numbers")
        whole_int = name == "sum" and _all_ints(cx, o)
        as_floats = name in _AS_FLOATS and not whole_int
        numbers = _listed(cx, o, as_floats, as_floats or name in ("argmax", "argmin"))
        if numbers is None:
            cx.refuse("T2C172", f"np.{name}() of {describe(cx, o)}", "give it a flat list of numbers")
        if whole_int:
            return TABLE[sum](cx, [numbers], {})
        return _body(cx, body, [numbers], rest)

    return run


def _known_argmax(cx: Context, v: AbsVal) -> AbsVal | None:
    """`np.argmax` of a list of known length: one tensor operation."""
    from torch2cpp.binding.aten import elements, scalar_item
    from torch2cpp.binding.make_tensor import tensor_from_data
    from torch2cpp.binding.values import Tensor

    elems = elements(cx, v)
    if not elems or not any(operators.tensor_of(cx, resolve(cx, e)) is not None for e in elems):
        return None
    made = tensor_from_data(cx, Tup(tuple(tensor_or_item(cx, e) for e in elems)), torch.float64)
    if made is None:
        return None
    at = call_aten(cx, "argmax", [made])
    assert isinstance(at, Tensor)
    return scalar_item(cx, at)


def _all_ints(cx: Context, v: AbsVal) -> bool:
    from torch2cpp.binding.aten import elements

    o = resolve(cx, v)
    if isinstance(o, Rt) and isinstance(o.type, ListType):
        return o.type.elem in (INT, BOOL)
    elems = elements(cx, v)
    return bool(elems) and all(is_scalar(e) and type_of(cx, e) in (INT, BOOL) for e in elems or [])


def _tests(name: str) -> Handler:
    """np.isnan and its like."""
    import math

    def run(cx: Context, args: Args, kwargs: Kwargs) -> AbsVal:
        if isinstance(args[0], Array):
            return arrays.function(cx, name, args, kwargs)
        return TABLE[getattr(math, name)](cx, args, kwargs)

    return run


def _register() -> None:
    same = ("sqrt", "exp", "log", "log2", "log10", "sin", "cos", "tan", "floor", "ceil", "rint", "sign", "maximum",
            "minimum", "clip")  # fmt: skip
    for name in same:
        f = getattr(np, name)
        TABLE[f] = static_first(f)(_elementwise(name, getattr(bodies, name)))
    for name in ("hypot", "arctan2", "arctan", "log1p", "expm1", "deg2rad", "rad2deg", "radians", "degrees"):
        f = getattr(np, name)
        TABLE[f] = static_first(f)(_elementwise(name, getattr(bodies, name)))
    TABLE[np.round] = static_first(np.round)(_elementwise("round", bodies.round_))
    for f in (np.abs, np.absolute):
        TABLE[f] = _absolute
    for name, body in (
        ("sum", bodies.sum_of_floats), ("mean", bodies.mean), ("var", bodies.var), ("std", bodies.std),
        ("median", bodies.median), ("prod", bodies.prod), ("max", bodies.amax), ("min", bodies.amin),
        ("argmax", bodies.argmax), ("argmin", bodies.argmin),
    ):  # fmt: skip
        for f in {getattr(np, name), getattr(np, f"a{name}", getattr(np, name))}:
            if name not in ("argmax", "argmin") or f.__name__ == name:
                TABLE[f] = _reduction(name, body)
    for name in ("isnan", "isinf", "isfinite"):
        TABLE[getattr(np, name)] = _tests(name)
    for name in ("where", "concatenate", "stack", "zeros_like", "ones_like", "any", "all", "square", "tanh"):
        TABLE[getattr(np, name)] = _of_arrays(name)
    for f in (np.asarray, np.ascontiguousarray):
        TABLE[f] = _asarray
    for kind in (np.float64, np.int64):
        TABLE[kind] = _converter(kind)


def _absolute(cx: Context, args: Args, kwargs: Kwargs) -> AbsVal:
    if isinstance(args[0], Array):
        return arrays.function(cx, "abs", args, kwargs)
    return TABLE[abs](cx, args, kwargs)


def _of_arrays(name: str) -> Handler:
    f = getattr(np, name)

    def run(cx: Context, args: Args, kwargs: Kwargs) -> AbsVal:
        first = args[0] if args else None
        inside = first.elems if isinstance(first, Tup) else getattr(resolve(cx, first), "elems", ())
        if any(isinstance(a, Array) for a in (*args, *inside)):
            return arrays.function(cx, name, args, kwargs)
        if name == "tanh" and args and is_scalar(tensor_or_item(cx, args[0])):
            import math

            return TABLE[math.tanh](cx, args, {})
        if name == "square" and args and is_scalar(tensor_or_item(cx, args[0])):
            x = tensor_or_item(cx, args[0])
            return operators.binary(cx, "*", x, x)
        cx.refuse("T2C172", f"np.{name}() here", "use tensor operations or plain Python")

    return static_first(f)(run)


def _asarray(cx: Context, args: Args, kwargs: Kwargs) -> AbsVal:
    """An array or tensor of that dtype as it is; anything else, such as a list, as `np.array` makes it."""
    source = args[0]
    t = source.tensor if isinstance(source, Array) else operators.tensor_of(cx, resolve(cx, source))
    given = args[1] if len(args) > 1 else kwargs.get("dtype", NONE)
    if len(args) > 2 or set(kwargs) - {"dtype"}:
        cx.refuse("T2C172", f"np.asarray() with {', '.join(kwargs) or 'three arguments'}", "give it a dtype only")
    if t is None:
        return TABLE[np.array](cx, args, kwargs)
    try:
        wanted = t.meta.dtype if given.value is None else arrays.torch_dtype(given.value)
    except (AttributeError, KeyError, TypeError):
        wanted = None  # np.array says what is wrong with it
    if wanted != t.meta.dtype:
        return TABLE[np.array](cx, args, kwargs)
    return source if isinstance(source, Array) else Array(t)


def _converter(kind: Any) -> Handler:
    python = float if kind is np.float64 else int

    def run(cx: Context, args: Args, kwargs: Kwargs) -> AbsVal:
        return TABLE[python](cx, args, kwargs)

    return static_first(kind)(run)


_register()
