"""Sample inputs: sizes that belong together are found, real inputs come first, illegal ones are dropped."""

from __future__ import annotations

import torch
from torch import nn

from region_from_export import region_of
from torch2cpp.regions.run_eager import run_region
from torch2cpp.regions.samples import find_sizes, make_samples


class Masked(nn.Module):
    """Batch and length occur in three inputs."""

    def __init__(self) -> None:
        super().__init__()
        self.embedding = nn.Embedding(11, 16)

    def forward(self, tokens: torch.Tensor, state: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        x = self.embedding(tokens) + state.unsqueeze(1)
        return x.masked_fill(mask.unsqueeze(-1), 0.0).softmax(1)


ARGS = (torch.randint(0, 11, (3, 7)), torch.randn(3, 16), torch.rand(3, 7) > 0.5)


def _masked() -> tuple[object, dict[str, torch.Tensor]]:
    return region_of(Masked(), ARGS, [[0, 1], [0], [0, 1]])


def test_sizes_that_belong_together_are_found_by_trying() -> None:
    region, weights = _masked()
    group = find_sizes(region, weights).group
    assert group[(0,), 0] == group[(1,), 0] == group[(2,), 0]
    assert group[(0,), 1] == group[(2,), 1]
    assert group[(0,), 0] != group[(0,), 1]


def test_samples_reach_zero_one_and_more() -> None:
    region, weights = _masked()
    shapes = {tuple(s[0].shape) for s in make_samples(region, weights)}
    assert {(1, 7), (5, 1), (0, 7), (5, 0), (1, 1)} <= shapes
    assert any(batch > 20 for batch, _ in shapes)


def test_recorded_inputs_come_first_and_lend_their_values() -> None:
    region, weights = _masked()
    samples = make_samples(region, weights, [ARGS])
    assert all(torch.equal(a, b) for a, b in zip(samples[0], ARGS))
    stretched = next(s for s in samples if s[0].shape == (6, 7))
    assert torch.equal(stretched[0][:3], ARGS[0])


def test_made_up_inputs_are_not_larger_than_need_be() -> None:
    class Square(nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return x.relu() + 1

    region, weights = region_of(Square(), (torch.randn(2, 300, 300),), [[0]])
    batches = {s[0].shape[0] for s in make_samples(region, weights, [(torch.randn(2, 300, 300),)])}
    assert batches == {0, 1, 2, 4, 5}
    batches = {s[0].shape[0] for s in make_samples(region, weights, [(torch.randn(30, 300, 300),)])}
    assert max(batches) == 30


def test_zeros_for_floats_come_last() -> None:
    region, weights = _masked()
    tokens, state, mask = make_samples(region, weights, [ARGS])[-1]
    assert tokens.shape == mask.shape == (1, 7)
    assert state.shape == (1, 16)
    assert not state.any()
    # Numbers that choose stay as they were.
    assert torch.equal(tokens, ARGS[0][:1])


def test_integers_stay_in_the_range_that_the_region_takes() -> None:
    class Small(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.embedding = nn.Embedding(2, 4)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return self.embedding(x)

    region, weights = region_of(Small(), (torch.tensor([0, 1, 1]),), [[0]])
    samples = make_samples(region, weights)
    assert samples
    assert max(int(s[0].max()) for s in samples if s[0].numel()) <= 1


def test_bags_begin_one_behind_the_other() -> None:
    class Bags(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.table = nn.EmbeddingBag(7, 4, mode="sum")

        def forward(self, ids: torch.Tensor, starts: torch.Tensor) -> torch.Tensor:
            return self.table(ids, starts)

    args = (torch.tensor([3, 1, 6, 0, 2]), torch.tensor([0, 2, 2]))
    region, weights = region_of(Bags(), args, [[0], [0]])
    made = make_samples(region, weights, [args])[1:]
    assert all(bool((starts[1:] >= starts[:-1]).all()) for _, starts in made)
    assert {len(starts) for _, starts in made} > {3, 1}
    # Eager reads memory that nobody wrote for others, and not all bags are empty.
    assert any(int(starts[-1]) > 0 for _, starts in made if len(starts) != 3)


def test_equal_numbers_are_not_sorted_where_their_order_is_open() -> None:
    class Best(nn.Module):
        def forward(self, scores: torch.Tensor) -> torch.Tensor:
            return scores.sort(descending=True).indices[:2]

    region, weights = region_of(Best(), (torch.tensor([0.1, 0.7, 0.3]),), [[0]])
    twins = (torch.tensor([0.5, 0.5, 0.3]),)
    made = [s for (s,) in make_samples(region, weights, [twins], ordered=True)]
    # What was recorded stays; zeros and repeated values are not made up.
    assert torch.equal(made[0], twins[0]) and len(made) > 2
    assert all(len(s.unique()) == len(s) for s in made[1:])
    assert any(len(s.unique()) < len(s) for (s,) in make_samples(region, weights, [twins])[1:])


def test_samples_where_eager_raises_are_dropped() -> None:
    class Windows(nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return nn.functional.conv1d(x.unsqueeze(1), torch.ones(1, 1, 3)).squeeze(1)

    region, weights = region_of(Windows(), (torch.randn(4, 9),), [[0, 1]])
    samples = make_samples(region, weights)
    assert samples
    assert all(s[0].shape[1] >= 3 for s in samples)


def test_running_a_region_is_running_the_module() -> None:
    module = Masked()
    region, weights = region_of(module, ARGS, [[0, 1], [0], [0, 1]])
    assert torch.equal(run_region(region, ARGS, weights)[0], module(*ARGS))
