"""Functions as objects: functools.partial made in deployed code, and what inspect tells of a function."""

from __future__ import annotations

import functools
import inspect
import types
from typing import Any

from torch2cpp.binding.builtin_table import TABLE, builtin
from torch2cpp.binding.context import Context
from torch2cpp.binding.convert import describe, resolve
from torch2cpp.binding.values import AbsVal, Bound, Native, Static


@builtin(functools.partial)
def _partial(cx: Context, args: list[AbsVal], kwargs: dict[str, AbsVal]) -> AbsVal:
    from torch2cpp.binding.calls import call

    if not args:
        cx.raise_(TypeError, "type 'partial' takes at least one argument")
    callee, first = args[0], args[1:]
    return Native("partial", lambda cx, more, named: call(cx, callee, [*first, *more], {**kwargs, **named}))


def _function(cx: Context, v: AbsVal) -> Any:
    """The Python function or method behind a value."""
    o = resolve(cx, v)
    if isinstance(o, Static) and callable(o.value):
        return o.value
    if isinstance(o, Bound) and isinstance(o.callee, Static):
        return types.MethodType(o.callee.value, object())
    cx.refuse("T2C200", f"inspect of {describe(cx, v)}", "name the arguments that the function takes")


def _signature(cx: Context, args: list[AbsVal], kwargs: dict[str, AbsVal]) -> AbsVal:
    return Static(inspect.signature(_function(cx, args[0])))


TABLE[inspect.signature] = _signature
