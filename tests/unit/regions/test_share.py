"""Regions that differ in nothing but weights are one; anything else keeps them apart."""

from __future__ import annotations

import re

import torch
from torch import nn

from region_from_export import region_of
from torch2cpp.emit.environment import shipped
from torch2cpp.hostir.program import Region
from torch2cpp.regions.as_graph import as_graph
from torch2cpp.regions.share import constant_key, share


class Affine(nn.Module):
    def __init__(self, outputs: int = 3, factor: float = 2.0) -> None:
        super().__init__()
        self.first = nn.Linear(4, outputs)
        self.factor = factor

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.first(x) * self.factor


def _region(name: str, module: nn.Module, *shape: int) -> Region:
    return region_of(module, (torch.randn(*shape),), [[0]], name=name)[0]


def test_equal_up_to_weights() -> None:
    sharing = share([_region("encode", Affine(), 2, 4), _region("Decode", Affine(), 5, 4)])
    assert [d.name for d in sharing.distinct] == ["encode"]
    assert sharing.instances["Decode"] == (sharing.distinct[0], ("first.weight", "first.bias"))


def test_other_sizes_constants_or_types_are_other_regions() -> None:
    regions = [
        _region("a", Affine(), 2, 4),
        _region("b", Affine(outputs=4), 2, 4),
        _region("c", Affine(factor=3.0), 2, 4),
        _region("d", Affine(factor=2), 2, 4),
        _region("e", Affine(), 2, 3, 4),
    ]
    assert len(share(regions).distinct) == len(regions)


def test_one_weight_used_twice_differs_from_two_weights() -> None:
    class Twice(nn.Module):
        def __init__(self, tied: bool) -> None:
            super().__init__()
            self.a = nn.Parameter(torch.randn(4))
            self.b = self.a if tied else nn.Parameter(torch.randn(4))

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return (x + self.a) * self.b

    assert len(share([_region("a", Twice(True), 2, 4), _region("b", Twice(False), 2, 4)]).distinct) == 2


def test_names_are_identifiers_and_do_not_collide_as_classes() -> None:
    names = ["left_child", "leftChild", "2nd", "class"]
    regions = [_region(n, Affine(factor=float(i)), 2, 4) for i, n in enumerate(names)]
    distinct = share(regions).distinct
    assert all(d.name.isidentifier() for d in distinct)
    assert len({d.class_name for d in distinct}) == len(names)


def test_constants_keep_their_type_and_sign() -> None:
    keys = [constant_key(x) for x in (1, 1.0, True, 0.0, -0.0, "1", torch.float32, None)]
    assert len(set(keys)) == len(keys)


def test_the_graph_computes_what_the_module_does() -> None:
    module = Affine()
    x = torch.randn(7, 4)
    region, weights = region_of(module, (x,), [[0]])
    graph = as_graph(region, weights)
    assert torch.equal(graph(x)[0], module(x))
    assert [name for name, _ in graph.named_buffers()] == ["w0", "w1"]


def test_no_region_is_named_as_a_type_of_its_own_code() -> None:
    """What the copied headers declare is reserved, so that a variable of any name can give a region its name."""
    templates = shipped("templates")
    text = "".join((templates / path).read_text() for path in ("aten/aten_border.h", "regions/compiled_border.h"))
    declared = re.findall(r"^(?:struct|class|using) (\w+)", text, re.MULTILINE)
    assert {"Place", "Ints", "NoGrad"} <= set(declared)
    for name in (*declared, "Tensor", "List", "Impl"):
        (distinct,) = share([_region(name, Affine(), 2, 4)]).distinct
        assert distinct.class_name != name
