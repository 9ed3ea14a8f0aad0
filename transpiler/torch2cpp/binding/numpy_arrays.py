"""numpy arrays: tensors with numpy's rules for types, axes and results.

Only what is the same to the last bit is taken.
A result without dimensions is a scalar: an int, bool or float64 is Python's, a float32 stays an array
of rank 0, since its arithmetic is that of float32.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn

import numpy as np
import torch

from torch2cpp.binding import indexing, operators
from torch2cpp.binding.aten import call_aten, scalar_item
from torch2cpp.binding.context import Context, tensor_type
from torch2cpp.binding.convert import describe, is_scalar, resolve, type_of
from torch2cpp.binding.values import NONE, AbsVal, Array, Meta, Native, SliceVal, Static, Tensor, Tup
from torch2cpp.hostir.types import FLOAT, INT, STR

_DTYPES = {
    np.dtype(np.float32): torch.float32, np.dtype(np.float64): torch.float64, np.dtype(np.int64): torch.int64,
    np.dtype(np.int32): torch.int32, np.dtype(np.uint8): torch.uint8, np.dtype(np.bool_): torch.bool,
}  # fmt: skip
_NUMPY: dict[torch.dtype, Any] = {t: d for d, t in _DTYPES.items()}
_FLOATS = (torch.float32, torch.float64)
_INTS = (torch.int64, torch.int32, torch.uint8)


def _refuse(cx: Context, what: str) -> NoReturn:
    cx.refuse("T2C172", what, "do it with the tensor, before .numpy()")


def of_tensor(cx: Context, t: Tensor) -> Array:
    """`t.numpy()`: an array over the tensor's own storage."""
    if t.meta.dtype not in _NUMPY:
        _refuse(cx, f"a numpy array of {t.meta.dtype}")
    return Array(t)


def of_model(cx: Context, value: np.ndarray[Any, Any]) -> Array:
    """An array that the model holds, at run time: a weight."""
    if value.dtype not in _DTYPES:
        _refuse(cx, f"a numpy array of {value.dtype}")
    if id(value) not in cx.facts.arrays:
        cx.facts.arrays[id(value)] = torch.from_numpy(value)
        cx.keep.append(value)
    return Array(cx.weight(cx.facts.arrays[id(value)]))


def at_run_time(cx: Context, v: AbsVal) -> AbsVal:
    """A value as it is, but for arrays of the model."""
    return of_model(cx, v.value) if isinstance(v, Static) and isinstance(v.value, np.ndarray) else v


def result(cx: Context, v: AbsVal) -> AbsVal:
    """A result of numpy: one without dimensions is a scalar, apart from the array it came from."""
    if not isinstance(v, Tensor):
        return v
    if v.rank > 0:
        return Array(v)
    if v.meta.dtype is torch.float32:
        made = call_aten(cx, "clone", [v])
        assert isinstance(made, Tensor)
        return Array(made)
    return scalar_item(cx, v)


def item(cx: Context, a: Array) -> AbsVal:
    """The Python number of a scalar."""
    if a.tensor.rank > 0:
        _refuse(cx, f"{describe(cx, a)} as a number")
    return scalar_item(cx, a.tensor)


def _cast(cx: Context, t: Tensor, dtype: torch.dtype) -> Tensor:
    if t.meta.dtype is dtype:
        return t
    made = call_aten(cx, "to", [t, Static(dtype)])
    assert isinstance(made, Tensor)
    return made


def _pair(cx: Context, a: AbsVal, b: AbsVal, floats: bool = False) -> tuple[AbsVal, AbsVal]:
    """Two operands in the type that numpy computes in; Python numbers take the array's if it can hold them."""
    dtypes = [v.tensor.meta.dtype for v in (a, b) if isinstance(v, Array)]
    common = torch_dtype(np.result_type(*(_NUMPY[d] for d in dtypes)))
    for v in (a, b):
        if not isinstance(v, Array) and not (is_scalar(v) and type_of(cx, v) != STR):
            _refuse(cx, f"a numpy array with {describe(cx, v)}")
        if is_scalar(v) and type_of(cx, v) == FLOAT and common not in _FLOATS:
            common = torch.float64
    if floats and common not in _FLOATS:
        common = torch.float64
    if common is torch.bool and not all(isinstance(v, Array) for v in (a, b)):
        common = torch.int64 if any(is_scalar(v) and type_of(cx, v) == INT for v in (a, b)) else torch.bool
    out = [_cast(cx, v.tensor, common) if isinstance(v, Array) else v for v in (a, b)]
    return out[0], out[1]


