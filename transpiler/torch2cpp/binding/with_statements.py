"""`with`: the contexts of torch that change nothing about the result, and context managers of the user.

A user's context manager is a generator: one that `contextlib.contextmanager` decorates, or the one that
calls `__enter__` and `__exit__` of an object. The body of the `with` runs at its `yield`, so exceptions
pass through it as in Python. A return, break or continue of the body is noted there, and goes on when
the generator has ended.
"""

from __future__ import annotations

import contextlib
import types
from collections.abc import Callable
from typing import Any

import libcst as cst
import torch

from torch2cpp.binding.builtin_table import TABLE
from torch2cpp.binding.context import Context
from torch2cpp.binding.convert import describe
from torch2cpp.binding.expressions import evaluate
from torch2cpp.binding.generators import GeneratorCall
from torch2cpp.binding.in_python import contexts
from torch2cpp.binding.values import NONE, AbsVal, Choice, Func, Iter, Native, Option, Static
from torch2cpp.binding.with_generators import run_context

_HARMLESS = (
    torch.no_grad,
    torch.inference_mode,
    torch.enable_grad,
    torch.set_grad_enabled,
    torch.autograd.profiler.record_function,
    torch.profiler.record_function,
)


def run_with(cx: Context, node: cst.With) -> None:
    """`with a, b as c: body`"""
    from torch2cpp.binding.statements import run_body, store

    def nested(i: int) -> None:
        if i == len(node.items):
            run_body(cx, node.body)
            return
        item = node.items[i]

        def inside(entered: AbsVal) -> None:
            if item.asname is not None:
                store(cx, item.asname.name, entered)
            nested(i + 1)

        _within(cx, evaluate(cx, item.item), inside)

    nested(0)


def _within(cx: Context, manager: AbsVal, inside: Callable[[AbsVal], None]) -> None:
    """Runs `inside` on what entering the manager gives."""
    from torch2cpp.binding.calls import call_python, find_method

    value: Any = manager.value if isinstance(manager, Static) else None
    if isinstance(manager, Choice) and all(_does_nothing(o) for o in manager.options):
        inside(NONE)
        return
    if isinstance(value, _HARMLESS):
        inside(manager)
        return
    if isinstance(value, contextlib.nullcontext):
        inside(Static(value.enter_result))
        return
    if isinstance(value, torch.amp.autocast_mode.autocast):
        if value._enabled:
            cx.refuse("T2C195", "autocast is enabled", "convert the model with .half() or .bfloat16() instead")
        inside(manager)
        return
    if isinstance(manager, Iter) and manager.kind == "context":
        run_context(cx, manager.extra, inside, trusted=False)
        return
    if find_method(cx, manager, "__enter__") is not None and find_method(cx, manager, "__exit__") is not None:
        made = call_python(cx, contexts.managed, [manager], {})  # type: ignore[arg-type]
        assert isinstance(made, Iter) and isinstance(made.extra, GeneratorCall)
        run_context(cx, made.extra, inside, trusted=True)
        return
    remedy = "use a class with __enter__ and __exit__, or contextlib.contextmanager"
    cx.refuse("T2C196", f"with {describe(cx, manager)}", remedy)


def _does_nothing(option: Option) -> bool:
    """Whether one of the managers that a choice may be changes nothing, and gives None."""
    value = option.static.value if option.slot is None and isinstance(option.static, Static) else None
    if isinstance(value, contextlib.nullcontext):
        return value.enter_result is None
    return isinstance(value, _HARMLESS)


def _nullcontext(cx: Context, args: list[AbsVal], kwargs: dict[str, AbsVal]) -> AbsVal:
    if not args and not kwargs:
        return Static(contextlib.nullcontext())
    return context_of(cx, Static(contexts.nullcontext), args, kwargs)


def decorated_generator(value: Any) -> types.FunctionType | None:
    """The generator function that `contextlib.contextmanager` was put on; None for any other function."""
    inner = getattr(value, "__wrapped__", None)
    made_there = isinstance(value, types.FunctionType) and value.__code__.co_filename == contextlib.__file__
    return inner if made_there and isinstance(inner, types.FunctionType) else None


def context_of(cx: Context, function: AbsVal, args: list[AbsVal], kwargs: dict[str, AbsVal]) -> AbsVal:
    """What calling a function decorated with `contextmanager` gives."""
    from torch2cpp.binding.calls import call

    made = call(cx, function, args, kwargs)
    if not isinstance(made, Iter) or not isinstance(made.extra, GeneratorCall):
        cx.refuse("T2C196", f"contextmanager on {describe(cx, function)}", "decorate a generator function")
    return Iter("context", (), made.extra)


def _contextmanager(cx: Context, args: list[AbsVal], kwargs: dict[str, AbsVal]) -> AbsVal:
    function = args[0]
    if not isinstance(function, Func):
        cx.refuse("T2C196", f"contextmanager on {describe(cx, function)}", "decorate a generator function")
    return Native(function.name, lambda c, a, k: context_of(c, function, a, k))


TABLE[contextlib.contextmanager] = _contextmanager
TABLE[contextlib.suppress] = lambda cx, a, k: context_of(cx, Static(contexts.suppress), a, k)
TABLE[contextlib.nullcontext] = _nullcontext
