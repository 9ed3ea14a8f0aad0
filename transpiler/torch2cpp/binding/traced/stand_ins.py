"""What library code is given in place of run-time values: tensors without data, numbers that remember their origin."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn, Protocol

import torch

from torch2cpp.binding.traced.error_texts import PLACEHOLDER, is_for_a_message
from torch2cpp.binding.values import Host, Tensor


class Untraceable(BaseException):
    """The code cannot be recorded; a reason. No `except Exception` of the code itself stops it."""


class Recorder(Protocol):
    """What stand-ins ask for when Python works on them."""

    def scalar(self, sign: str, *operands: Any) -> Any:
        """A number from an arithmetic operator."""

    def compared(self, sign: str, a: Any, b: Any) -> bool:
        """The outcome of a comparison on the path that is followed."""

    def truth(self, v: Any) -> bool:
        """`bool(v)` on the path that is followed."""


class TracedTensor(torch.Tensor):
    """A tensor of the program. It holds no data: what escapes the recorder fails."""

    abstract: Tensor
    __torch_function__ = torch._C._disabled_torch_function_impl  # type: ignore[assignment]

    @staticmethod
    def of(abstract: Tensor, sizes: list[int]) -> TracedTensor:
        """The stand-in for a tensor of the program, with its sizes in a sample world."""
        cpu = torch.device("cpu")
        made = torch.Tensor._make_wrapper_subclass(TracedTensor, sizes, dtype=abstract.meta.dtype, device=cpu)
        assert isinstance(made, TracedTensor)
        made.abstract = abstract
        return made

    @classmethod
    def __torch_dispatch__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:  # type: ignore[override]
        raise Untraceable(f"{func} works on a tensor without a function of torch")


# What messages call it.
TracedTensor.__name__ = "Tensor"


def _refused(what: str) -> Callable[..., NoReturn]:
    def method(self: Any, *args: Any) -> NoReturn:
        raise Untraceable(f"a number of run time is {what}")

    return method


def _text(self: Any, *args: Any) -> str:
    if is_for_a_message():
        return PLACEHOLDER
    raise Untraceable("a number of run time is put into a text")


def _binary(sign: str) -> tuple[Callable[..., Any], Callable[..., Any]]:
    def forward(self: Any, other: Any) -> Any:
        if not isinstance(other, int | float):
            return NotImplemented if isinstance(other, torch.Tensor) else _refused(f"used in {sign!r}")(self)
        return self.recorder.scalar(sign, self, other)

    def backward(self: Any, other: Any) -> Any:
        if not isinstance(other, int | float):
            return _refused(f"used in {sign!r}")(self)
        return self.recorder.scalar(sign, other, self)

    return forward, backward


def _compare(sign: str) -> Callable[..., Any]:
    def method(self: Any, other: Any) -> Any:
        if not isinstance(other, int | float):
            return NotImplemented
        return self.recorder.compared(sign, self, other)

    return method


_OPERATORS = {"add": "+", "sub": "-", "mul": "*", "truediv": "/", "floordiv": "//", "mod": "%", "pow": "**",
              "and": "&", "or": "|", "xor": "^", "lshift": "<<", "rshift": ">>"}  # fmt: skip
_COMPARISONS = {"lt": "<", "le": "<=", "gt": ">", "ge": ">=", "eq": "==", "ne": "!="}


class _Number:
    """A number of run time: arithmetic is recorded, and nothing turns it into a constant."""

    recorder: Recorder
    abstract: Host

    for _name, _sign in _OPERATORS.items():
        locals()[f"__{_name}__"], locals()[f"__r{_name}__"] = _binary(_sign)
    for _name, _sign in _COMPARISONS.items():
        locals()[f"__{_name}__"] = _compare(_sign)
    del _name, _sign

    def __neg__(self) -> Any:
        return self.recorder.scalar("neg", self)

    def __pos__(self) -> Any:
        return self

    def __bool__(self) -> bool:
        return self.recorder.truth(self)

    def __abs__(self) -> Any:
        return self if self.recorder.compared(">=", self, 0) else -self

    __hash__ = _refused("used as a key")
    __int__ = __index__ = __float__ = _refused("converted")
    __repr__ = __str__ = __format__ = _text
    __round__ = __trunc__ = __floor__ = __ceil__ = _refused("rounded")
    __divmod__ = __rdivmod__ = _refused("given to divmod")
    __invert__ = _refused("inverted")
    __reduce_ex__ = __deepcopy__ = _refused("copied")


class TracedInt(_Number, int):
    """An int of run time, of the value that it has in a sample world."""

    def __new__(cls, recorder: Recorder, abstract: Host, value: int) -> TracedInt:
        self = int.__new__(cls, value)
        self.recorder, self.abstract = recorder, abstract
        return self


class TracedFloat(_Number, float):
    """A float of run time, of the value that it has in a sample world."""

    def __new__(cls, recorder: Recorder, abstract: Host, value: float) -> TracedFloat:
        self = float.__new__(cls, value)
        self.recorder, self.abstract = recorder, abstract
        return self