def torch_dtype(dtype: Any) -> torch.dtype:
    """The torch dtype of a numpy one."""
    return _DTYPES[np.dtype(dtype)]


def binary(cx: Context, sign: str, a: AbsVal, b: AbsVal) -> AbsVal:
    """`a <sign> b`, one of them an array."""
    x, y = _pair(cx, a, b, floats=sign == "/")
    tensors = [v for v in (x, y) if isinstance(v, Tensor)]
    dtype = tensors[0].meta.dtype
    if sign == "**":
        if isinstance(y, Static) and y.value == 2 and isinstance(x, Tensor):
            return result(cx, operators.binary(cx, "*", x, x))
        _refuse(cx, "a power of a numpy array")
    constant = isinstance(y, Static) and type(y.value) is int and y.value > 0
    if sign in ("//", "%") and not (dtype in _INTS and constant):
        _refuse(cx, f"{sign!r} of a numpy array")
    if sign == "@" or (dtype is torch.bool and sign not in ("&", "|", "^")):
        _refuse(cx, f"{sign!r} of {describe(cx, a)} and {describe(cx, b)}")
    return result(cx, operators.binary(cx, sign, x, y))


def compare(cx: Context, sign: str, a: AbsVal, b: AbsVal) -> AbsVal:
    """`a <sign> b`, one of them an array."""
    x, y = _pair(cx, a, b)
    return result(cx, operators.compare(cx, sign, x, y))


def unary(cx: Context, sign: str, a: Array) -> AbsVal:
    """`-a`, `+a`, `~a`"""
    dtype = a.tensor.meta.dtype
    if (sign == "~" and dtype in _FLOATS) or (sign != "~" and dtype is torch.bool):
        _refuse(cx, f"unary {sign!r} of {describe(cx, a)}")
    return result(cx, operators.unary(cx, sign, a.tensor))


# Subscripts ---------------------------------------------------------------------------------------


def _plain_index(cx: Context, index: AbsVal) -> AbsVal:
    parts = index.elems if isinstance(index, Tup) else (index,)
    out = [p.tensor if isinstance(p, Array) else p for p in parts]
    for p in out:
        step = p.value.step if isinstance(p, Static) and isinstance(p.value, slice) else None
        if isinstance(p, SliceVal) and not (isinstance(p.step, Static) and p.step.value is None):
            _refuse(cx, "a numpy array sliced with a run-time step")
        if step is not None and step < 0:
            _refuse(cx, "a numpy array sliced backwards")
    if isinstance(index, Static) and isinstance(index.value, tuple):
        if any(isinstance(p, slice) and (p.step or 1) < 0 for p in index.value):
            _refuse(cx, "a numpy array sliced backwards")
    return Tup(tuple(out)) if isinstance(index, Tup) else out[0]


def get_item(cx: Context, a: Array, index: AbsVal) -> AbsVal:
    """`a[index]`"""
    return result(cx, indexing.get_item(cx, a.tensor, _plain_index(cx, index)))


def set_item(cx: Context, a: Array, index: AbsVal, value: AbsVal) -> None:
    """`a[index] = value`"""
    indexing.set_item(
        cx, a.tensor, _plain_index(cx, index), value.tensor if isinstance(value, Array) else resolve(cx, value)
    )


# Functions and methods ----------------------------------------------------------------------------

#: Functions that are one ATen operator on floats, the same to the last bit; exp, log and their like are not.
_ATEN = {
    "floor": "floor", "ceil": "ceil", "rint": "round", "round": "round",
    "isnan": "isnan", "isinf": "isinf", "isfinite": "isfinite",
}  # fmt: skip


