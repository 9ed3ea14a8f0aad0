"""Tensors made by `torch.Tensor`, `torch.LongTensor` and the like."""

from __future__ import annotations

from typing import Any

import torch

from like_python import assert_like_python


def test_of_data() -> None:
    def f(xs: list[int], y: float) -> Any:
        floats = torch.Tensor([y, 1]), torch.FloatTensor([[y], [2.0]])
        return torch.LongTensor(xs), floats, torch.BoolTensor([True, y > 1])

    assert_like_python(f, ([1, 2], 0.5), ([], 1.5))


def test_of_sizes_and_tensors() -> None:
    def f(x: torch.Tensor, n: int) -> Any:
        made = torch.Tensor(n, 2).fill_(1.5)
        same = torch.Tensor(x)
        same += 1
        return made, torch.LongTensor(2).zero_(), x, torch.Tensor().shape

    assert_like_python(f, (torch.zeros(2), 3), (torch.ones(3), 1))
