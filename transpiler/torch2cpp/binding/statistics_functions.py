"""`statistics.mean` and its like, of lists of numbers, and `math.fsum`."""

from __future__ import annotations

import math
import statistics

from torch2cpp.binding.builtin_table import TABLE, Handler, static_first
from torch2cpp.binding.containers import make_run_time, new_list
from torch2cpp.binding.context import Context
from torch2cpp.binding.convert import describe, resolve
from torch2cpp.binding.in_python import statistics_functions as bodies
from torch2cpp.binding.list_methods import raise_if
from torch2cpp.binding.values import AbsVal, ListObj, Rt, Static
from torch2cpp.hostir.types import FLOAT, INT, NEVER, ListType

Args = list[AbsVal]
Kwargs = dict[str, AbsVal]

#: How many numbers each needs, in Python's words.
_LEAST = {
    "mean": (1, "mean requires at least one data point"),
    "fmean": (1, "fmean requires at least one data point"),
    "pvariance": (1, "pvariance requires at least one data point"),
    "pstdev": (1, "pstdev requires at least one data point"),
    "variance": (2, "variance requires at least two data points"),
    "stdev": (2, "stdev requires at least two data points"),
}
#: Those whose result is an int where the data are ints and it is whole.
_OF_INTS = {"mean": bodies.mean, "variance": bodies.variance, "pvariance": bodies.pvariance}


def _of_numbers(name: str) -> Handler:
    """A function of `statistics`."""
    function = getattr(statistics, name)

    def run(cx: Context, args: Args, kwargs: Kwargs) -> AbsVal:
        from torch2cpp.binding.calls import call_python

        if len(args) != 1 or kwargs:
            cx.refuse("T2C172", f"statistics.{name}() with more than the data", "give it the data alone")
        data = _numbers(cx, args[0], f"statistics.{name}")
        assert isinstance(data.type, ListType)
        least, message = _LEAST[name]
        n = cx.host("list.len", data.operand)
        raise_if(cx, cx.host("lt", n, least, label="too_few"), statistics.StatisticsError, lambda: message)
        if data.type.elem == NEVER:
            return Static(0.0)  # not reached
        if data.type.elem == INT and name in _OF_INTS:
            return call_python(cx, _OF_INTS[name], [data], {})  # type: ignore[arg-type]
        if name == "fmean":
            return cx.scalar("truediv", cx.host("math.fsum", data.operand), n, label="mean")
        return cx.scalar(f"statistics.{name}", data.operand, label=name)

    return static_first(function)(run)


def _numbers(cx: Context, data: AbsVal, name: str) -> Rt:
    """All items as a run-time list of ints or of floats. Refuses other data."""
    from torch2cpp.binding.comprehensions import consume
    from torch2cpp.binding.container_methods import list_append

    listed = resolve(cx, data)
    if not isinstance(listed, Rt) or not isinstance(listed.type, ListType):
        site = (cx.site(None), "data")
        out = new_list(cx, [], site)
        consume(cx, data, lambda x: list_append(cx, out, x), site)
        if isinstance(resolve(cx, out), ListObj):
            make_run_time(cx, out)
        listed = resolve(cx, out)
    assert isinstance(listed, Rt) and isinstance(listed.type, ListType)
    if listed.type.elem not in (FLOAT, INT, NEVER):
        what = f"{name}() of {describe(cx, data)}"
        cx.refuse("T2C172", what, "give it a list of ints, or one of floats: convert with float()")
    return listed


def _fsum(cx: Context, args: Args, kwargs: Kwargs) -> AbsVal:
    if len(args) != 1 or kwargs:
        cx.raise_(TypeError, f"math.fsum() takes exactly one argument ({len(args)} given)")
    data = _numbers(cx, args[0], "math.fsum")
    assert isinstance(data.type, ListType)
    return Static(0.0) if data.type.elem == NEVER else cx.scalar("math.fsum", data.operand, label="total")


TABLE[math.fsum] = static_first(math.fsum)(_fsum)
for _name in _LEAST:
    TABLE[getattr(statistics, _name)] = _of_numbers(_name)
