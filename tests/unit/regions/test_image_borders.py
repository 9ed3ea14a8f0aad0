"""Which images only regions see, through branches, loops and instances."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from torch2cpp.hostir.program import Program
from torch2cpp.options import Options
from torch2cpp.pipeline import analyse
from torch2cpp.regions.image_borders import Images, image_groups, images_of, merge_groups
from torch2cpp.regions.share import share


class Net(nn.Module):
    """A stem, blocks that stop when the image is dark, and a head; `use` sees the image in between."""

    def __init__(self, use: Callable[[Any, Tensor], Tensor]) -> None:
        super().__init__()
        self.stem, self.head = nn.Conv2d(3, 8, 3, padding=1), nn.Conv2d(8, 2, 1)
        self.blocks = nn.ModuleList(nn.Conv2d(8, 8, 3, padding=1) for _ in range(3))
        self.kept: list[Tensor] = []
        self.use = use

    def forward(self, x: Tensor) -> Tensor:
        x = self.stem(x)
        for block in self.blocks:
            if x.mean() < 0:
                break
            x = block(x).relu()
        if x.mean() > 0.2:
            x = x * 0.5
        return self.use(self, x)


def program(use: Callable[[Any, Tensor], Tensor]) -> Program:
    torch.manual_seed(0)
    made = analyse(Net(use).eval(), [(torch.randn(1, 3, 6, 6),), (-torch.ones(1, 3, 6, 6),)], Options())
    assert len(made.regions) > 2
    return made


def found(made: Program) -> dict[str, Images]:
    sharing = share(made.regions.values())
    return images_of(merge_groups(image_groups(made), {name: d.name for name, (d, _) in sharing.instances.items()}))


def head(net: Any, x: Tensor) -> Tensor:
    y: Tensor = net.head(x).mean((2, 3))
    return y


def test_what_goes_from_convolution_to_convolution() -> None:
    made = program(head)
    images = found(made)
    sharing = share(made.regions.values())
    for distinct in sharing.distinct:
        # The input comes from outside; all other images are between regions.
        own = images[distinct.name]
        taken = {i for i, p in enumerate(distinct.region.params) if len(getattr(p.type, "dims", ())) == 4}
        given = {i for i, r in enumerate(distinct.region.results) if len(getattr(r.type, "dims", ())) == 4}
        assert set(own.params) == (taken if distinct.name != sharing.distinct[0].name else set())
        assert set(own.results) == given
    assert any(images[d.name].params for d in sharing.distinct)


def returned(net: Any, x: Tensor) -> Tensor:
    return x


def kept(net: Any, x: Tensor) -> Tensor:
    net.kept.append(x)
    return head(net, x)


@pytest.mark.parametrize("use", [returned, kept])
def test_what_others_see_stays(use: Callable[[Any, Tensor], Tensor]) -> None:
    assert found(program(use)) == {}


class Halves(nn.Module):
    """Two convolutions that are one compiled form; what the second one gives is returned."""

    def __init__(self) -> None:
        super().__init__()
        self.a, self.b = nn.Conv2d(3, 3, 3, padding=1), nn.Conv2d(3, 3, 3, padding=1)

    def forward(self, x: Tensor) -> Tensor:
        x = self.a(x).relu()
        if float(x.sum()) > 1:
            x = self.b(x).relu()
            if float(x.sum()) > 1:
                return x
        return x * 2


def test_one_compiled_form_serves_all_instances() -> None:
    torch.manual_seed(0)
    made = analyse(Halves().eval(), [(torch.randn(1, 3, 5, 5),), (torch.zeros(1, 3, 5, 5),)], Options())
    sharing = share(made.regions.values())
    assert len(sharing.distinct) < len(made.regions)
    assert found(made) == {}


class Written(nn.Module):
    """The image is written in place by a host decision between two convolutions."""

    def __init__(self) -> None:
        super().__init__()
        self.a, self.b = nn.Conv2d(3, 4, 3), nn.Conv2d(4, 2, 3)

    def forward(self, x: Tensor) -> Tensor:
        y = self.a(x)
        z = y.view(-1)
        if y.sum() > 0:
            z.mul_(-1.0)
        return self.b(y).mean()


def test_views_and_writes_are_seen() -> None:
    torch.manual_seed(0)
    made = analyse(Written().eval(), [(torch.randn(1, 3, 7, 7),), (torch.zeros(1, 3, 7, 7),)], Options())
    assert found(made) == {}
