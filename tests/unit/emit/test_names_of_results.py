"""What holds the results of regions, and the order of structs: names and types that C++ knows where they are used."""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

import torch
from torch import Tensor, nn

from torch2cpp.project import transpile


class Pair(NamedTuple):
    low: Tensor
    high: Tensor


class Stream:
    def __init__(self) -> None:
        self.pairs: list[Pair] = []
        self.steps = 0


class Layers(nn.Module):
    """Results of two regions go to variables that exist already; one is called as a region is."""

    def __init__(self) -> None:
        super().__init__()
        self.layer, self.layer_out = nn.Linear(2, 2), nn.Linear(2, 2)
        self.stream = Stream()

    def forward(self, x: Tensor, steps: int) -> tuple[Tensor, Tensor, int]:
        if steps > 3:
            self.stream = Stream()
        layer, other = x, x * 2
        for _ in range(steps):
            layer, other = self.layer(x) + other, x * 3 - layer
            if layer.sum() > 1:
                layer, other = self.layer_out(layer), layer * other
            x = x + 1
            self.stream.pairs.append(Pair(layer, other))
            self.stream.steps += 1
        return layer, other, len(self.stream.pairs)


def test_each_has_a_name_of_its_own_and_is_known(tmp_path: Path) -> None:
    torch.manual_seed(0)
    inputs = [(torch.ones(2) * k, n) for n, k in ((1, 0.5), (4, -2.0), (3, 9.0))]
    made = transpile(Layers(), inputs, backend="aten", out=tmp_path / "layers", name="layers", stateful=True)
    source = (tmp_path / "layers/src/layers.cpp").read_text()
    holders = re.findall(r"auto (\w+) = regions_->(\w+)\(", source)
    assert len(holders) > 1
    by_name: dict[str, str] = {}
    for name, region in holders:
        assert by_name.setdefault(name, region) == region, source
    assert not {name for name, _ in holders} & set(re.findall(r"Tensor (\w+)[;=({]", source))
    header = (tmp_path / "layers/include/layers/layers.h").read_text()
    assert header.index("struct TORCH2CPP_LOCAL Pair {") < header.index("struct TORCH2CPP_LOCAL Stream {")
    assert made.transpiled.observed.coverage.ways


class Loads(nn.Module):
    """A region called as what the emitted class of all regions has itself."""

    def forward(self, x: Tensor, n: int) -> Tensor:
        load = torch.zeros(3)
        for i in range(n):
            load[i] += float(x.sum())
        return load


def test_regions_are_not_called_as_what_is_there(tmp_path: Path) -> None:
    transpile(Loads(), [(torch.ones(3), 2), (-torch.ones(3), 0)], backend="aten", out=tmp_path / "loads", name="loads")
    methods = re.findall(r"Tensor (\w+)\(", (tmp_path / "loads/src/regions.h").read_text())
    assert "load_2" in methods
    assert not {"load", "weights"} & set(methods)
