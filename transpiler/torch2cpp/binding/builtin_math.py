"""The functions of math, numpy and operator that mean a scalar function."""

from __future__ import annotations

import math
import operator
import types

import numpy as np
import torch

from torch2cpp.binding import operators
from torch2cpp.binding.aten import call_aten, elements, scalar_item
from torch2cpp.binding.builtin_table import TABLE, Handler, builtin, static_first, tensor_or_item
from torch2cpp.binding.context import Context
from torch2cpp.binding.convert import resolve
from torch2cpp.binding.values import (
    AbsVal,
    Native,
    Static,
    Tensor,
    Tup,
)

# math, numpy, operator ---------------------------------------------------------------------------


def _math(name: str) -> Handler:
    def run(cx: Context, args: list[AbsVal], kwargs: dict[str, AbsVal]) -> AbsVal:
        vals = [tensor_or_item(cx, a) for a in args]
        if all(isinstance(v, Static) for v in vals):
            return operators.static_call(cx, getattr(math, name), *(v.value for v in vals))
        row = "math.log_base" if name == "log" and len(vals) == 2 else f"math.{name}"
        ops = [operators.scalar_operand(cx, v) for v in vals]
        return operators.with_hints(cx, cx.scalar(row, *ops), getattr(math, name), *vals)

    return run


def _register_math() -> None:
    from torch2cpp.hostir.host_ops import TABLE as ROWS

    for row in ROWS:
        name = row.removeprefix("math.")
        if row.startswith("math.") and isinstance(getattr(math, name, None), types.BuiltinFunctionType):
            f = getattr(math, name)
            TABLE[f] = static_first(f)(_math(name))


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
    TABLE[getattr(np, _name)] = static_first(getattr(np, _name))(_numpy_scalar(_name))


@builtin(np.argmax, static=False)
def _np_argmax(cx: Context, args: list[AbsVal], kwargs: dict[str, AbsVal]) -> AbsVal:
    """`np.argmax` of a list: the index of the first largest item."""
    from torch2cpp.binding.containers import as_list

    t = operators.tensor_of(cx, resolve(cx, args[0]))
    if t is not None:
        return scalar_item(cx, _must(call_aten(cx, "argmax", [t])))
    elems = elements(cx, args[0])
    if elems is not None:
        flat = [tensor_or_item(cx, e) for e in elems]
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
    TABLE[_python] = _operator(_sign)
for _sign, (_python, _, _) in operators.COMPARE.items():
    TABLE[_python] = lambda cx, a, k, _sign=_sign: operators.compare(cx, _sign, a[0], a[1])  # type: ignore[misc]
TABLE[operator.itemgetter] = lambda cx, a, k: Native(
    "itemgetter",
    lambda c, xs, kk: _get_items(c, xs[0], a),
)


def _get_items(cx: Context, obj: AbsVal, keys: list[AbsVal]) -> AbsVal:
    from torch2cpp.binding.containers import get_item

    got = [get_item(cx, obj, k) for k in keys]
    return got[0] if len(got) == 1 else Tup(tuple(got))
