"""functools.partial in deployed code, and inspect.signature."""

from __future__ import annotations

import functools
import inspect
from typing import Any

import torch

from like_python import assert_like_python


def scaled(x: torch.Tensor, k: float, bias: float = 0.0) -> torch.Tensor:
    return x * k + bias


class Step:
    def plain(self, x: float) -> float:
        return x

    def noisy(self, x: float, eta: float = 1.0) -> float:
        return x + eta


def test_partial_of_run_time_values() -> None:
    def f(x: torch.Tensor, n: int) -> Any:
        twice = functools.partial(scaled, k=n, bias=1.0)
        add = functools.partial(lambda a, b: a + b, n)
        both = functools.partial(twice, bias=2.0)
        return twice(x), both(x), add(3), list(map(functools.partial(pow, n), [1, 2]))

    assert_like_python(f, (torch.ones(2), 3), (torch.zeros(3), 1))


def test_arguments_that_a_function_takes() -> None:
    def f(x: float, name: str) -> Any:
        step = Step()
        out = []
        for method in (step.plain, step.noisy):
            extra = {}
            if "eta" in set(inspect.signature(method).parameters.keys()):
                extra["eta"] = x
            out.append(method(x, **extra))
        return out, len(inspect.signature(scaled).parameters), name

    assert_like_python(f, (1.5, "a"))
