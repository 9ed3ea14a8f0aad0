"""One of several modules or functions, picked by a run-time index or key.

Python looks the item up before it evaluates what the item is called with, so what is out of range or
missing raises here; from then on the pick is a number that is surely in range.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch

from torch2cpp.binding import operators
from torch2cpp.binding.context import Context
from torch2cpp.binding.values import AbsVal, Choice, Host, Iter, Option, Static
from torch2cpp.hostir.ops import Operand, Value
from torch2cpp.hostir.types import INT


def picked_at(cx: Context, parts: Sequence[AbsVal], index: Host, message: Callable[[], Operand]) -> AbsVal:
    """`parts[index]`; raises IndexError with the message when it is out of range."""
    from torch2cpp.binding.list_methods import raise_if

    n = len(parts)
    if n == 0:
        cx.raise_(IndexError, message())
    low, high = cx.host("lt", index.operand, -n), cx.host("ge", index.operand, n)
    raise_if(cx, cx.host("or", low, high, label="outside"), IndexError, message)
    behind = cx.host("add", index.operand, n)
    at = cx.scalar("select", cx.host("lt", index.operand, 0), behind, index.operand, type_=INT, label="at")
    return _pick(parts, at)


def picked_by(
    cx: Context,
    entries: Sequence[tuple[Any, AbsVal]],
    key: Host,
    error: type[Exception],
    message: Callable[[], Operand],
) -> AbsVal:
    """The entry whose name or key equals a run-time one; raises `error` when there is none."""
    from torch2cpp.binding.list_methods import raise_if

    if not entries:
        cx.raise_(error, message())
    which: Operand = -1
    for i in reversed(range(len(entries))):
        here = cx.host("eq", key.operand, entries[i][0], label="chosen")
        which = cx.host("select", here, i, which, type_=INT, label="which")
    raise_if(cx, cx.host("lt", which, 0, label="missing"), error, message)
    return _pick([v for _, v in entries], Host(INT, which, loops=key.loops))


def _pick(parts: Sequence[AbsVal], at: Host) -> AbsVal:
    """One of several parts: of what is only called as it is, of other values, such as None, as a choice."""
    if all(not isinstance(p, Static) or isinstance(p.value, torch.nn.Module) or callable(p.value) for p in parts):
        return Iter("choice", tuple(parts), at)
    assert isinstance(at.operand, Value)
    return Choice(at.operand, tuple(Option(None, p) for p in parts), "pick")


def index_message(cx: Context, index: AbsVal) -> Operand:
    """What `torch.nn.ModuleList` and `Sequential` say of an index out of range."""
    text = cx.host("str.add", "index ", cx.host("str", operators.scalar_operand(cx, index)))
    return cx.host("str.add", text, " is out of range")
