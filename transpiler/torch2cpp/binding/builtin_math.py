"""The functions of math, numpy and operator that mean a scalar function."""

from __future__ import annotations

import math
import operator
import types

from torch2cpp.binding import operators
from torch2cpp.binding.builtin_table import TABLE, Handler, static_first, tensor_or_item
from torch2cpp.binding.context import Context
from torch2cpp.binding.values import (
    AbsVal,
    Native,
    Static,
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
    from torch2cpp.binding.items import get_item

    got = [get_item(cx, obj, k) for k in keys]
    return got[0] if len(got) == 1 else Tup(tuple(got))
