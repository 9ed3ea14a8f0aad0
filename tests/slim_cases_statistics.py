"""More calls of operators that programs without libtorch have: statistics, vectors, grids, scattered sums."""

from __future__ import annotations

from collections.abc import Iterator

import torch

from slim_cases import Case, aten, views


def statistics() -> Iterator[Case]:
    """Medians, running extremes, spreads."""
    torch.manual_seed(10)
    nan = float("nan")
    for x in views(torch.randn(5, 6)):
        for dim in (0, 1, -1):
            yield aten.cummax.default, (x, dim), {}
            yield aten.cummin.default, ((x * 2).long(), dim), {}
            yield aten.logcumsumexp.default, (x, dim), {}
            yield aten.kthvalue.default, (x, 3, dim), {}
            yield aten.median.dim, (x, dim, True), {}
            yield aten.var_mean.correction, (x, [dim]), {"correction": 0}
            yield aten.std_mean.dim, (x, [dim], True, True), {}
            yield aten.aminmax.default, (x,), {"dim": dim, "keepdim": True}
        yield aten.median.default, (x,), {}
        yield aten.var_mean.default, (x,), {}
        yield aten.std_mean.default, (x, False), {}
        yield aten.aminmax.default, (x,), {}
    holed = torch.tensor([[1.0, nan, 3.0], [nan, nan, 2.0], [4.0, 5.0, 6.0]])
    yield aten.cummax.default, (holed, 1), {}
    yield aten.cummin.default, (holed, 0), {}
    yield aten.median.dim, (holed, 1), {}
    yield aten.median.default, (holed,), {}
    yield aten.nansum.default, (holed,), {}
    yield aten.nansum.default, (holed, [1], True), {}
    yield aten.nanmean.default, (holed, [0]), {}
    yield aten.nanmean.default, (holed,), {}
    yield aten.logcumsumexp.default, (torch.tensor([-float("inf"), 0.0, float("inf")]), 0), {}
    yield aten.kthvalue.default, (holed, 4, 1), {}
    yield aten.median.dim, (torch.zeros(0, 3), 0), {}


def equals() -> Iterator[Case]:
    """Equal elements, differences, quantiles."""
    torch.manual_seed(13)
    for x in views(torch.randint(0, 4, (4, 5))):
        for t in (x, x.float(), x > 1):
            yield aten._unique2.default, (t,), {}
            yield aten._unique2.default, (t, True, True, True), {}
            yield aten.unique_consecutive.default, (t, True, True), {}
            yield aten.argwhere.default, (t,), {}
            yield aten.diff.default, (t,), {}
            yield aten.diff.default, (t, 2, 0), {}
        yield aten.diff.default, (x, 1, 1, x[:, :1], x[:, :2]), {}
        yield aten.isin.Tensor_Tensor, (x, torch.tensor([1, 3])), {}
        yield aten.isin.Tensor_Tensor, (x, torch.tensor([[0.0]])), {"invert": True}
        yield aten.isin.Tensor_Scalar, (x, 2), {}
    for x in views(torch.randn(4, 5)):
        for how in ("linear", "lower", "higher", "midpoint", "nearest"):
            yield aten.quantile.scalar, (x, 0.3), {"interpolation": how}
            yield aten.quantile.default, (x, torch.tensor([0.0, 0.4, 1.0]), 1, True), {"interpolation": how}
        yield aten.quantile.scalar, (x, 0.5, None, True), {}
        yield aten.quantile.scalar, (x, 1.5), {}
        yield aten.quantile.scalar, (x.long(), 0.5), {}
    yield aten.quantile.scalar, (torch.tensor([[1.0, float("nan")], [2.0, 3.0]]), 0.5, 1), {}
    yield aten._unique2.default, (torch.tensor([2.0, float("nan"), 1.0, float("nan")]),), {}
    yield aten._unique2.default, (torch.zeros(0), True, True, True), {}