def function(cx: Context, name: str, args: list[AbsVal], kwargs: dict[str, AbsVal]) -> AbsVal:
    """`np.<name>(...)` with an array among the arguments."""
    if kwargs and name not in ("concatenate", "stack"):
        _refuse(cx, f"np.{name}() with {', '.join(kwargs)}")
    first = args[0] if args else NONE
    if name in _ATEN and len(args) == 1 and isinstance(first, Array):
        t = first.tensor
        if t.meta.dtype not in _FLOATS and name not in ("isnan", "isinf", "isfinite"):
            t = _cast(cx, t, torch.float64)
        return result(cx, call_aten(cx, _ATEN[name], [t]))
    if name == "sqrt" and isinstance(first, Array):
        t = first.tensor
        return result(cx, _sqrt(cx, t if t.meta.dtype in _FLOATS else _cast(cx, t, torch.float64)))
    if name in ("abs", "sign", "square") and isinstance(first, Array) and first.tensor.meta.dtype is not torch.bool:
        return result(cx, call_aten(cx, name, [first.tensor]))
    if name in ("maximum", "minimum") and len(args) == 2:
        x, y = _pair(cx, args[0], args[1])
        return result(cx, call_aten(cx, name, [_full(cx, x, y), _full(cx, y, x)]))
    if name == "clip" and len(args) == 3 and isinstance(first, Array):
        low = function(cx, "maximum", [first, args[1]], {}) if not _is_none(args[1]) else first
        return function(cx, "minimum", [low, args[2]], {}) if not _is_none(args[2]) else low
    if name == "where" and len(args) == 3 and isinstance(first, Array):
        if not any(isinstance(a, Array) for a in args[1:]):
            _refuse(cx, "np.where() between numbers")
        x, y = _pair(cx, args[1], args[2])
        chosen = _cast(cx, first.tensor, torch.bool)
        return result(cx, call_aten(cx, "where", [chosen, _full(cx, x, y), _full(cx, y, x)]))
    if name in ("concatenate", "stack"):
        return _joined(cx, name, args, kwargs)
    if name in ("zeros_like", "ones_like") and isinstance(first, Array):
        return Array(_tensor(call_aten(cx, name, [first.tensor])))
    if name in ("any", "all") and isinstance(first, Array):
        return method(cx, first, name)(args[1:], {})
    _refuse(cx, f"np.{name}() of {describe(cx, first)}")


def _is_none(v: AbsVal) -> bool:
    return isinstance(v, Static) and v.value is None


def _tensor(v: AbsVal) -> Tensor:
    assert isinstance(v, Tensor)
    return v


def _full(cx: Context, v: AbsVal, like: AbsVal) -> AbsVal:
    """A number as a tensor without dimensions, of the other operand's type."""
    if isinstance(v, Tensor):
        return v
    dtype = _tensor(like).meta.dtype
    return call_aten(cx, "full", [Tup(()), v], {"dtype": Static(dtype)})


def _joined(cx: Context, name: str, args: list[AbsVal], kwargs: dict[str, AbsVal]) -> AbsVal:
    from torch2cpp.binding.aten import elements

    parts = elements(cx, args[0])
    axis = args[1] if len(args) > 1 else kwargs.get("axis", Static(0))
    if parts is None or not all(isinstance(p, Array) for p in parts) or set(kwargs) - {"axis"}:
        _refuse(cx, f"np.{name}() of {describe(cx, args[0])}")
    if len({p.tensor.meta.dtype for p in parts}) > 1:
        _refuse(cx, f"np.{name}() of arrays of several types")
    joined = call_aten(cx, "cat" if name == "concatenate" else "stack", [Tup(tuple(p.tensor for p in parts)), axis])
    return Array(_tensor(joined))


def _axis(cx: Context, name: str, args: list[AbsVal], kwargs: dict[str, AbsVal]) -> AbsVal:
    given = args[0] if args else kwargs.get("axis", NONE)
    if len(args) > 1 or set(kwargs) - {"axis", "ddof"} or not isinstance(given, Static):
        _refuse(cx, f"{name}() with {', '.join(kwargs) or 'more than an axis'}")
    return given


def _reduced(cx: Context, a: Array, name: str, args: list[AbsVal], kwargs: dict[str, AbsVal]) -> AbsVal:
    axis = _axis(cx, name, args, kwargs)
    t = a.tensor
    whole = _is_none(axis)
    if name in ("argmax", "argmin"):
        return result(cx, call_aten(cx, name, [t] if whole else [t, axis]))
    if name in ("max", "min"):
        if whole:
            return result(cx, call_aten(cx, name, [t]))
        return result(cx, call_aten(cx, f"a{name}", [t, Tup((axis,))]))
    if name in ("any", "all"):
        t = _cast(cx, t, torch.bool)
        return result(cx, call_aten(cx, name, [t] if whole else [t, axis]))
    dims = [] if whole else [Tup((axis,))]
    if name == "sum" and t.meta.dtype not in _FLOATS:
        if t.meta.dtype is torch.uint8:
            _refuse(cx, f"{name}() of an array of uint8")
        return result(cx, call_aten(cx, name, [t, *dims]))
    t = t if t.meta.dtype in _FLOATS else _cast(cx, t, torch.float64)
    place = None if whole else axis.value % t.rank
    total = _summed(cx, t, place)
    if name == "sum":
        return result(cx, total)
    count: AbsVal = Static(1)
    for i in range(t.rank):
        if place is None or i == place:
            count = operators.binary(cx, "*", count, _size(cx, t, i))
    middle = _tensor(call_aten(cx, "div", [total, count]))
    if name == "mean":
        return result(cx, middle)
    if place is not None:
        middle = _tensor(call_aten(cx, "unsqueeze", [middle, Static(place)]))
    apart = call_aten(cx, "sub", [t, middle])
    squares = _tensor(call_aten(cx, "mul", [apart, apart]))
    left = operators.binary(cx, "-", count, kwargs.get("ddof", Static(0)))
    variance = call_aten(cx, "div", [_summed(cx, squares, place), left])
    return result(cx, variance if name == "var" else _sqrt(cx, _tensor(variance)))


