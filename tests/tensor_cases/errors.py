"""Linear algebra, conversions, and what raises.

Methods of one module, run by the reference interpreter and through C++. Each gives all that it computes;
`INPUTS` has its arguments.
"""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import nn

from tensor_cases.inputs import MATRICES, rand


def no_such(out):
    subscript = out - 1
    return subscript[0] * 2


class Errors(nn.Module):
    def tensors_of_scalars(self, x, n):
        a = x[0, 0].item()
        s = x.shape[0]
        l = [float(i) * a for i in range(s)]
        return (
            torch.tensor([n, s]),
            torch.tensor([a, n]),
            torch.tensor([[n, 1], [2, s]]),
            torch.tensor(l),
            torch.tensor(a),
            torch.tensor([x.shape[0] > 2]),
            torch.tensor(l).sum(),
            torch.tensor([a], dtype=torch.float64),
            torch.tensor([n], dtype=torch.int32),
            torch.as_tensor([a, 1.0]),
            torch.tensor([x.sum(), 2.0]),
            torch.tensor([[1.0 * n] * 3] * 2),
            torch.FloatTensor([1.0, a]),
            torch.LongTensor([n]),
            torch.tensor([]),
        )

    def names(self, x, n):
        # Those that the C++ of regions uses itself.
        place = x.relu() + n
        if place.sum() > 1:
            element, ints = place * 2, place.long()
            tensors, impl = element[:, n:], ints + n
            if impl.sum() > 2:
                no_grad = tensors.sum() + ints.sum()
                rethrow, out = no_grad * 2, [place, element]
                return place, element, ints, tensors, impl, rethrow, out
            return impl, no_such(place)
        list_ = place.exp()
        tensor = list_ + 1
        return tensor, list_

    def pads(self, x, n):
        return (
            F.pad(x, (1, 2)),
            F.pad(x, (0, 0, 1, 1), value=3.0),
            F.pad(x, (1, 1), mode="constant", value=n),
            F.pad(x[None], (1, 1), mode="reflect"),
            F.pad(x[None], (1, 1), mode="replicate"),
            F.pad(x[None], (2, 1), mode="circular"),
            F.pad(x, (-1, 0)),
            F.pad(x, (0, 6 - x.shape[0])),
            F.pad(x, [0, 0, 0, 6 - x.shape[0]]),
            F.pad(x, (abs(n), 0)),
            torch.constant_pad_nd(x, (1, 1), 0),
        )

    def linalgs(self, x, n):
        s = x @ x.t() + torch.eye(x.shape[0])
        q, r = torch.linalg.qr(x)
        u, sv, vh = torch.linalg.svd(x)
        w, v = torch.linalg.eigh(s)
        L = torch.linalg.cholesky(s)
        sd = torch.linalg.slogdet(s)
        return (
            torch.linalg.inv(s),
            torch.linalg.det(x),
            torch.linalg.norm(x),
            torch.linalg.norm(x, dim=1),
            torch.linalg.solve(s, x),
            q,
            r,
            sv,
            w,
            L,
            sd.sign,
            sd.logabsdet,
            torch.linalg.matrix_power(x, 2),
            torch.linalg.pinv(x).shape,
            torch.linalg.matrix_rank(x),
            torch.linalg.eigvalsh(s),
            torch.linalg.vector_norm(x),
            torch.linalg.matrix_norm(x),
            torch.linalg.multi_dot([x, x, x]),
            torch.linalg.cross(x[:, :3], x[:, :3]) if x.shape[0] == 3 else x,
            torch.inverse(s),
            torch.det(s),
            torch.cholesky_solve(x, L),
            torch.linalg.solve_triangular(L, x, upper=False),
            torch.logdet(s),
            torch.matrix_exp(x),
            torch.linalg.cond(s),
            torch.linalg.eig(x)[0].abs().sort()[0],
            torch.linalg.svdvals(x),
            torch.linalg.cholesky_ex(s).info,
            torch.slogdet(s),
            torch.linalg.qr(x),
            torch.linalg.slogdet(s),
        )

    def chol(self, x):
        try:
            return torch.linalg.cholesky(x)
        except torch.linalg.LinAlgError as e:
            return x - 1

    def invsing(self, x):
        return torch.linalg.inv(x)

    def tos(self, x, n):
        return (
            x.to(torch.float64),
            x.to("cpu"),
            x.to(x.long()),
            x.to(dtype=torch.int32),
            x.to("cpu", torch.half),
            x.double(),
            x.int(),
            x.bool(),
            x.type(torch.int64),
            x.type("torch.DoubleTensor"),
            x.char(),
            x.byte() if False else 0,
            x.to(torch.complex64),
            x.to(torch.bool),
            x.long().to(torch.float16),
        )

    def overflow(self, x, n):
        i = torch.tensor([2147483647, -2147483648], dtype=torch.int32)
        b = torch.tensor([127, -128], dtype=torch.int8)
        l = torch.tensor([9223372036854775807])
        return (
            i + 1,
            i * 2,
            -i,
            b + 1,
            b * 2,
            -b,
            b // -1 if False else b // 2,
            l + n,
            l * 2,
            i.abs(),
            b.abs(),
            i.sum(),
            b.sum(),
            l.float(),
            (x * 10000000000.0).half(),
            (x.abs() * 300).to(torch.int32),
            i - n,
        )

    def out_of_range(self, x, n):
        return x[n + 3]

    def out_of_range2(self, x, n):
        y = x.clone()
        y[n + 3] = 1
        return y

    def bad_index(self, x, n):
        return x[torch.tensor([n + 2])]

    def bad_shape(self, x, n):
        return x @ torch.ones(x.shape[0], 2)

    def bad_view(self, x, n):
        return x.view(3, -1)

    def bad_cat(self, x, n):
        return torch.cat([x, torch.ones(1, n + 4)])

    def view_noncontig(self, x, n):
        return x.t().view(-1)

    def unpack(self, x, n):
        a, b = x[:2]
        c, *d = x
        return (a, b, c, len(d), d[-1])

    def unpack_wrong(self, x, n):
        a, b, c = x
        return a + b + c

    def tensor_if(self, x, n):
        y = x if x.sum() > 0 else -x
        if (x > 0).any() and (not (x > 3).any()):
            y = y + 1
        while y.max() < 5:
            y = y * 2
        return (
            y,
            max(x[0, 0], x[0, 1]),
            min(x[0]),
            sorted(x[0].tolist()),
            max(x[:, 0].tolist()),
            sum(x),
            abs(x),
            round(x[0, 0].item(), 2),
            any(x[0] > 0),
            all(x[0] > -9),
            x[0, 0] in [1, 2],
            bool(x[0, 0] > 0),
        )

    def compare_t(self, x, n):
        return (
            x[0, 0] > x[0, 1],
            x[0, 0] == x[0, 0],
            (x[0] == x[0]).all(),
            x.shape[0] == x[0].shape[0],
            x > n,
            n < x,
            x == None,
            x is None,
            x is x,
            x.eq(1),
            x.ne(n),
            x.lt(x),
            0 < x[0, 0].item() < 1,
            not x[0, 0],
            x[0, 0] and n,
            x[0, 0] or n,
        )


INPUTS = {
    "tensors_of_scalars": MATRICES,
    "names": [*MATRICES, (torch.zeros(2, 2), 0), (torch.full((1, 3), 0.5), 0)],
    "pads": MATRICES,
    "linalgs": [(rand(3, 3), 1), (rand(2, 2), 0), (rand(4, 4), 1)],
    "chol": [(torch.zeros(2, 2),), (torch.eye(2),)],
    "invsing": [(torch.zeros(2, 2),), (torch.eye(2),)],
    "tos": MATRICES,
    "overflow": MATRICES,
    "out_of_range": MATRICES,
    "out_of_range2": MATRICES,
    "bad_index": MATRICES,
    "bad_shape": MATRICES,
    "bad_view": MATRICES,
    "bad_cat": MATRICES,
    "view_noncontig": [(torch.ones(4, 4), 1), (torch.ones(2, 4), 2)],
    "unpack": MATRICES,
    "unpack_wrong": MATRICES,
    "tensor_if": MATRICES,
    "compare_t": MATRICES,
}
