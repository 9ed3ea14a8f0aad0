"""`zip(xs, ys)` or `d.items()` where `xs` or `d` is one of several things: which iterator it is stays open until
something goes over it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeGuard

from torch2cpp.binding.choices import distribute
from torch2cpp.binding.context import Context
from torch2cpp.binding.values import AbsVal, Choice, Iter, Static

Again = Callable[[Context, AbsVal, list[AbsVal], dict[str, AbsVal]], AbsVal]

_KIND = "per_option"
#: What gives an iterator and does nothing else.
_LAZY = (zip, enumerate, reversed)


def is_open(v: Any) -> TypeGuard[Iter]:
    """Whether the value is such an iterator."""
    return isinstance(v, Iter) and (v.kind == _KIND or (v.kind == "dict_view" and isinstance(v.parts[0], Choice)))


def _for_option(cx: Context, it: Iter, option: AbsVal) -> AbsVal:
    return Iter(it.kind, (option,), it.extra) if it.kind == "dict_view" else it.extra(cx, option)


def settle(cx: Context, it: Iter, f: Callable[[AbsVal], AbsVal]) -> AbsVal:
    """`f` of the iterator over whichever option is there, joined."""

    def with_option(option: AbsVal) -> AbsVal:
        found = _for_option(cx, it, option)
        return settle(cx, found, f) if is_open(found) else f(found)

    return distribute(cx, it.parts[0], with_option)


def call_with_open(
    cx: Context, callee: AbsVal, args: list[AbsVal], kwargs: dict[str, AbsVal], again: Again
) -> AbsVal | None:
    """The call, where an argument is a choice that is iterated over or an iterator that is open; None for others."""
    is_lazy = isinstance(callee, Static) and any(callee.value is f for f in _LAZY)
    for i, a in enumerate(args):

        def with_argument(c: Context, v: AbsVal, i: int = i) -> AbsVal:
            return again(c, callee, [*args[:i], v, *args[i + 1 :]], kwargs)

        if is_lazy and isinstance(a, Choice):
            return Iter(_KIND, (a,), with_argument)
        if is_open(a):
            if is_lazy:
                inner: Iter = a

                def of_option(c: Context, v: AbsVal, inner: Iter = inner, put: Any = with_argument) -> AbsVal:
                    return put(c, _for_option(c, inner, v))

                return Iter(_KIND, a.parts, of_option)
            return settle(cx, a, lambda v, put=with_argument: put(cx, v))  # type: ignore[misc]
    return None
