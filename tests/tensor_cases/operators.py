"""Operators of many families.

Methods of one module, run by the reference interpreter and through C++. Each gives all that it computes;
`INPUTS` has its arguments.
"""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import nn

from tensor_cases.inputs import MATRICES


class Operators(nn.Module):
    def selects(self, x, n):
        return (
            x.masked_select(x > 0),
            torch.masked_select(x, x[0] > 0),
            x.masked_fill(x > 0, n),
            x.index_select(0, torch.tensor([0, 1])),
            x.index_select(1, torch.tensor([0, 0, 3])),
            torch.gather(x, 1, x.argsort(1)),
            x.take(torch.tensor([0, 3])),
            torch.take_along_dim(x, x.argsort(1), 1),
            x.index_fill(0, torch.tensor([0]), 5.0),
            x.index_add(0, torch.tensor([0, 0]), torch.ones(2, 4)),
            x.index_copy(0, torch.tensor([1]), torch.ones(1, 4)),
            x.masked_scatter(x > 0, torch.ones(12 + 8)),
            x.select(0, n),
            x.narrow(1, 1, 2),
            x.narrow(0, 0, x.shape[0] - 1),
            x.diagonal(),
            torch.diag(x[0]),
            x.roll(1, 0),
            x.roll((1, n), (0, 1)),
            x.rot90(),
            x.flip(0, 1),
            x.fliplr(),
            x.movedim(0, 1),
            x.repeat(2, 1),
            x.repeat(n + 2, 1),
            x.repeat_interleave(2, 0),
            x.repeat_interleave(torch.tensor([1, 2, 0, 1]), dim=1),
            torch.repeat_interleave(torch.tensor([n + 2])),
            x.tile(2),
            x.expand(2, -1, -1),
            x[None].expand(x.shape[0], *x.shape),
            x.unfold(1, 2, 1),
            x.unfold(0, 2, 1),
            x.kron(x[:1]),
            x.trace(),
            x.tril(),
            x.triu(n),
            x.select_scatter(x[0], 0, 1),
            x.slice_scatter(x[:1], 0, 0, 1),
            x.diff(),
            x.argmax(),
            x.view(-1, 2),
            x.view(x.shape[0], 2, 2),
            x.reshape(2, -1),
            x.flatten(),
            x.unflatten(1, (2, 2)),
            x.squeeze(),
            x.unsqueeze(-1),
            x.permute(1, 0),
            x.ravel(),
            x.view_as(x),
            x.expand_as(x),
            x.type_as(x.long()),
            x.swapaxes(0, 1),
            x.mT,
            x.adjoint(),
            x.numel(),
        )

    def inplace2(self, x, n):
        y = x.clone()
        y.index_add_(0, torch.tensor([0, 0]), torch.ones(2, 4))
        y.index_fill_(1, torch.tensor([0]), 2.0)
        y.index_copy_(0, torch.tensor([1]), torch.zeros(1, 4))
        y.masked_fill_(y > 1, 0.5)
        y.masked_scatter_(y < 0, torch.ones(20))
        y.clamp_(0, 1)
        y.zero_()
        y.fill_(n)
        y.add_(x, alpha=2)
        y.addcmul_(x, x, value=0.5)
        y.sub_(1).mul_(2).div_(3)
        y.t_()
        y.transpose_(0, 1)
        y.unsqueeze_(0)
        y.squeeze_(0)
        y.lerp_(x, 0.5)
        y.exp_()
        y.pow_(2)
        y.neg_()
        y.sigmoid_()
        y.tanh_()
        y.relu_()
        y.floor_()
        y.fill_diagonal_(1.0)
        y.scatter_(1, torch.tensor([[0], [1]]), torch.tensor([[5.0], [6.0]]))
        y.put_(torch.tensor([0]), torch.tensor([9.0]))
        y.cumsum_(0)
        y.copysign_(x)
        y.clip_(min=-3)
        y.logical_not_()
        y.swapaxes_(0, 1)
        return y

    def slices_assign(self, x, n):
        y = torch.zeros(x.shape[0], 6)
        y[:, 1:5] = x
        y[::2] = 1
        y[-1] = y[0] + 1
        y[:, -1] += x[:, 0]
        y[1:, 0] = x[1:, 0]
        y[n:, 2] *= 2
        z = y[0]
        z[0] = 42
        y.data[0, 1] = 7
        w = y.view(-1)
        w[0] += 1
        v = y.unbind(0)
        v[0].add_(1)
        u = y.split(1)
        u[0].mul_(2)
        q = y.chunk(2, 1)
        q[0].zero_()
        d = y.diagonal()
        d += 5
        return (y, z, d)

    def cdists(self, x, n):
        b = x.sort(1)[0]
        return (
            torch.cdist(x, x[:1]),
            torch.cdist(x, x, p=1),
            torch.bucketize(x, torch.tensor([-1.0, 0.0, 1.0])),
            torch.bucketize(x, torch.tensor([-1.0, 0.0, 1.0]), right=True),
            torch.searchsorted(b, x),
            torch.searchsorted(torch.tensor([0.0, 1.0]), x[0, 0]),
            torch.searchsorted(torch.tensor([0.0, 1.0]), n),
            torch.histc(x, bins=4, min=-2, max=2),
            torch.bincount(x.abs().long().flatten()),
            torch.bincount(x.abs().long().flatten(), minlength=5),
            F.cosine_similarity(x, x[:1]),
            F.pairwise_distance(x, x.flip(0)),
            F.one_hot(x.argmax(1), 4),
            F.one_hot(x.argmax(1)),
            torch.histogram(x, 3)[0],
            torch.quantile(x, 0.5),
            torch.isin(x.long(), torch.tensor([0, 1])),
            torch.outer(x[0], x[1]),
            torch.dot(x[0], x[1]),
            torch.cross(x[:, :3], x[:, 1:], dim=1),
            torch.logsumexp(x, 1),
            torch.cov(x),
            torch.corrcoef(x),
            torch.renorm(x, 2, 0, 1.0),
            torch.addmm(x[:, :1] * 0, x, x.t()),
            torch.baddbmm(torch.zeros(1, 1, 1), x[None], x.t()[None]),
            torch.tensordot(x, x, dims=([1], [1])),
            torch.clamp(x, min=x.mean()),
            torch.lerp(x, x * 2, 0.3),
            torch.heaviside(x, torch.tensor(0.5)),
            torch.trapz(x),
            torch.var_mean(x),
            torch.std_mean(x, dim=1),
            torch.norm(x),
            x.norm(dim=1),
            x.norm(p=1),
            torch.frexp(x)[0],
            torch.block_diag(x, x),
            torch.cumulative_trapezoid(x),
            torch.vander(x[0]),
            torch.bernoulli(torch.ones(2)),
            F.normalize(x),
            F.layer_norm(x, (4,)),
            F.gelu(x),
            F.glu(x),
            F.log_softmax(x, -1),
            F.softplus(x),
            F.huber_loss(x, x * 0),
            F.mse_loss(x, x * 0),
            F.cross_entropy(x, x.argmax(1)),
            F.nll_loss(F.log_softmax(x, 1), x.argmax(1)),
            F.binary_cross_entropy_with_logits(x, (x > 0).float()),
            F.kl_div(x.log_softmax(1), x.softmax(1), reduction="batchmean"),
            F.interpolate(x[None], scale_factor=2),
            F.interpolate(x[None, None], size=(5, 5), mode="bilinear", align_corners=False),
            F.avg_pool1d(x[None], 2),
            F.max_pool1d(x[None], 2),
            F.adaptive_avg_pool1d(x[None], 2),
            F.unfold(x[None, None], 2),
            F.grid_sample(x[None, None], torch.zeros(1, 2, 2, 2), align_corners=False),
            F.embedding(x.argmax(1), x.t()),
            F.pixel_shuffle(x.t()[None, :, :, None], 2),
            F.scaled_dot_product_attention(x[None], x[None], x[None]),
        )

    def misc(self, x, n):
        return (
            torch.broadcast_to(x[0], x.shape),
            torch.broadcast_tensors(x, x[:1]),
            torch.meshgrid(x[0], x[1], indexing="ij"),
            torch.atleast_2d(x[0]),
            torch.squeeze(x[:1], 0),
            torch.sum(x, dim=(0, 1)),
            torch.prod(x, 1),
            torch.cumprod(x, 0),
            torch.logcumsumexp(x, 0),
            torch.all(x > 0, dim=1),
            torch.any(x > 0),
            torch.argsort(x, descending=True),
            torch.ge(x, 0),
            torch.logical_and(x > 0, x < 1),
            torch.logical_xor(x > 0, x < 1),
            torch.sgn(x),
            torch.hypot(x, x),
            torch.atan2(x, x + 1),
            torch.round(x),
            torch.round(x, decimals=1),
            torch.trunc(x),
            torch.frac(x),
            torch.square(x),
            torch.rsqrt(x.abs()),
            torch.reciprocal(x),
            torch.expm1(x),
            torch.log1p(x.abs()),
            torch.erf(x),
            torch.special.expit(x),
            torch.special.logit(x.sigmoid()),
            torch.special.xlogy(x, x.abs()),
            torch.digamma(x.abs()),
            torch.lgamma(x.abs()),
            torch.float_power(x.abs(), 2),
            torch.ldexp(x, torch.tensor(2)),
            torch.fix(x),
            torch.positive(x),
            torch.gcd(x.long(), torch.tensor(2)),
            torch.bitwise_and(x.long(), 3),
            torch.bitwise_left_shift(x.long(), 1),
            torch.nextafter(x, x + 1),
            torch.signbit(x),
            torch.scalar_tensor(n),
            torch.is_nonzero(x[0, 0]),
            torch.numel(x),
            torch.swapdims(x, 0, 1),
            torch.addcdiv(x, x, x + 10),
            torch.rot90(x),
            torch.stack((x, x)).amax((0, 2)),
            x.sum(dim=-1, keepdim=True),
            x.sum((0,)),
            x.mean([0, 1]),
            x.var(unbiased=False),
            x.std(dim=1, correction=0),
            x.square().sum().sqrt(),
            x.softmax(dim=-1),
            x.new_zeros((2, n + 2)),
            x.fill_diagonal_(0) if False else 0,
            x.equal(x),
            x.allclose(x),
            x.isclose(x),
            x.__len__(),
            torch.equal(x, x[:1]),
        )


INPUTS = {
    "selects": MATRICES,
    "inplace2": MATRICES,
    "slices_assign": MATRICES,
    "cdists": MATRICES,
    "misc": MATRICES,
}
