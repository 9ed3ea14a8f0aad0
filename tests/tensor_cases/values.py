"""Sequences of unlike lengths, dtypes, empty and 0-d tensors, conversions.

Methods of one module, run by the reference interpreter and through C++. Each gives all that it computes;
`INPUTS` has its arguments.
"""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence, pad_sequence

from tensor_cases.inputs import INF, MATRICES, NAN, rand, rows


class Values(nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.lstm = nn.LSTM(4, 3, batch_first=True)
        self.gru = nn.GRU(4, 3, 2, bidirectional=True)
        self.rnn = nn.RNN(4, 3)
        self.projected = nn.LSTM(4, 3, proj_size=2)

    def padseq(self, xs):
        a = pad_sequence(xs)
        b = pad_sequence(xs, batch_first=True, padding_value=-1.0)
        return (a, b, a.shape[0])

    def packed(self, xs):
        lens = torch.tensor([x.shape[0] for x in xs])
        p = pack_padded_sequence(pad_sequence(xs, batch_first=True), lens, batch_first=True)
        o, (h, c) = self.lstm(p)
        y, l = pad_packed_sequence(o, batch_first=True)
        return (y, l, h, c)

    def packed_unsorted(self, xs):
        lens = [len(x) for x in xs]
        p = pack_padded_sequence(pad_sequence(xs), lens, enforce_sorted=False)
        o, h = self.gru(p)
        y, l = pad_packed_sequence(o, total_length=6, padding_value=-5.0)
        return (y, l, h, o.data, o.batch_sizes)

    def packed_lens(self, x, lens):
        p = pack_padded_sequence(x, lens.cpu(), batch_first=True, enforce_sorted=False)
        o, (h, c) = self.lstm(p)
        y, _ = pad_packed_sequence(o, batch_first=True)
        return (y, h[-1], c)

    def rnns(self, x):
        o, h = self.gru(x.transpose(0, 1))
        o2, (h2, c2) = self.lstm(x)
        o3, h3 = self.rnn(x)
        o4, _ = self.projected(x)
        h0 = torch.zeros(1, x.shape[0], 3)
        o5, _ = self.lstm(x, (h0, h0))
        o6, h6 = self.lstm(x[0])
        return (o, h, o2, h2, c2, o3, h3, o4, o5, o6, h6)

    def einsum(self, x, n):
        return (
            torch.einsum("ij,kj->ik", x, x),
            torch.einsum("ii->i", x[:2, :2]),
            torch.einsum("ij->", x),
            torch.einsum("bi,bj->bij", x, x),
            torch.einsum("...i,i->...", x, x[0]),
            torch.einsum("i,j", x[0], x[1]),
            torch.einsum("ij,jk,kl->il", x, x.t(), x),
            torch.einsum(x, [0, 1], x, [2, 1], [0, 2]),
        )

    def halfs(self, x, n):
        h = x.half()
        b = x.bfloat16()
        return (
            h + h,
            h * 2,
            b * b,
            h @ h.t(),
            (b @ b.t()).float(),
            h.sum(),
            h.sum().item(),
            b.mean().item(),
            h + x,
            b + h,
            h.softmax(-1),
            torch.relu(b),
            h.exp(),
            h > 0.5,
            h.max(),
            float(h[0, 0]),
            h.to(torch.float64),
        )

    def ints(self, x, n):
        i = (x * 100).to(torch.int8)
        u = (x * 100).abs().to(torch.uint8)
        s = i.short()
        return (
            i + i,
            i * 2,
            u + 200,
            u - 255,
            i // 3,
            i % 3,
            i >> 1,
            u << 1,
            s * 300,
            i.sum(),
            u.sum(),
            i.float() / 3,
            i / 3,
            -i,
            ~i,
            i & u,
            i | 1,
            i ^ 2,
            u.long() - 300,
            i.abs(),
            i.max(),
            i.clamp(-5, 5),
            i.item() if False else i[0, 0].item(),
        )

    def cplx(self, x, n):
        c = torch.complex(x, x.flip(0))
        return (
            c * c,
            c.abs(),
            c.angle(),
            c.real,
            c.imag,
            c.conj(),
            c + 1j,
            c * (2 + 1j),
            torch.view_as_real(c),
            torch.polar(x.abs(), x),
            c.sum(),
            c[0, 0].item(),
            c @ c.mT,
            c.mH,
            torch.fft.fft(x),
            torch.fft.ifft(torch.fft.fft(x)).real,
            torch.fft.rfft(x, dim=0),
            torch.fft.irfft(torch.fft.rfft(x), n=4),
            torch.fft.fft2(x),
            torch.fft.fftshift(x),
            torch.fft.fftfreq(4),
            c == c,
        )

    def zerod(self, x, n):
        z = x[0, 0]
        e = x[:0]
        f = x[:, :0]
        return (
            z.dim(),
            z.shape,
            z + 1,
            z * x,
            z.view(1),
            z.unsqueeze(0),
            e.shape,
            e.sum(),
            f.sum(1),
            e.numel(),
            torch.cat([e, x]),
            e.mean(),
            f.prod(),
            torch.zeros(0).sum().item(),
            e.max(1) if False else 0,
            torch.stack([z, z]),
            len(e),
            z.tolist(),
            e.tolist(),
            torch.tensor(n),
            torch.tensor(3.5),
            torch.empty(0, 3),
            z.reshape(-1),
            z.expand(3),
            e.t(),
        )

    def empt(self, x, n):
        return (
            x.sum(0),
            x.cumsum(0),
            x @ x.t(),
            x.softmax(0),
            x.sort(0)[0],
            x.nonzero(),
            x[x > 0],
            torch.cat([x, x]),
            x.flip(0),
            x.view(-1),
            x.mean(1),
            F.relu(x),
            x.all(),
            x.any(),
            (x > 0).sum(),
            x.unique(),
            [r.sum() for r in x],
            x.tolist(),
            x.std(1),
        )

    def emptmax(self, x, n):
        return x.max()

    def emptargmax(self, x, n):
        return x.argmax(0)

    def queries(self, x, n):
        return (
            x.dtype == torch.float32,
            str(x.dtype),
            x.device.type,
            x.is_floating_point(),
            x.dtype.is_floating_point,
            x.ndim,
            x.dim(),
            x.numel(),
            x.size(),
            x.size(0),
            x.size(-1),
            x.shape[1:],
            x.element_size(),
            x.is_contiguous() if False else 1,
            torch.is_tensor(x),
            isinstance(x, torch.Tensor),
            x.is_cuda,
            x.nelement(),
            x.long().dtype is torch.int64,
            torch.finfo(x.dtype).eps,
            torch.iinfo(torch.int32).max,
            x.shape == (3, 4),
            list(x.shape),
            tuple(x.size()),
            torch.zeros(2, dtype=x.dtype, device=x.device),
            x.requires_grad,
            x.is_complex(),
            x.shape.numel(),
            torch.promote_types(torch.int32, torch.float16) is torch.float16,
            torch.result_type(x, 1) is torch.float32,
            x.T.shape,
            torch.can_cast(torch.float32, torch.int32),
        )

    def aranges(self, x, n):
        m = x.shape[0]
        k = n + 2
        return (
            torch.arange(m),
            torch.arange(k),
            torch.arange(k, m + k),
            torch.arange(0, m, 2),
            torch.arange(m, 0, -1),
            torch.arange(0.0, m, 0.5),
            torch.arange(k, dtype=torch.float32),
            torch.linspace(0, 1, m),
            torch.zeros(m, k),
            torch.ones(k),
            torch.full((m,), n),
            torch.full((k,), 2.5),
            torch.eye(m),
            torch.tril(torch.ones(m, m)),
            torch.triu(torch.ones(m, m, dtype=torch.bool), 1),
            torch.empty(m, 2).shape,
            x.new_zeros(k),
            x.new_ones(m, 2),
            x.new_full((k,), 3),
            x.new_tensor([1, 2]),
            x.new_empty(k).shape,
            torch.zeros_like(x, dtype=torch.int64),
            torch.full_like(x, n),
            torch.logspace(0, 1, k),
            torch.ones((m,) + x.shape[1:]),
            torch.tril_indices(m, m),
            torch.combinations(torch.arange(m)),
            torch.cartesian_prod(torch.arange(m), torch.arange(k)),
        )

    def nograd(self, x, n):
        with torch.no_grad():
            y = x * 2
        with torch.inference_mode():
            z = y + 1
        with torch.autocast("cpu", enabled=False):
            w = z @ z.t()
        with torch.enable_grad():
            v = w.sum()
        with torch.set_grad_enabled(False):
            v = v + 1
        with torch.amp.autocast(device_type="cpu", enabled=False):
            v = v * 2

        @torch.no_grad()
        def g(t):
            return t * 3

        @torch.inference_mode()
        def h(t):
            return t - 1

        return (y, z, w, v, g(x), h(x), torch.is_grad_enabled() if False else 0)

    def nograd2(self, x, n):
        with torch.no_grad(), torch.autocast(device_type="cpu", enabled=False):
            y = x * 2
        return (y.detach(), y.detach().clone().requires_grad_(False), y.data, y.cpu(), y.contiguous())

    def promo(self, x, n):
        i = x.long()
        b = x > 0
        h = x.half()
        return (
            i + 1,
            i + 1.5,
            i * True,
            b + 1,
            b * 2.5,
            b + b,
            b.sum(),
            i / 2,
            i // 2,
            i % 3,
            i**2,
            i * n,
            i / n if False else i / 3,
            x * n,
            h * 2.5,
            h * n,
            i + n * 0.5,
            b * n,
            b & True,
            i.float() * 1,
            2 ** i.abs(),
            2.0**i,
            x // 1,
            x % 2,
            -x // 2,
            -x % 2,
            i - True,
            b.float().mean(),
            torch.tensor(3) * x,
            torch.tensor(3.5, dtype=torch.float64) * x,
            torch.tensor(2.5) * i,
            torch.tensor(2.5, dtype=torch.float64) * i,
            (x > 0) & (x < 1),
            ~b,
            b ^ b,
            b | True,
            b.int() - 2,
            x.double() + h,
            i.int() + i,
            i.to(torch.uint8) + i.to(torch.int8),
            b + 0.5,
            n * b,
            1 - b.float(),
        )

    def intops(self, x, n):
        return (
            x // n,
            x % n,
            x + 1,
            x * 2,
            -x,
            x.abs(),
            torch.div(x, n, rounding_mode="trunc"),
            torch.div(x, n, rounding_mode="floor"),
            torch.fmod(x, n),
            torch.remainder(x, n),
            x // 2.0,
            x % 2.5,
            n // x[3],
            n % x[3],
            x.sign(),
            x.pow(2),
            x >> 1,
            x << 1,
            torch.floor_divide(x, n),
            x / n,
            x.int(),
            x.short(),
            x.sum(),
            x.prod(),
        )

    def divzero(self, x, n):
        return x // n

    def divzero2(self, x, n):
        return (x / n, x.float() / n, x.float() // n, x.float() % n)

    def items(self, b):
        return (
            b[0].item(),
            b[0].half().item(),
            int(b[0]),
            float(b[0]),
            bool(b[0]),
            b.any().item(),
            b.sum().item(),
            b.all().item(),
            b[0].item() + 1,
            (b[0] * 3).item(),
            b.tolist(),
            b[0].long().item(),
            b.float().mean().item(),
        )

    def boolmany(self, x):
        if x:
            return 1
        return 0

    def itemmany(self, x):
        return x.item()

    def floatmany(self, x):
        return (float(x), int(x))

    def nans(self, x):
        return (
            x == x,
            x != x,
            x > 0,
            x.isnan(),
            x.isinf(),
            x.isfinite(),
            x.max(),
            x.min(),
            x.sum(),
            x.sort(),
            x.argmax(),
            torch.nan_to_num(x),
            x.nansum(),
            x.clamp(0, 1),
            torch.maximum(x, x.flip(0)),
            torch.fmax(x, x.flip(0)),
            x[0].item() != x[0].item(),
            x[2].item() > 1e308,
            x[0].item() > 1,
            x[3].item() < 0,
            torch.where(x.isnan(), torch.zeros_like(x), x),
            x.unique(),
            torch.equal(x, x),
            torch.allclose(x, x, equal_nan=True),
            x.softmax(0),
            x / 0,
            x.nanmean(),
            x.topk(2),
            x.cummax(0),
        )


INPUTS = {
    "padseq": [(rows(3, 2, 1),), (rows(5, 1, 4),), (rows(2),)],
    "packed": [(rows(3, 2, 1),), (rows(5, 4, 1),), (rows(2),)],
    "packed_unsorted": [(rows(3, 2, 5),), (rows(5, 1, 4),), (rows(2),)],
    "packed_lens": [(rand(2, 5, 4), torch.tensor([5, 3])), (rand(3, 6, 4), torch.tensor([6, 6, 1]))],
    "rnns": [(rand(2, 5, 4),), (rand(1, 1, 4),), (rand(3, 7, 4),)],
    "einsum": MATRICES,
    "halfs": MATRICES,
    "ints": MATRICES,
    "cplx": MATRICES,
    "zerod": MATRICES,
    "empt": [(rand(0, 4), 0), (rand(3, 4), 1), (rand(1, 4), 1)],
    "emptmax": [(rand(0, 4), 0), (rand(3, 4), 1)],
    "emptargmax": [(rand(0, 4), 0), (rand(3, 4), 1)],
    "queries": MATRICES,
    "aranges": MATRICES,
    "nograd": MATRICES,
    "nograd2": MATRICES,
    "promo": MATRICES,
    "intops": [
        (torch.tensor([-7, 7, -8, 5, 0]), 3),
        (torch.tensor([-7, 7, -8, 5, 0]), -3),
        (torch.tensor([9223372036854775807, -9223372036854775808, 1, 2, 3]), 2),
    ],
    "divzero": [(torch.tensor([1, 2]), 0), (torch.tensor([1, 2]), 1)],
    "divzero2": [(torch.tensor([1, 2]), 0), (torch.tensor([1, 2]), 1)],
    "items": [(torch.tensor([True, False]),), (torch.tensor([False, False]),)],
    "boolmany": [(torch.tensor([1.0, 2.0]),), (torch.tensor([1.0]),), (torch.tensor([0.0]),), (torch.tensor([]),)],
    "itemmany": [(torch.tensor([1.0, 2.0]),), (torch.tensor([1.0]),), (torch.tensor([]),)],
    "floatmany": [(torch.tensor([1.0, 2.0]),), (torch.tensor([1.0]),)],
    "nans": [(torch.tensor([NAN, 1.0, INF, -INF]),)],
}
