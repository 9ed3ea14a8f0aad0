"""What the user is told where a program cannot do without libtorch."""

from __future__ import annotations

from torch2cpp.backends.protocol import Refusal
from torch2cpp.diagnostics import Diagnostic, Refused


def lacking(refusal: Refusal) -> Refused:
    """The refusal as an error at its place in the model."""
    remedy = "compile with --runtime libtorch, or write it with operators that docs/slim.md lists"
    return Refused([Diagnostic("T2C340", refusal.span, refusal.reason, remedy)])
