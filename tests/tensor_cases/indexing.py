"""Indexing, writing into views, splitting and joining.

Methods of one module, run by the reference interpreter and through C++. Each gives all that it computes;
`INPUTS` has its arguments.
"""

from __future__ import annotations

import torch
from torch import nn

from tensor_cases.inputs import MATRICES


class Indexing(nn.Module):
    def mask_assign(self, x, n):
        y = x.clone()
        y[y > 0] = 0.5
        y[:, n] = 7
        y[n] = y[0] * 2
        return y

    def mask_assign_tensor(self, x, n):
        y = x.clone()
        m = y > 0
        y[m] = y[m] * 2
        return y

    def aug_view(self, x, n):
        y = x.clone()
        v = y[:, 1:3]
        v += 1
        w = y.t()
        w *= 2
        y[0] += 1
        y[:, n] -= y[:, 0]
        return (y, v)

    def iput(self, x, n):
        y = x.clone()
        y.index_put_((torch.tensor([0, 1]), torch.tensor([1, 1])), torch.tensor([5.0, 6.0]))
        y.index_put_((torch.tensor([0, 0]), torch.tensor([1, 1])), torch.tensor([5.0, 6.0]), accumulate=True)
        return y

    def scat(self, x, n):
        y = torch.zeros(x.shape[0], 5)
        y.scatter_(1, x.argmax(1, keepdim=True), 1.0)
        y.scatter_add_(1, torch.zeros(x.shape[0], 2, dtype=torch.int64), torch.ones(x.shape[0], 2))
        return y

    def scat2(self, x, n):
        y = x.clone()
        y.scatter_(0, torch.tensor([[0, 1, 0, 1]]), x[:1] * 3)
        return (
            y.scatter(1, torch.tensor([[3], [0]]), 9.0),
            y.scatter_reduce(0, torch.tensor([[0, 1, 0, 1]]), x[:1], reduce="amax"),
            y.scatter_reduce(0, torch.tensor([[0, 1, 0, 1]]), x[:1], "sum", include_self=False),
        )

    def copy(self, x, n):
        y = torch.empty_like(x)
        y.copy_(x[0])
        y[n].copy_(x[1])
        y[:, 0:2].copy_(x[:, 2:4])
        return y

    def iterate(self, x, n):
        s = 0.0
        out = []
        for row in x:
            s = s + row.sum()
            out.append(row * 2)
        a, b, *c = x[0]
        (d, e), f = (x[:2, :2], n)
        return (s, torch.stack(out), a, b, len(c), d, e)

    def zipit(self, x, n):
        t = 0.0
        for a, b in zip(x, x.flip(0)):
            t += (a * b).sum().item()
        for i, (p, q, r, s) in enumerate(x):
            t += float(p) * i
        return t

    def tolist(self, x, n):
        l = x.tolist()
        return (l, l[n][0], x[0].tolist(), sum(x[0].tolist()), x.sum().tolist(), x.long().tolist(), (x > 0).tolist())

    def idx1(self, x, n):
        i = torch.tensor([1, 0, 1])
        return (
            x[i],
            x[:, i],
            x[i, i],
            x[i][:, None],
            x[..., i],
            x[n, i],
            x[i, n],
            x[:, [0, 2]],
            x[[0, 1]],
            x[i, 1:3],
            x[None, i],
            x[i, ..., None],
        )

    def idx2(self, x, n):
        m = x[:, 0] > 0
        return (
            x[m],
            x[m, 1],
            x[m][:, 1:],
            x[m, ...],
            x[m.nonzero().squeeze(1)],
            x[:, torch.tensor([True, False, True, False])],
            x[x > 0],
            x[~m],
        )

    def idx3(self, x, n):
        return (
            x[n > 0],
            x[n > 2],
            x[True],
            x[False],
            x[None],
            x[torch.tensor(True)],
            x[...],
            x[-1],
            x[..., -1],
            x[0, 0],
            x[::2],
            x[:, ::3],
            x[1:],
            x[5:],
            x[:-1],
            x[n:],
            x[:n],
        )

    def idx_bool_static(self, x, n):
        return (x[True, 0], x[0, True], x[:, False])

    def idx_mixed(self, x, n):
        z = x[None].expand(2, -1, -1).clone()
        i = torch.tensor([0, 1])
        return (z[:, i, 1], z[i, :, i], z[0, :, i], z[i, 0], z[i, 0:1, i], z[:, 0, i], z[i[:, None], i], z[1, x > 0])

    def setidx(self, x, n):
        y = x.clone()
        i = torch.tensor([0, 1])
        y[i] = 1.0
        y[:, i] = torch.tensor([3.0, 4.0])
        y[i, i] = torch.tensor([8.0, 9.0])
        y[0, i] = x[1, i]
        y[..., -1] = n
        y[n, :2] = torch.tensor([1.0, 2.0])
        y[[0, 1], [1, 0]] = 0
        y[:, [0]] += 1
        y[y[:, 0] > 0, 1] = -1
        return y

    def set_none(self, x, n):
        y = x.clone()
        y[None, 0] = 1
        y[0:1] = x[1:2]
        y[:, :, None] = x[:, :, None] * 2
        y[...] = y + 1
        return y

    def where1(self, x, n):
        r, c = torch.where(x > 0)
        k = torch.where(x.sum(1) > 0)[0]
        return (
            r,
            c,
            k,
            len(r),
            x[r, c],
            torch.where(x > 0, x, 0.0),
            torch.where(x > 0, 1, 0),
            torch.where(x > 0, x, x[0]),
            torch.where(x > 0, torch.tensor(1.0), torch.tensor(2.0)),
        )

    def nonz(self, x, n):
        i = (x > 0).nonzero()
        j = torch.nonzero(x > 1, as_tuple=True)
        k = torch.nonzero(x[0] > 100).flatten()
        return (i, j, k, k.numel(), torch.argwhere(x > 0), torch.count_nonzero(x > 0), torch.count_nonzero(x, dim=1))

    def uniq(self, x, n):
        y = (x * 2).long()
        u = torch.unique(y)
        v, inv = torch.unique(y, return_inverse=True)
        w, i2, c = torch.unique(y, return_inverse=True, return_counts=True)
        d = torch.unique(y, dim=0)
        s = y.unique(sorted=True)
        cc = torch.unique_consecutive(y.flatten())
        e, ec = y.unique_consecutive(return_counts=True)
        return (u, v, inv, w, i2, c, d, s, cc, e, ec, len(u))

    def rettypes(self, x, n):
        return (
            torch.topk(x, 2),
            x.sort(),
            x.max(dim=1),
            torch.min(x, 0),
            x.median(0),
            x.mode(1),
            x.kthvalue(1, 0),
            torch.cummax(x, 0),
        )

    def rettypes2(self, x, n):
        t = torch.topk(x, 2)
        v, i = t
        s = x.sort(descending=True, dim=0)
        return (
            t.values,
            t.indices,
            t[0],
            v,
            i,
            s.values[0],
            s[1],
            x.max(1).values,
            x.max(1)[1],
            x.min(dim=0).indices,
            torch.sort(x, stable=True, dim=-1).indices,
            x.argsort(),
            len(t),
        )

    def minmax(self, x, n):
        a = torch.aminmax(x)
        b = x.aminmax(dim=0)
        return (
            a.min,
            a.max,
            b.min,
            x.max(),
            torch.max(x, x.flip(1)),
            torch.minimum(x, x * 2),
            x.amax(1),
            x.amin((0, 1)),
            torch.max(x, dim=0, keepdim=True)[0],
        )

    def splits(self, x, n):
        a = x.split(2)
        b = torch.chunk(x, 2, dim=1)
        c = x.split([1, 3], dim=1)
        d = x.tensor_split(2)
        e = x.unbind(1)
        f = torch.split(x, 1)
        g, h = x.chunk(2, 1)
        return (
            len(a),
            a[-1],
            b,
            c,
            d[0],
            e,
            len(f),
            f,
            g + h,
            torch.hsplit(x, 2),
            torch.tensor_split(x, (1, 2), dim=1),
            x.chunk(7),
        )

    def split_loop(self, x, n):
        out = []
        for p in x.split(2):
            out.append(p.sum(0))
        q = [c * 2 for c in torch.chunk(x, x.shape[0])]
        sizes = [1] * x.shape[0]
        r = x.split(sizes)
        return (torch.stack(out), torch.cat(q), len(r), r[0])

    def stackcat(self, x, n):
        l = []
        for i in range(x.shape[0]):
            if x[i, 0] > 0:
                l.append(x[i])
        l.append(x[0])
        return (
            torch.stack(l),
            torch.cat(l),
            torch.cat(l, dim=-1),
            torch.stack(l, 1),
            torch.vstack(l),
            torch.hstack(l),
            torch.stack(l).mean(0),
            torch.cat([a[None] for a in l]),
            torch.column_stack(l),
            torch.dstack(l),
        )


INPUTS = {
    "mask_assign": MATRICES,
    "mask_assign_tensor": MATRICES,
    "aug_view": MATRICES,
    "iput": MATRICES,
    "scat": MATRICES,
    "scat2": MATRICES,
    "copy": MATRICES,
    "iterate": MATRICES,
    "zipit": MATRICES,
    "tolist": MATRICES,
    "idx1": MATRICES,
    "idx2": MATRICES,
    "idx3": MATRICES,
    "idx_bool_static": MATRICES,
    "idx_mixed": MATRICES,
    "setidx": MATRICES,
    "set_none": MATRICES,
    "where1": MATRICES,
    "nonz": MATRICES,
    "uniq": MATRICES,
    "rettypes": MATRICES,
    "rettypes2": MATRICES,
    "minmax": MATRICES,
    "splits": MATRICES,
    "split_loop": MATRICES,
    "stackcat": MATRICES,
}