def vectors() -> Iterator[Case]:
    """Products of vectors, diagonals, distances, losses."""
    torch.manual_seed(11)
    a, b = torch.randn(4), torch.randn(3)
    yield aten.outer.default, (a, b), {}
    yield aten.outer.default, (a[None], b), {}
    for x in views(torch.randn(4, 3)):
        yield aten.addmv.default, (a, x, b), {"beta": 2, "alpha": 3}
        yield aten.linalg_cross.default, (x, x.flip(0)), {}
        yield aten.trace.default, (x,), {}
        yield aten.diag.default, (x, 1), {}
        yield aten.diag_embed.default, (x, -1), {}
        yield aten.diag_embed.default, (x, 0, 0, 2), {}
        yield aten.tensordot.default, (x, x, [0, 1], [0, 1]), {}
        yield aten.tensordot.default, (x, torch.randn(2, 4, 5), [0], [1]), {}
        yield aten.cosine_similarity.default, (x, x + 1), {}
        yield aten.cosine_similarity.default, (x[:1], x * 0, 0), {}
        yield aten.pairwise_distance.default, (x, x + 1), {}
        for reduction in (0, 1, 2):
            yield aten.mse_loss.default, (x, x.flip(0), reduction), {}
            yield aten.l1_loss.default, (x, x.flip(0), reduction), {}
        yield aten.glu.default, (x, 0), {}
        yield aten.glu.default, (x, 1), {}
        yield aten.swapaxes.default, (x, 0, 1), {}
        yield aten.ravel.default, (x,), {}
        yield aten.tile.default, (x, [2]), {}
        yield aten.tile.default, (x, [2, 1, 3]), {}
        yield aten.broadcast_to.default, (x, [2, 4, 3]), {}
        yield aten.tensor_split.sections, (x, 3), {}
        yield aten.split.sizes, (x, [1, 3]), {}
        for name in ("celu", "softshrink", "hardshrink", "frac", "sgn"):
            yield getattr(aten, name).default, (x,), {}
        yield aten.threshold.default, (x, 0.1, 5), {}
        for name in ("hypot", "logaddexp", "fmax", "fmin"):
            yield getattr(aten, name).default, (x, x.flip(0)), {}
        yield aten.xlogy.Tensor, (x.relu(), x.abs()), {}
        yield aten.copysign.Tensor, (x, x.flip(0)), {}
    yield aten.diag.default, (a, 2), {}
    yield aten.meshgrid.default, ([a, b],), {}
    yield aten.meshgrid.indexing, ([a, b],), {"indexing": "xy"}
    odd = torch.tensor([float("nan"), float("inf"), -float("inf"), 0.0, 2.0])
    for name in ("hypot", "logaddexp", "fmax", "fmin"):
        yield getattr(aten, name).default, (odd, odd.flip(0)), {}
    yield aten.xlogy.Tensor, (odd, odd.flip(0)), {}


def scattered() -> Iterator[Case]:
    """Values joined at places, and images looked up at places."""
    torch.manual_seed(12)
    index = torch.tensor([[0, 1, 1, 0], [2, 2, 2, 1]])
    for x in views(torch.randn(3, 4)):
        source = torch.randn(2, 4)
        for reduce in ("sum", "prod", "mean", "amax", "amin", "most"):
            for own in (True, False):
                yield aten.scatter_reduce.two, (x, 0, index, source, reduce), {"include_self": own}
        yield aten.scatter_reduce_.two, (x.clone(), 1, index, source, "amax"), {}
        whole = (x * 4).long()
        yield aten.scatter_reduce.two, (whole, 0, index, (source * 4).long(), "mean"), {}
        yield aten.index_copy.default, (x, 1, torch.tensor([3, 0]), torch.randn(3, 2)), {}
        yield aten.index_copy_.default, (x.clone(), 0, torch.tensor([1]), torch.randn(1, 4)), {}
    image = torch.randn(2, 3, 5, 4)
    grid = torch.rand(2, 6, 7, 2) * 3 - 1.5
    for mode in (0, 1):
        for padding in (0, 1, 2):
            for corners in (True, False):
                yield aten.grid_sampler_2d.default, (image, grid, mode, padding, corners), {}
                yield aten.grid_sampler.default, (image.double(), grid.double(), mode, padding, corners), {}
    yield aten.grid_sampler_2d.default, (image, grid[:1], 0, 0, False), {}


GROUPS = {"statistics": statistics, "equals": equals, "vectors": vectors, "scattered": scattered}
