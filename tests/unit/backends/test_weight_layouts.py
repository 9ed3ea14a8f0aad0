"""Weights of convolutions with the channels last: which, and that results keep eager's strides."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch import Tensor, nn

from region_from_export import region_of
from torch2cpp.backends.aotinductor.weight_layouts import Layouts, exports
from torch2cpp.backends.exported.export import held_weights
from torch2cpp.regions.image_borders import Images


class Net(nn.Module):
    def __init__(self, tail: Callable[[Tensor], Tensor]) -> None:
        super().__init__()
        self.wide, self.point = nn.Conv2d(3, 8, 3, padding=1), nn.Conv2d(8, 8, 1)
        self.tail = tail

    def forward(self, x: Tensor) -> Tensor:
        return self.tail(self.point(self.wide(x).relu()))


def exported(tail: Callable[[Tensor], Tensor]) -> tuple[Tensor, Tensor, tuple[int, ...], list[str]]:
    """What the exported program gives, what eager does, the slots that were turned, all weights' names."""
    torch.manual_seed(0)
    model = Net(tail).eval()
    example = (torch.randn(2, 3, 6, 5),)
    region, weights = region_of(model, example)
    program, layouts = next(exports(region, held_weights(region, weights), example, Images()))
    with torch.no_grad():
        (got,) = program.module()(*example)
        return got, model(*example), layouts.weights, [w.name for w in region.weights()]


@pytest.mark.parametrize(
    "tail",
    [
        lambda x: x,
        lambda x: x.view(x.shape[0], -1),
        lambda x: x.flatten(1),
        lambda x: x.mean((2, 3)),
        lambda x: x.view(x.shape[0], 2, 4, x.shape[2], x.shape[3]).transpose(1, 2).reshape(x.shape),
    ],
    ids=["image", "view", "flatten", "mean", "shuffle"],
)
def test_results_keep_eagers_strides(tail: Callable[[Tensor], Tensor]) -> None:
    got, want, slots, names = exported(tail)
    assert [names[slot] for slot in slots] == [n for n in names if n.endswith("wide.weight")]
    assert len(slots) == 1
    assert got.stride() == want.stride()
    torch.testing.assert_close(got, want)


def test_results_that_are_not_contiguous_stay_as_they_are() -> None:
    got, want, slots, _ = exported(lambda x: x.permute(0, 2, 3, 1))
    assert slots == ()
    assert got.stride() == want.stride()
    torch.testing.assert_close(got, want)


def test_regions_that_write_keep_their_views() -> None:
    def tail(x: Tensor) -> Tensor:
        x.view(-1).add_(1.0)
        return x

    _, _, slots, _ = exported(tail)
    assert slots == ()


def test_writes_without_views_keep_nothing_from_turning() -> None:
    got, want, slots, _ = exported(lambda x: x.relu_().add_(1.0))
    assert len(slots) == 1
    assert got.stride() == want.stride()
    torch.testing.assert_close(got, want)


def test_images_between_regions_stay_turned() -> None:
    torch.manual_seed(0)
    model = Net(lambda x: x.relu()).eval()
    x = torch.randn(2, 3, 6, 5)
    region, weights = region_of(model, (x,))
    program, layouts = next(exports(region, held_weights(region, weights), (x,), Images((0,), (0,))))
    assert layouts == Layouts(layouts.weights, Images((0,), (0,)))
    with torch.no_grad():
        (got,) = program.module()(x.contiguous(memory_format=torch.channels_last))
        assert got.is_contiguous(memory_format=torch.channels_last)
        torch.testing.assert_close(got, model(x))


def test_targets_that_gain_nothing_turn_nothing() -> None:
    model = Net(lambda x: x).eval()
    x = torch.randn(2, 3, 6, 5)
    region, weights = region_of(model, (x,))
    assert [layouts for _, layouts in exports(region, held_weights(region, weights), (x,), None)] == [Layouts()]
