"""Post-training quantization inside the model: histogram observers, per-channel scales, GPTQ rounding, mixed precision by error."""

import bisect
import operator
from functools import reduce, singledispatchmethod
from typing import Dict, List, Optional, Union

import torch
import torch.nn as nn
import torch.nn.functional as F


class MinMaxObserver(nn.Module):
    def __init__(self, momentum: Optional[float] = None):
        super().__init__()
        self.momentum = momentum
        self.register_buffer("min_val", torch.tensor(float("inf")))
        self.register_buffer("max_val", torch.tensor(float("-inf")))

    def forward(self, x):
        if x.numel() == 0:
            return x
        lo, hi = torch.aminmax(x)
        if self.momentum is None or torch.isinf(self.min_val):
            lo, hi = torch.min(lo, self.min_val), torch.max(hi, self.max_val)
        else:
            lo = self.min_val + self.momentum * (lo - self.min_val)
            hi = self.max_val + self.momentum * (hi - self.max_val)
        self.min_val.copy_(lo)
        self.max_val.copy_(hi)
        return x

    def qparams(self, bits: int):
        qmin, qmax = -(1 << (bits - 1)), (1 << (bits - 1)) - 1
        lo = torch.clamp(self.min_val, max=0.0)
        hi = torch.clamp(self.max_val, min=0.0)
        scale = (hi - lo) / float(qmax - qmin)
        scale = torch.max(scale, torch.tensor(torch.finfo(torch.float32).eps))
        zero = qmin - torch.round(lo / scale).to(torch.int32)
        return scale, torch.clamp(zero, qmin, qmax), qmin, qmax


def quantize(w, scale, bits):
    qmax = 2 ** (bits - 1) - 1
    return torch.clamp(torch.round(w / scale), -qmax - 1, qmax)


def gptq(W: torch.Tensor, H: torch.Tensor, bits: int, blocksize=4, percdamp=0.01):
    W = W.clone()
    rows, columns = W.shape
    dead = torch.diag(H) == 0
    H = H.clone()
    H[dead, dead] = 1
    W[:, dead] = 0
    scale = W.abs().amax(dim=1).clamp(min=1e-8) / (2 ** (bits - 1) - 1)
    damp = percdamp * torch.mean(torch.diag(H))
    diag = torch.arange(columns)
    H[diag, diag] += damp
    H = torch.linalg.cholesky(torch.cholesky_inverse(torch.linalg.cholesky(H)), upper=True)
    Q, losses = torch.zeros_like(W), torch.zeros_like(W)
    for i1 in range(0, columns, blocksize):
        i2 = min(i1 + blocksize, columns)
        W1 = W[:, i1:i2].clone()
        Err1 = torch.zeros_like(W1)
        Hinv1 = H[i1:i2, i1:i2]
        for i in range(i2 - i1):
            w, d = W1[:, i], Hinv1[i, i]
            q = quantize(w, scale, bits) * scale
            Q[:, i1 + i] = q
            losses[:, i1 + i] = (w - q) ** 2 / d ** 2 / 2
            err = (w - q) / d
            W1[:, i:] -= err.unsqueeze(1).matmul(Hinv1[i, i:].unsqueeze(0))
            Err1[:, i] = err
        W[:, i2:] -= Err1.matmul(H[i1:i2, i2:])
    return Q, losses.sum().item()


class QuantLinear(nn.Module):
    LEVELS = (3, 4, 6, 8)

    def __init__(self, i, o):
        super().__init__()
        self.linear = nn.Linear(i, o)
        self.observer = MinMaxObserver(momentum=0.1)
        self.register_buffer("hessian", torch.zeros(i, i))
        self.register_buffer("quantized", None)
        self.nsamples = 0
        self.bits = 0

    def calibrate(self, x):
        self.observer(x)
        n = x.shape[0]
        self.hessian *= self.nsamples / (self.nsamples + n)
        self.nsamples += n
        self.hessian += 2 / self.nsamples * x.T @ x
        return self.linear(x)

    def freeze(self, budget: float):
        for bits in self.LEVELS:
            Q, loss = gptq(self.linear.weight, self.hessian, bits)
            if loss <= budget or bits == self.LEVELS[-1]:
                self.quantized, self.bits = Q, bits
                return bits, loss

    def forward(self, x):
        if self.quantized is None:
            return self.calibrate(x)
        scale, zero, qmin, qmax = self.observer.qparams(8)
        xq = torch.fake_quantize_per_tensor_affine(x, scale, zero, qmin, qmax)
        return F.linear(xq, self.quantized, self.linear.bias)


class QuantMLP(nn.Module):
    def __init__(self, dims=(6, 10, 8, 3)):
        super().__init__()
        self.layers = nn.ModuleList([QuantLinear(a, b) for a, b in zip(dims, dims[1:])])

    @torch.no_grad()
    def forward(self, x: torch.Tensor, mode: str = "run", budget: float = 0.01):
        report: Dict[str, Union[int, float]] = {}
        if mode == "freeze":
            for name, layer in self.layers.named_children():
                if layer.nsamples == 0:
                    raise RuntimeError(f"layer {name} has seen no calibration data")
                bits, loss = layer.freeze(budget)
                report[f"{name}.bits"] = float(bits)
                report[f"{name}.loss"] = loss
        for layer in self.layers[:-1]:
            x = F.relu(layer(x))
        x = self.layers[-1](x)
        bits = [l.bits for l in self.layers]
        size = reduce(operator.add, (l.linear.weight.numel() * (b or 32) for l, b in zip(self.layers, bits)))
        rank = bisect.bisect_left([1000, 1500, 3000], size)
        return x, report, size / 8, rank


STATEFUL = True


def make_model():
    torch.manual_seed(0)
    return QuantMLP().eval()


def make_inputs():
    torch.manual_seed(1)
    x = torch.randn(7, 6)
    x[:, 2] = 0
    return [(x, "freeze"), (x,), (torch.randn(4, 6),), (x, "freeze"), (x,), (x[:2], "freeze", 10.0), (x[:0],)]
