"""`with`: the contexts of torch that change nothing about the result, and user context managers."""

from __future__ import annotations

import contextlib
from typing import Any

import libcst as cst
import torch

from torch2cpp.binding.context import Context
from torch2cpp.binding.convert import describe
from torch2cpp.binding.expressions import evaluate
from torch2cpp.binding.values import NONE, AbsVal, Static

_HARMLESS = (
    torch.no_grad,
    torch.inference_mode,
    torch.enable_grad,
    torch.set_grad_enabled,
    contextlib.nullcontext,
    torch.autograd.profiler.record_function,
    torch.profiler.record_function,
)


def run_with(cx: Context, node: cst.With) -> None:
    """`with a, b as c: body`"""
    from torch2cpp.binding.statements import run_body, store

    for item in node.items:
        manager = evaluate(cx, item.item)
        entered = _enter(cx, manager)
        if item.asname is not None:
            store(cx, item.asname.name, entered)
    run_body(cx, node.body)


def _enter(cx: Context, manager: AbsVal) -> AbsVal:
    value: Any = manager.value if isinstance(manager, Static) else None
    if isinstance(value, _HARMLESS):
        return manager
    if isinstance(value, torch.amp.autocast_mode.autocast):
        if not value._enabled:
            return manager
        cx.refuse("T2C195", "autocast is enabled", "convert the model with .half() or .bfloat16() instead")
    if isinstance(manager, Static) and manager.value is None:
        return NONE
    cx.refuse("T2C196", f"with {describe(cx, manager)}", "only torch.no_grad(), inference_mode() and their like")
