"""Values of unlike kinds in one variable: a tag tells which one it is at run time.

Where paths leave values that share no type (tensors of different dtype or rank, a number and a
tensor, one module or another), the variable becomes a `Choice`. An operation on it branches on the
tag, works on the one option that is there, and joins the results, which mostly have one type again.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, Concatenate, ParamSpec

from torch2cpp.binding.context import Context
from torch2cpp.binding.control import branch
from torch2cpp.binding.convert import from_operand
from torch2cpp.binding.values import AbsVal, Choice, Unbound
from torch2cpp.hostir.types import OptionalType

P = ParamSpec("P")


def option_value(cx: Context, choice: Choice, index: int) -> AbsVal:
    """The value of an option, on a path where the tag says that it is there."""
    option = choice.options[index]
    if isinstance(option.static, Unbound):
        message = f"cannot access local variable '{choice.name}' where it is not associated with a value"
        cx.raise_(UnboundLocalError, message)
    if option.slot is None:
        return option.static
    known = cx.state.narrowed.get(option.slot)
    if known is not None:
        return known
    assert isinstance(option.slot.type, OptionalType)
    inner = cx.host("optional.get", option.slot, type_=option.slot.type.elem, label=option.slot.name)
    value = from_operand(cx, inner, inner.type, option.static)
    cx.state.narrowed[option.slot] = value
    return value


def distribute(cx: Context, choice: Choice, f: Callable[[AbsVal], AbsVal]) -> AbsVal:
    """`f` of whichever option is there, joined."""
    known = cx.state.narrowed.get(choice.tag)
    if known is not None:
        return f(option_value(cx, choice, known))

    def step(i: int) -> AbsVal:
        if i == len(choice.options) - 1:
            return _inside(cx, choice, i, f)
        here = cx.host("eq", choice.tag, i, label="is_option")
        return branch(cx, here, lambda: _inside(cx, choice, i, f), lambda: step(i + 1), choice.name, cx.span)

    return step(0)


def _inside(cx: Context, choice: Choice, index: int, f: Callable[[AbsVal], AbsVal]) -> AbsVal:
    cx.state.narrowed[choice.tag] = index
    return f(option_value(cx, choice, index))


def distributes(f: Callable[Concatenate[Context, P], AbsVal]) -> Callable[Concatenate[Context, P], AbsVal]:
    """Lets an operation on abstract values take choices: it runs once for each option."""

    @functools.wraps(f)
    def run(cx: Context, *args: Any, **kwargs: Any) -> AbsVal:
        for i, a in enumerate(args):
            if isinstance(a, Choice):
                return distribute(cx, a, lambda v: run(cx, *args[:i], v, *args[i + 1 :], **kwargs))
            if isinstance(a, list):
                for j, x in enumerate(a):
                    if isinstance(x, Choice):
                        return distribute(
                            cx, x, lambda v: run(cx, *args[:i], [*a[:j], v, *a[j + 1 :]], *args[i + 1 :], **kwargs)
                        )
            if isinstance(a, dict):
                for k, x in a.items():
                    if isinstance(x, Choice):
                        return distribute(cx, x, lambda v: run(cx, *args[:i], {**a, k: v}, *args[i + 1 :], **kwargs))
        return f(cx, *args, **kwargs)

    return run  # type: ignore[return-value]
