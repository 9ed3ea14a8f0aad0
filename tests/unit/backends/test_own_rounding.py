"""Where eager's float32 is not sure of its own digits, as near to float64 as eager is will do, and nothing else."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from region_from_export import region_of
from torch2cpp.backends.own_rounding import as_near, in_double
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
    assert as_near([torch.tensor(got)], [want], [double]) is fits


def test_what_is_not_rounded_must_be_equal() -> None:
    whole = torch.tensor([1, 2])
    assert as_near([whole, 3], [whole, 3], [whole, 3])
    assert not as_near([whole + 1], [whole], [whole])
    assert not as_near([3], [4], [3])
    assert not as_near([torch.ones(2)], [torch.ones(2).double()], [torch.ones(2).double()])
    assert not as_near([torch.ones(2)], [torch.ones(1)], [torch.ones(2).double()])
    # Nothing to go by.
    assert not as_near([torch.ones(2) * 1.001], [torch.ones(2)], [torch.ones(2)])


def test_distances_of_close_points() -> None:
    torch.manual_seed(0)
    x = torch.randn(1, 40, 3)
    args = (x, x[:, :7] + 1e-3)
    (distinct,) = share([region_of(Apart(), args)[0]]).distinct
    double = in_double(distinct.region, args, {})
    assert double is not None
    true = torch.cdist(args[0].double(), args[1].double())
    torch.testing.assert_close(double[0], true)
    differences = (args[0].unsqueeze(2) - args[1].unsqueeze(1)).square().sum(-1).sqrt()
    for result, right in ((differences, True), (differences * 1.01, False)):
        ran = Ran("", [result, *args], 0)
        assert (_judge(distinct, [args], {}, [ran], last=True).reason == "") is right
        assert "off by up to" in _judge(distinct, [args], {}, [ran]).reason
