"""Texts of library code that name values of run time: only in a `raise` statement, where nothing is decided by them."""

from __future__ import annotations

import ast
import functools
import linecache
import sys
from types import CodeType, FrameType

#: What stands for the value in the message.
PLACEHOLDER = "..."


@functools.cache
def _raise_lines(code: CodeType) -> tuple[tuple[int, int], ...]:
    """First and last line of each `raise` statement of the file that the code is in."""
    try:
        tree = ast.parse("".join(linecache.getlines(code.co_filename)))
    except SyntaxError:
        return ()
    return tuple((n.lineno, n.end_lineno or n.lineno) for n in ast.walk(tree) if isinstance(n, ast.Raise))


def is_for_a_message() -> bool:
    """Whether Python is in a `raise` statement of the code that is recorded, in a function it calls perhaps."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        name = str(frame.f_globals.get("__name__", ""))
        if name == "torch2cpp.binding.traced.explore":
            return False
        line = frame.f_lineno
        if not name.startswith("torch2cpp.") and any(a <= line <= b for a, b in _raise_lines(frame.f_code)):
            return True
        frame = frame.f_back
    return False
