"""Entries that take `*args` and `**kwargs`."""

from __future__ import annotations

from typing import Any

import torch

from like_python import assert_like_python


def spread(x: torch.Tensor, *args: float, **options: Any) -> Any:
    out = x
    for a in args:
        out = out + a
    return out * options.get("scale", 2), sorted(options), len(args), args


def test_none_given() -> None:
    assert_like_python(spread, (torch.ones(2),))


def test_several_given() -> None:
    assert_like_python(spread, (torch.ones(2), 1.0, 2.0), (torch.ones(3), 1.5, 2.0))


def test_numbers_of_arguments_are_kinds() -> None:
    assert_like_python(spread, (torch.ones(2),), (torch.ones(2), 1.0), (torch.ones(2), 0.5, 2.0))


def test_tensors_given() -> None:
    def f(*tensors: torch.Tensor) -> Any:
        return torch.cat(tensors), [t.sum() for t in tensors]

    assert_like_python(f, (torch.ones(2),), (torch.ones(2), torch.zeros(3)))
