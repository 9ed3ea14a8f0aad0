"""Modules of the user: interpreted line by line, and taken as a whole where a construct is refused."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import torch

from torch2cpp.binding.context import Context
from torch2cpp.binding.traced.explore import NotTraced, attempt, call_whole
from torch2cpp.binding.values import AbsVal
from torch2cpp.diagnostics import Diagnostic, Refused


def lines_or_whole(
    cx: Context, module: torch.nn.Module, lines: Callable[[], AbsVal], args: list[AbsVal], kwargs: dict[str, AbsVal]
) -> AbsVal:
    """`lines()`, or where that is refused the module as one piece; refused with both reasons where neither goes."""
    if cx.reporting or type(module).__module__.partition(".")[0] == "torch":
        return lines()
    try:
        with attempt(cx, Refused):
            return lines()
    except Refused as refused:
        try:
            return call_whole(cx, module, args, kwargs, type(module).__name__)
        except NotTraced as error:
            why = f"{type(module).__name__} cannot be taken as a whole either: {error}"
            if cx.strict:
                raise Refused([_noted(cx, d, why) for d in refused.diagnostics]) from error
    return _report(cx, lines, why)


def _report(cx: Context, lines: Callable[[], AbsVal], why: str) -> AbsVal:
    """Interprets once more to find everything that is refused."""
    known, reporting = len(cx.problems), cx.reporting
    cx.reporting = True
    try:
        return lines()
    except Refused as refused:
        raise Refused([_noted(cx, d, why) for d in refused.diagnostics]) from refused
    finally:
        cx.reporting = reporting
        cx.problems[known:] = [_noted(cx, d, why) for d in cx.problems[known:]]


def _noted(cx: Context, diagnostic: Diagnostic, why: str) -> Diagnostic:
    note: tuple[Any, str] = (cx.span, why)
    return dataclasses.replace(diagnostic, notes=(*diagnostic.notes, note))
