"""Generator functions: their body runs inside what consumes them.

Calling one binds its arguments only. Where its items are consumed, the body is interpreted in place
and each `yield x` runs what the consumer does with an item; so effects come in Python's order, and a
consumer that stops early leaves the rest of the body out. A generator is consumed once: using it
again is refused, and so is a `yield` that an exception of the consumer would have to pass.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from typing import Any

import libcst as cst

from torch2cpp.binding.context import CallSite, Context, Frame, Label
from torch2cpp.binding.control import labelled
from torch2cpp.binding.values import NONE, AbsVal, Iter
from torch2cpp.spans import Span

#: A generator this many times inside itself is taken for recursive.
_MAX_NESTED = 10


@dataclass(eq=False)
class GeneratorCall:
    """A call of a generator function that nothing has consumed yet."""

    f: Any
    names: dict[str, AbsVal]
    first: AbsVal
    span: Span


class _Yields(cst.CSTVisitor):
    def __init__(self) -> None:
        self.found = False

    def visit_Yield(self, node: cst.Yield) -> None:
        self.found = True

    def visit_FunctionDef(self, node: cst.FunctionDef) -> bool:
        return False

    def visit_Lambda(self, node: cst.Lambda) -> bool:
        return False


@cache
def is_generator(node: cst.FunctionDef | cst.Lambda) -> bool:
    """Whether a function has a `yield` of its own."""
    visitor = _Yields()
    node.body.visit(visitor)
    return visitor.found


def generator(cx: Context, f: Any, names: dict[str, AbsVal], first: AbsVal) -> Iter:
    """What calling a generator function gives."""
    return Iter("generator", (), GeneratorCall(f, names, first, cx.span), born=cx.stamp())


@contextmanager
def in_frames(cx: Context, frames: list[Frame]) -> Iterator[None]:
    """Runs the body in other calls than the current ones."""
    saved, cx.frames = cx.frames, frames
    try:
        yield
    finally:
        cx.frames = saved


def run_generator(cx: Context, call: GeneratorCall, one: Callable[[AbsVal], None], guarded: bool = False) -> AbsVal:
    """Runs the body with `one` at each yield; gives what it returns.

    With `guarded`, exceptions of `one` may pass through the body, as for a context manager.
    """
    from torch2cpp.binding.calls import run_function

    if sum(frame.node is call.f.node for frame in cx.frames) >= _MAX_NESTED:
        cx.refuse("T2C205", f"the generator {call.f.name} calls itself", "collect the items in a list")
    ours = cx.frames

    def give(value: AbsVal) -> None:
        if cx.frame.guarded and not guarded:
            cx.refuse("T2C205", "a yield inside try or with", "collect the items in a list, and return that")
        inner = cx.frames
        # What is done with the item happens in the function that consumes it.
        with in_frames(cx, ours), cx.at(("yield", cx.span.line, cx.span.column)):
            one(value)
        assert cx.frames is inner

    def body(label: Label) -> AbsVal:
        return run_function(cx, call.f, call.names, call.first, label, give)

    with in_frames(cx, [*ours]), cx.at(CallSite(cx.span, call.f.name, cx.inner)):
        return labelled(cx, call.f.name.rpartition(".")[2], body, cx.span)


def run_yield(cx: Context, node: cst.Yield) -> AbsVal:
    """`yield x` and `yield from xs`; nothing is ever sent back."""
    from torch2cpp.binding.comprehensions import consume
    from torch2cpp.binding.expressions import evaluate

    give = cx.frame.on_yield
    if give is None:
        cx.refuse("T2C205", "yield in deployed code", "write a loop that appends to a list")
    if not isinstance(node.value, cst.From):
        give(NONE if node.value is None else evaluate(cx, node.value))
        return NONE
    source = evaluate(cx, node.value.item)
    if isinstance(source, Iter) and isinstance(source.extra, GeneratorCall):
        take(cx, source)
        return run_generator(cx, source.extra, give)
    consume(cx, source, give, (cx.site(node), "from"))
    return NONE


def take(cx: Context, it: Iter) -> None:
    """Notes that an iterator is consumed. Refuses to do it twice: Python finds it exhausted then."""
    cx.iterators.append((it, it.uses, it.collected))
    it.uses += 1
    again = bool(it.born and cx.loop_starts and it.born < cx.loop_starts[-1])
    if it.uses > 1 or again:
        cx.refuse("T2C206", f"a {it.kind} is iterated a second time, when it is exhausted", "make it a list first")
