"""The record of one path through library code."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, final

from torch2cpp.hostir.ops import Op, Value


@final
@dataclass(frozen=True, slots=True)
class Step:
    """Something recorded: an operation, or a decision that was taken."""

    #: What was asked for; the same in every run over this path.
    key: Any
    #: The abstract result; for a decision, which way was taken.
    result: Any
    #: The operations that the binding emitted for it.
    ops: tuple[Op, ...] = ()
    #: For a decision: the run-time bool.
    condition: Value | None = None


class Split(BaseException):
    """A decision depends on a run-time value: both ways have to be followed."""

    def __init__(self, condition: Value) -> None:
        super().__init__("a decision at run time")
        self.condition = condition


class NeverTaken(BaseException):
    """No sizes that were tried lead along this path."""


class Stopped(BaseException):
    """Carries an exception of the binding itself through library code that catches `Exception`."""

    def __init__(self, inner: Exception) -> None:
        super().__init__(str(inner))
        self.inner = inner