def _sqrt(cx: Context, t: Tensor) -> AbsVal:
    """The correctly rounded square root; torch's own may be off in the last bit."""
    if t.meta.dtype is torch.float32:
        return _cast(cx, _tensor(call_aten(cx, "sqrt", [_cast(cx, t, torch.float64)])), torch.float32)
    if t.rank > 0:
        _refuse(cx, "the square root of a numpy array of float64")
    from torch2cpp.binding.calls import call_python
    from torch2cpp.binding.in_python import numpy_functions

    return call_python(cx, numpy_functions.sqrt, [scalar_item(cx, t)], {})  # type: ignore[arg-type]


def _size(cx: Context, t: Tensor, dim: int) -> AbsVal:
    from torch2cpp.binding.iteration import size_host

    known = t.meta.dims[dim]
    return Static(known) if isinstance(known, int) else size_host(cx, t, dim)


def _summed(cx: Context, t: Tensor, axis: int | None) -> Tensor:
    """The sum over an axis or over everything, added in numpy's order."""
    dims = () if axis is None else tuple(d for i, d in enumerate(t.meta.dims) if i != axis)
    meta = Meta(t.meta.dtype, dims)
    args = (t.operand,) if axis is None else (t.operand, axis)
    return Tensor(cx.host("tensor.numpy_sum", *args, type_=tensor_type(meta), label="total"), meta)


_REDUCTIONS = {"sum", "mean", "std", "var", "max", "min", "argmax", "argmin", "any", "all"}


def method(cx: Context, a: Array, name: str) -> Callable[[list[AbsVal], dict[str, AbsVal]], AbsVal]:
    """A method of an array, to be called with its arguments."""
    return lambda args, kwargs: _method(cx, a, name, args, kwargs)


def _method(cx: Context, a: Array, name: str, args: list[AbsVal], kwargs: dict[str, AbsVal]) -> AbsVal:
    from torch2cpp.binding.tensor_methods import tensor_attribute

    t = a.tensor
    if name in _REDUCTIONS:
        return _reduced(cx, a, name, args, kwargs)
    if name == "astype" and len(args) == 1 and isinstance(args[0], Static):
        try:
            return Array(_tensor(call_aten(cx, "clone", [_cast(cx, t, torch_dtype(args[0].value))])))
        except (KeyError, TypeError):
            _refuse(cx, f"astype({args[0].value!r})")
    if name == "copy" and not args:
        return Array(_tensor(call_aten(cx, "clone", [t])))
    if name == "clip":
        return function(cx, "clip", [a, *args], kwargs)
    if name == "item" and not args:
        return item(cx, a)
    own = {"tolist": "tolist", "reshape": "reshape", "flatten": "flatten", "ravel": "reshape"}
    if name in own and not kwargs:
        from torch2cpp.binding.calls import call

        extra = [Static(-1)] if name == "ravel" else list(args)
        out = call(cx, tensor_attribute(cx, t, own[name]), extra, {})
        if name == "flatten":
            out = call_aten(cx, "clone", [out])
        return out if name == "tolist" else Array(_tensor(out))
    _refuse(cx, f"{name}() of a numpy array")


def attribute(cx: Context, a: Array, name: str) -> AbsVal:
    """`a.name`"""
    from torch2cpp.binding.tensor_methods import tensor_attribute

    t = a.tensor
    match name:
        case "shape":
            shape = tensor_attribute(cx, t, "shape")
            return Tup(shape.elems) if isinstance(shape, Tup) else Static(tuple(shape.value))
        case "ndim":
            return Static(t.rank)
        case "size":
            from torch2cpp.binding.calls import call

            return call(cx, tensor_attribute(cx, t, "numel"), [], {})
        case "dtype":
            return Static(_NUMPY[t.meta.dtype])
        case "T" if t.rank == 2:
            return Array(_tensor(call_aten(cx, "t", [t])))
    if not hasattr(np.ndarray, name):
        from torch2cpp.binding.attributes import Missing

        raise Missing(f"'numpy.ndarray' object has no attribute '{name}'")
    return Native(name, lambda c, args, kwargs: method(c, a, name)(args, kwargs))
