"""What counts as equal to eager."""

from __future__ import annotations

import math
from typing import Any

import pytest
import torch

from torch2cpp.backends.compare import compare

NAN, INF = float("nan"), float("inf")


@pytest.mark.parametrize(
    ("got", "want"),
    [
        (torch.tensor([1.0, NAN, INF]), torch.tensor([1.0, NAN, INF])),
        (torch.tensor([1.00005]), torch.tensor([1.0])),
        (torch.zeros(0, 3), torch.zeros(0, 3)),
        (torch.tensor([True]), torch.tensor([True])),
        ([torch.ones(2), 3], [torch.ones(2), 3]),
        ((1.0, True), (1.0, True)),
        (NAN, NAN),
        (torch.tensor([1 + 2j]), torch.tensor([1 + 2j])),
        # Near 0 beside large numbers.
        (torch.tensor([100.0, 5e-4]), torch.tensor([100.0, 0.0])),
    ],
)
def test_equal(got: Any, want: Any) -> None:
    assert compare(got, want).reason == ""


@pytest.mark.parametrize(
    ("got", "want", "reason"),
    [
        (torch.tensor([1.001]), torch.tensor([1.0]), "off by up to"),
        (torch.tensor([100.0, 2e-3]), torch.tensor([100.0, 0.0]), "1 of 2 elements"),
        (torch.tensor([0.5, 2e-5]), torch.tensor([0.5, 0.0]), "1 of 2 elements"),
        (torch.tensor([INF, 2e-5]), torch.tensor([INF, 0.0]), "1 of 2 elements"),
        (torch.tensor([NAN]), torch.tensor([1.0]), "off by up to inf"),
        (torch.tensor([-INF]), torch.tensor([INF]), "off by up to inf"),
        (torch.ones(2, 1), torch.ones(2), "sizes"),
        (torch.ones(2).double(), torch.ones(2), "dtype"),
        (torch.tensor([1, 2]), torch.tensor([1, 3]), "1 of 2 elements differ"),
        ([torch.ones(1)], [torch.ones(1), torch.ones(1)], "1 items instead of 2"),
        (2, 3, "2 instead of 3"),
    ],
)
def test_unequal(got: Any, want: Any, reason: str) -> None:
    found = compare(got, want)
    assert reason in found.reason
    assert found.error > 0


def test_the_error_is_the_largest_difference() -> None:
    assert math.isclose(compare(torch.tensor([1.0, 2.5]), torch.tensor([1.25, 2.0])).error, 0.5)
