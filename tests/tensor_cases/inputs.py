"""Arguments of the cases."""

from __future__ import annotations

import torch

INF, NAN = float("inf"), float("nan")


def rand(*sizes):
    """Numbers that follow from the sizes."""
    return torch.randn(*sizes, generator=torch.Generator().manual_seed(sum(sizes)))


def rows(*lengths):
    """Sequences of vectors of 4."""
    return [rand(n, 4) for n in lengths]


MATRICES = [(rand(3, 4), 1), (rand(2, 4), 0), (rand(5, 4), -1)]
