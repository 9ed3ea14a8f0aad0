"""Where eager's float32 is not sure of its own digits, as near to float64 as eager is will do, and nothing else."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import nn

from region_from_export import region_of
from torch2cpp.backends.own_rounding import InDouble, as_near, in_double
from torch2cpp.backends.verify_region import Ran, _judge
from torch2cpp.regions.share import share


class Apart(nn.Module):
    """Distances of close points: a difference of large numbers."""

    def forward(self, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        return torch.cdist(x, y)


@pytest.mark.parametrize(
    ("got", "fits"),
    [
        ([1.0, 2.0], True),
        ([1.0, 2.00025], True),  # The tolerance itself.
        ([1.01, 2.0], True),  # Eager is 0.01 off on the other side.
        ([1.03, 2.0], False),
        ([float("nan"), 2.0], False),
    ],
)
def test_as_near_as_eager(got: list[float], fits: bool) -> None:
    want, double = torch.tensor([0.99, 2.0]), torch.tensor([1.0, 2.0], dtype=torch.float64)
    assert as_near([torch.tensor(got)], [want], InDouble([double], [])) is fits


def test_as_near_as_rounding() -> None:
    want, double = torch.tensor([1.0]), torch.tensor([1.0], dtype=torch.float64)
    rounded = [[double + 0.02], [double - 0.03], [double * float("nan")]]
    assert as_near([torch.tensor([1.059])], [want], InDouble([double], rounded))
    assert not as_near([torch.tensor([1.061])], [want], InDouble([double], rounded))


def _alike(got: Any, want: Any, double: Any) -> bool:
    return as_near([got], [want], InDouble([double], [[double]]))


def test_what_is_not_rounded_must_be_equal() -> None:
    whole = torch.tensor([1, 2])
    assert as_near([whole, 3], [whole, 3], InDouble([whole, 3], [[whole, 3]]))
    assert not _alike(whole + 1, whole, whole)
    assert not _alike(3, 4, 3)
    assert not _alike(torch.ones(2), torch.ones(2).double(), torch.ones(2).double())
    assert not _alike(torch.ones(2), torch.ones(1), torch.ones(2).double())
    # Nothing to go by.
    assert not _alike(torch.ones(2) * 1.001, torch.ones(2), torch.ones(2))


def test_distances_of_close_points() -> None:
    torch.manual_seed(0)
    x = torch.randn(1, 40, 3)
    args = (x, x[:, :7] + 1e-3)
    (distinct,) = share([region_of(Apart(), args)[0]]).distinct
    double = in_double(distinct.region, args, {})
    assert double is not None
    true = torch.cdist(args[0].double(), args[1].double())
    torch.testing.assert_close(double.true[0], true)
    differences = (args[0].unsqueeze(2) - args[1].unsqueeze(1)).square().sum(-1).sqrt()
    for result, right in ((differences, True), (differences * 1.01, False)):
        ran = Ran("", [result, *args], 0)
        assert (_judge(distinct, [args], {}, [ran], last=True).reason == "") is right
        assert "off by up to" in _judge(distinct, [args], {}, [ran]).reason


class Residual(nn.Module):
    """The right side of nearly singular equations, from their solution: few numbers, which may come out well."""

    def forward(self, a: torch.Tensor, b: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        x = torch.linalg.solve(a, b)
        return torch.mv(a, x), a.expand(2, 3, 3)


def test_few_numbers() -> None:
    torch.manual_seed(0)
    flat = torch.randn(3, 2) @ torch.randn(2, 3) + 1e-6 * torch.eye(3)
    args = (flat, torch.randn(3))
    (distinct,) = share([region_of(Residual(), args)[0]]).distinct
    double = in_double(distinct.region, args, {})
    assert double is not None
    solution = torch.linalg.solve(flat.double(), args[1].double())
    torch.testing.assert_close(double.true[0], args[1].double(), rtol=0, atol=1e-8 * float(solution.abs().max()))
    # What the numbers of the solution are known to.
    known = float(solution.abs().max()) * 2**-23
    apart = [float((run[0] - double.true[0]).abs().max()) for run in double.rounded]
    assert 0.1 * known < max(apart) < 10 * known
    assert all(torch.equal(run[1], double.true[1]) for run in double.rounded), "float32 has these numbers"
    assert all(torch.equal(run[2], flat.double()) for run in double.rounded), "an argument that nothing writes to"


class Noisy(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x + torch.randn_like(x)


def test_random_numbers_are_others_in_float64() -> None:
    args = (torch.ones(4),)
    (distinct,) = share([region_of(Noisy(), args)[0]]).distinct
    assert in_double(distinct.region, args, {}) is None
