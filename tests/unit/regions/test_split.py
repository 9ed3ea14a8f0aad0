"""Parts run one after the other compute what the whole does, whatever is kept apart."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

import pytest
import torch
from torch import nn

from region_from_export import region_of
from torch2cpp.hostir.ops import TensorOp, Value, results
from torch2cpp.hostir.program import Region
from torch2cpp.regions.run_eager import run_region
from torch2cpp.regions.split import Part, split


class Branchy(nn.Module):
    """Two chains that meet, sizes taken on the way, a list of tensors."""

    def __init__(self) -> None:
        super().__init__()
        self.a, self.b = nn.Linear(6, 8), nn.Linear(6, 8)

    def forward(self, x: torch.Tensor, y: torch.Tensor) -> Any:
        left = torch.relu(self.a(x)).tanh()
        right = torch.sigmoid(self.b(y)).exp()
        first, second = (left + right).split([3, 5], -1)
        wide = torch.cat([first * 2, second], -1).view(x.shape[0], 2, -1)
        total = wide.sum(-1) / (x.shape[0] * 3)
        return total.softmax(-1), first.amax(0), right.mean()


ARGS = (torch.randn(4, 6), torch.randn(4, 6))


def _run(parts: Sequence[Part], region: Region, weights: dict[str, torch.Tensor]) -> list[Any]:
    env: dict[Value, Any] = dict(zip(region.params, ARGS))
    for part in parts:
        results = run_region(part.region, [env[p] for p in part.region.params], weights)
        env.update(zip(part.region.results, results))
    return [env[r] for r in region.results]


@pytest.mark.parametrize("seed", range(30))
def test_parts_compute_what_the_whole_does(seed: int) -> None:
    region, weights = region_of(Branchy(), ARGS, [[0], [0]])
    chance = random.Random(seed)
    apart = {i for i, op in enumerate(region.body) if isinstance(op, TensorOp) and chance.random() < 0.2}
    parts = split(region, apart)
    if parts is None:
        return
    for got, want in zip(_run(parts, region, weights), run_region(region, ARGS, weights), strict=True):
        assert torch.equal(got, want)
    kept = {op for part in parts if part.clean for op in part.region.body}
    assert not kept & {region.body[i] for i in apart}


def test_one_operation_apart_makes_three_parts() -> None:
    region, _ = region_of(Branchy(), ARGS, [[0], [0]])
    softmax = next(i for i, op in enumerate(region.body) if isinstance(op, TensorOp) and "cat" in op.overload.name())
    parts = split(region, {softmax})
    assert parts is not None
    assert [part.clean for part in parts] == [True, False, True]
    assert len(parts[1].region.body) == 1


def test_independent_operations_apart_share_a_part() -> None:
    class Two(nn.Module):
        def forward(self, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
            a, b = torch.relu(x).tanh(), torch.sigmoid(y).exp()
            return (a.cumsum(0) + b.cumsum(0)).tanh().exp()

    region, _ = region_of(Two(), ARGS, [[0], [0]])
    sums = {i for i, op in enumerate(region.body) if isinstance(op, TensorOp) and "cumsum" in op.overload.name()}
    parts = split(region, sums)
    assert parts is not None
    assert [part.clean for part in parts] == [True, False, True]


def test_nothing_left_to_gain_is_no_cut() -> None:
    class Small(nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return x.cumsum(0).tanh()

    region, _ = region_of(Small(), ARGS[:1], [[0]])
    assert split(region, {0}) is None


class InPlace(nn.Module):
    """Tensors of its own that are written: activations, sums, a row, a view that sees it."""

    def __init__(self) -> None:
        super().__init__()
        self.a, self.b = nn.Linear(6, 8), nn.Linear(6, 8)

    def forward(self, x: torch.Tensor, y: torch.Tensor) -> Any:
        left = torch.relu_(self.a(x))
        right = self.b(y)
        before = right.sum(0)
        view = right[:, 2:]
        right += left.tanh()
        right[0] = 2
        kept = left.exp().sigmoid_()
        return kept.softmax(-1), view.cos() + before.sum(), right.amax(0) * 3


@pytest.mark.parametrize("seed", range(60))
def test_what_is_written_in_place_keeps_its_order(seed: int) -> None:
    region, weights = region_of(InPlace(), ARGS, [[0], [0]])
    assert sum(op.overload._schema.is_mutable for op in region.body if isinstance(op, TensorOp)) >= 4
    chance = random.Random(seed)
    apart = {i for i, op in enumerate(region.body) if isinstance(op, TensorOp) and chance.random() < 0.15}
    parts = split(region, apart)
    if parts is None:
        return
    for got, want in zip(_run(parts, region, weights), run_region(region, ARGS, weights), strict=True):
        assert torch.equal(got, want)
    for part in parts:
        made = {r for op in part.region.body for r in results(op)}
        # No part writes to what it was given: views of its own are made in it.
        for op in part.region.body:
            if isinstance(op, TensorOp) and op.overload._schema.is_mutable:
                assert op.args[0] in made


def test_it_is_cut_beside_what_is_written_in_place() -> None:
    region, _ = region_of(InPlace(), ARGS, [[0], [0]])
    softmax = next(i for i, op in enumerate(region.body) if isinstance(op, TensorOp) and "softmax" in str(op.overload))
    parts = split(region, {softmax})
    assert parts is not None
    assert [part.clean for part in parts] == [True, False]


def test_a_region_that_writes_what_it_was_given_is_not_cut() -> None:
    class Given(nn.Module):
        def forward(self, x: torch.Tensor, y: torch.Tensor) -> Any:
            x[:, 1:].add_(1)
            return x.exp().tanh().sigmoid(), (y * 2).cos().sin().exp()

    region, _ = region_of(Given(), ARGS, [[0], [0]])
    assert split(region, {len(region.body) - 1}) is None
