"""The functions of math that mean a scalar function."""

from __future__ import annotations

import math
import types

from torch2cpp.binding import operators
from torch2cpp.binding.builtin_table import TABLE, Handler, builtin, static_first, tensor_or_item
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


@builtin(math.dist)
def _dist(cx: Context, args: list[AbsVal], kwargs: dict[str, AbsVal]) -> AbsVal:
    """`math.dist(p, q)` of points with two coordinates."""
    from torch2cpp.binding.aten import elements

    points = [elements(cx, a) for a in args]
    if len(points) != 2 or any(p is None for p in points):
        cx.refuse("T2C172", "math.dist() of points of run-time length", "give it tuples of known length")
    p, q = [[tensor_or_item(cx, x) for x in each or []] for each in points]
    if len(p) != len(q):
        cx.raise_(ValueError, "both points must have the same number of dimensions")
    gaps = [operators.binary(cx, "-", a, b) for a, b in zip(p, q)]
    if len(gaps) == 1:
        return TABLE[math.fabs](cx, gaps, {})
    if len(gaps) != 2:
        cx.refuse("T2C172", f"math.dist() of points with {len(gaps)} coordinates", "use torch.dist, or math.sqrt")
    return TABLE[math.hypot](cx, gaps, {})


_register_math()
