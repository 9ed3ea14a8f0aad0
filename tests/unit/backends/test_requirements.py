"""What compiled code relies on is found, and what cannot be exported is refused with its reason."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from region_from_export import region_of
from torch2cpp.backends.aotinductor import AotInductorBackend
from torch2cpp.backends.exported.export import NotExportable, export, pick_example
from torch2cpp.backends.exported.shapes import requirements
from torch2cpp.backends.protocol import Target
from torch2cpp.hostir.program import Region
from torch2cpp.regions.share import share


class Sum(nn.Module):
    def forward(self, a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        return a + b


class Twice(nn.Module):
    def forward(self, a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        return torch.cat([a, a]) + b


def _reason(region: Region) -> str:
    refusal = AotInductorBackend().accepts(share([region]).distinct[0], Target())
    return "" if refusal is None else refusal.reason


def test_equal_sizes_and_constant_sizes() -> None:
    args = (torch.randn(4, 3), torch.randn(4, 3))
    region, weights = region_of(Sum(), args, [[0], [0]])
    needs = requirements(export(region, weights, args))
    assert [i.sizes[1] for i in needs.inputs] == ["3", "3"]
    assert needs.inputs[0].sizes[0] == needs.inputs[1].sizes[0]
    assert [(i, d) for _, i, d in needs.symbols] == [(0, 0)]


def test_a_size_that_follows_from_another() -> None:
    args = (torch.randn(4, 3), torch.randn(8, 3))
    region, weights = region_of(Twice(), args, [[0], [0]])
    needs = requirements(export(region, weights, args))
    symbol = needs.symbols[0][0]
    assert needs.inputs[1].sizes[0] == f"2L*{symbol}"


def test_strides_of_the_example_are_expected() -> None:
    args = (torch.randn(4, 3), torch.randn(4, 3))
    region, weights = region_of(Sum(), args, [[0], [0]])
    needs = requirements(export(region, weights, (torch.randn(3, 4).T, args[1])))
    assert needs.inputs[0].strides == ("1", needs.symbols[0][0])


def test_a_baked_length_is_refused() -> None:
    class Recurrent(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.rnn = nn.GRU(4, 4)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return self.rnn(x)[0]

    region, _ = region_of(Recurrent(), (torch.randn(5, 2, 4),))
    assert "recurrent" in _reason(region)


def test_random_numbers_are_eagers() -> None:
    class Noise(nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return x + torch.randn_like(x)

    class Quiet(nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return nn.functional.dropout(x, 0.5, training=False).tanh() + 1

    assert "random" in _reason(region_of(Noise(), (torch.randn(3),))[0])
    assert _reason(region_of(Quiet(), (torch.randn(3),))[0]) == ""


def test_a_single_operation_is_left_to_aten() -> None:
    class Shifted(nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return (x + 1).transpose(0, 1)

    assert "single operation" in _reason(region_of(Shifted(), (torch.randn(3, 2),))[0])


def test_no_example_above_one_is_refused() -> None:
    region, _ = region_of(Sum(), (torch.randn(4, 3), torch.randn(4, 3)), [[0], [0]])
    with pytest.raises(NotExportable, match="above 1"):
        pick_example(region, [(torch.randn(1, 3), torch.randn(1, 3))])
