"""The functions of math that mean a scalar function."""

from __future__ import annotations

import math
import types

from torch2cpp.binding import operators
from torch2cpp.binding.builtin_table import TABLE, Handler, static_first, tensor_or_item
from torch2cpp.binding.context import Context
from torch2cpp.binding.values import (
    AbsVal,
    Static,
)


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
