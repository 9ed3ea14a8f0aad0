"""numpy arrays made in deployed code."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from like_python import assert_like_python


def test_made_of_sizes() -> None:
    def f(n: int, v: float) -> Any:
        steps = np.arange(0, n) * 2
        back = np.arange(n, 0, -1)
        z = np.zeros((n, 2))
        z[0] = v
        ones = np.ones(3, dtype=np.float32)
        return steps.tolist(), back, z, ones, np.full((2, 2), v), np.full(2, n), torch.from_numpy(steps) + 1

    assert_like_python(f, (4, 1.5), (1, 0.5))


def test_made_of_data() -> None:
    def f(xs: list[int], ys: list[float], t: torch.Tensor) -> Any:
        a, b = np.array(xs), np.array(ys)
        c = np.array([[1, ys[0]], [2.5, xs[0]]], dtype=np.float32)
        d = np.array(t.numpy())
        d[0] = 9.0
        return a, b, c, d, t, np.array([True, xs[0] > 1]), (a * 2).sum(), b.max()

    assert_like_python(f, ([1, 2], [0.5, 1.5], torch.ones(2)), ([3], [2.5], torch.zeros(3)))
