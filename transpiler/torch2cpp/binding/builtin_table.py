"""The table of Python functions that have a meaning of their own here, and how they are entered."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import torch

from torch2cpp.binding import operators
from torch2cpp.binding.aten import scalar_item
from torch2cpp.binding.context import Context
from torch2cpp.binding.convert import resolve
from torch2cpp.binding.kept_objects import holds_state
from torch2cpp.binding.values import (
    AbsVal,
    Array,
    Host,
    StarRest,
    Static,
    Tensor,
)

Handler = Callable[[Context, list[AbsVal], dict[str, AbsVal]], AbsVal]


def all_static(cx: Context, args: list[AbsVal], kwargs: dict[str, AbsVal]) -> bool:
    """Whether Python itself can run the call now."""
    given = [*args, *kwargs.values()]
    return all(isinstance(a, Static) and not _holds_tensor(a.value) and not holds_state(cx, a.value) for a in given)


def _holds_tensor(value: Any) -> bool:
    if isinstance(value, torch.Tensor):
        return True
    return isinstance(value, list | tuple) and any(map(_holds_tensor, value))


def static_first(f: Callable[..., Any]) -> Callable[[Handler], Handler]:
    """Runs the real function when all arguments are static."""

    def wrap(handler: Handler) -> Handler:
        @functools.wraps(handler)
        def run(cx: Context, args: list[AbsVal], kwargs: dict[str, AbsVal]) -> AbsVal:
            if all_static(cx, args, kwargs):
                from torch2cpp.binding.calls import _run_for_real

                return _run_for_real(cx, f, args, kwargs)
            return handler(cx, args, kwargs)

        return run

    return wrap


TABLE: dict[Any, Handler] = {}


def builtin(*fs: Any, static: bool = True) -> Callable[[Handler], Handler]:
    def register(handler: Handler) -> Handler:
        for f in fs:
            TABLE[f] = static_first(f)(handler) if static else handler
        return handler

    return register


def tensor_or_item(cx: Context, v: AbsVal) -> AbsVal:
    """A scalar: 0-d tensors are read."""
    v = operators.unwrap(cx, v, "a number is needed, not 'NoneType'")
    if isinstance(v, Array):
        from torch2cpp.binding.numpy_arrays import item

        return item(cx, v)
    t = operators.tensor_of(cx, resolve(cx, v))
    if t is None:
        return resolve(cx, v)
    if t.rank > 0:
        _check_single(cx, t)
    return scalar_item(cx, t)


def _check_single(cx: Context, t: Tensor) -> None:
    """Python's own error where a tensor of several elements, or none, is converted to a number."""
    from torch2cpp.binding.control import branch
    from torch2cpp.binding.tensor_methods import numel

    def fail() -> AbsVal:
        cx.raise_(ValueError, "only one element tensors can be converted to Python scalars")

    many = operators.compare(cx, "!=", numel(cx, t, [], {}), Static(1))
    if isinstance(many, Host):
        branch(cx, many.operand, fail, lambda: Static(None), "single", cx.span)
    elif many.value:
        fail()


def all_arguments(cx: Context, args: list[AbsVal]) -> AbsVal:
    """The arguments of a call in one list, those of `*xs` included."""
    from torch2cpp.binding.containers import concat_parts

    parts = [(isinstance(a, StarRest), a.value if isinstance(a, StarRest) else a) for a in args]
    return concat_parts(cx, parts, (cx.site(None), "arguments"))
