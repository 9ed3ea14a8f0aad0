"""Runs inputs through Python or C++ and records what each call did."""

from __future__ import annotations

import copy
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, final

import torch

from torch2cpp.binding.traced.error_texts import PLACEHOLDER
from torch2cpp.frontend.eager import without_compiling
from torch2cpp.hostir.pyerror import PyError
from torch2cpp.parity.compare import Comparison, Difference, compare, tensors_in


@final
@dataclass(frozen=True, slots=True)
class Outcome:
    """What a call did: the value it returned or the exception it raised, and its arguments afterwards."""

    value: Any = None
    #: Type name of the exception; None when the call returned.
    raised: str | None = None
    message: str = ""
    #: The tensors among the arguments after the call, since a model may write to them.
    arguments: tuple[torch.Tensor, ...] = ()

    def __str__(self) -> str:
        return f"{self.raised}: {self.message}" if self.raised else "a result"


#: Every call starts from this seed: random operators give Python and C++ the same numbers.
_SEED = 0


def call(function: Callable[..., Any], args: Sequence[Any]) -> Outcome:
    """Calls on deep copies of the arguments; the result is a copy too, so that later calls cannot change it."""
    args = copy.deepcopy(tuple(args))
    tensors = tuple(tensors_in(args))
    with torch.no_grad(), torch.random.fork_rng(devices=[]), without_compiling():
        torch.manual_seed(_SEED)
        try:
            value = function(*args)
        except Exception as error:  # the model's own exceptions are results like any other
            return Outcome(None, exception_name(error), str(error), detached(tensors))
    value, tensors = detached((value, tensors))
    return Outcome(value, arguments=tensors)


def exception_name(error: Exception) -> str:
    """Type name of an exception; for what the reference interpreter raises, of the one it stands for."""
    name = error.name if isinstance(error, PyError) else type(error).__name__
    return "LinAlgError" if name == "_LinAlgError" else name  # torch.linalg.LinAlgError has both names


def detached(value: Any) -> Any:
    """A deep copy without gradients."""
    memo: dict[int, Any] = {}
    _detach_into(value, memo)
    return copy.deepcopy(value, memo)


def _detach_into(value: Any, memo: dict[int, Any]) -> None:
    # deepcopy refuses tensors that are not leaves of autograd.
    if isinstance(value, torch.Tensor):
        memo[id(value)] = value.detach().clone()
    elif isinstance(value, dict):
        for item in value.values():
            _detach_into(item, memo)
    elif isinstance(value, list | tuple | set):
        for item in value:
            _detach_into(item, memo)


def same_message(want: str, got: str) -> bool:
    """Whether an error says the same; what library code names of run-time values, such as a whole tensor, is "..."."""
    return want == got or re.fullmatch(".*".join(map(re.escape, got.split(PLACEHOLDER))), want, re.DOTALL) is not None


def compare_outcomes(want: Outcome, got: Outcome, exact: bool) -> Comparison:
    """Compares the results, or the exceptions by type name and message, and the arguments afterwards."""
    if want.raised != got.raised or not same_message(want.message, got.message):
        return Comparison([Difference("", "exception", f"{want} against {got}")])
    out = compare(want.value, got.value, exact)
    written = compare(want.arguments, got.arguments, exact)
    out.differences += [Difference(f" arguments{d.path}", d.what, d.detail) for d in written.differences]
    return out
