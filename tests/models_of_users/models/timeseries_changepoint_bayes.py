"""Time series: Bayesian online change points with a growing run-length posterior, pruning, a Student-t predictive, segment summaries and an MLP forecast of the last segment."""
import itertools
import math
from contextlib import nullcontext
from dataclasses import dataclass
from typing import List, NamedTuple, Optional, Tuple

import torch
from torch import Tensor, nn


class Suff(NamedTuple):
    mu: Tensor
    kappa: Tensor
    alpha: Tensor
    beta: Tensor

    @classmethod
    def prior(cls) -> "Suff":
        return cls(*(torch.tensor([v]) for v in (0.0, 1.0, 1.0, 1.0)))

    def update(self, x: Tensor) -> "Suff":
        d = x - self.mu
        k = self.kappa + 1
        return Suff((self.kappa * self.mu + x) / k, k, self.alpha + 0.5, self.beta + self.kappa * d.square() / (2 * k))

    def extend(self, x: Tensor) -> "Suff":
        new = self.update(x)
        return Suff(*(torch.cat([p, n]) for p, n in zip(Suff.prior(), new)))

    def keep(self, mask: Tensor) -> "Suff":
        return Suff(*[f[mask] for f in self])

    def log_prob(self, x: Tensor) -> Tensor:
        nu = 2 * self.alpha
        scale2 = self.beta * (self.kappa + 1) / (self.alpha * self.kappa)
        z = (x - self.mu).square() / scale2
        return (torch.lgamma((nu + 1) / 2) - torch.lgamma(nu / 2) - 0.5 * torch.log(math.pi * nu * scale2)
                - (nu + 1) / 2 * torch.log1p(z / nu))


@dataclass
class Segment:
    start: int
    stop: int
    mean: float
    slope: float

    def __len__(self):
        return self.stop - self.start

    def __str__(self) -> str:
        return f"[{self.start}:{self.stop}) {self.mean:.2f}{self.slope:+.2f}"


class ChangePoints(nn.Module):
    def __init__(self, hazard: float = 0.05, prune: float = 1e-4, horizon: int = 3, window: int = 6):
        super().__init__()
        self.hazard, self.prune, self.horizon, self.window = hazard, prune, horizon, window
        self.net = nn.Sequential(nn.Linear(window, 8), nn.SELU(), nn.Linear(8, horizon))

    def run_lengths(self, xs: Tensor) -> Tuple[List[int], List[float]]:
        log_h, log_1h = math.log(self.hazard), math.log1p(-self.hazard)
        suff = Suff.prior()
        logr = torch.zeros(1)
        lengths = torch.zeros(1, dtype=torch.long)
        best, evidence = [], []
        for x in xs:
            pred = suff.log_prob(x)
            grow = logr + pred + log_1h
            cp = torch.logsumexp(logr + pred + log_h, dim=0, keepdim=True)
            logr = torch.cat([cp, grow])
            total = logr.logsumexp(0)
            logr = logr - total
            evidence.append(total.item())
            lengths = torch.cat([lengths.new_zeros(1), lengths + 1])
            suff = suff.extend(x)
            mask = logr > math.log(self.prune)
            if not mask.all():
                logr, lengths, suff = logr[mask], lengths[mask], suff.keep(mask)
                logr = logr - logr.logsumexp(0)
            best.append(int(lengths[logr.argmax()]))
        return best, evidence

    def segments(self, xs: Tensor, best: List[int]) -> List[Segment]:
        cuts = [0]
        for t, (a, b) in enumerate(zip(best, best[1:]), start=1):
            if b < a and t - b + 1 > cuts[-1] + 1:
                cuts.append(t - b + 1)
        cuts.append(len(best))
        out = []
        for lo, hi in zip(cuts, cuts[1:]):
            if hi <= lo:
                continue
            seg = xs[lo:hi]
            n = hi - lo
            t = torch.arange(n, dtype=xs.dtype)
            slope = 0.0
            if n > 1:
                t = t - t.mean()
                slope = ((t * (seg - seg.mean())).sum() / t.square().sum()).item()
            out.append(Segment(lo, hi, seg.mean().item(), slope))
        return out

    def forecast(self, xs: Tensor, last: Segment) -> Tensor:
        tail = xs[last.start:last.stop]
        if len(tail) < self.window:
            pad = tail[:1].expand(self.window - len(tail))
            tail = torch.cat([pad, tail])
        recent = tail[-self.window:]
        base = recent.mean()
        return base + self.net(recent - base)

    def forward(self, xs: Tensor, grad: bool = False):
        if xs.numel() == 0:
            raise ValueError("empty series")
        with nullcontext() if grad else torch.no_grad():
            best, evidence = self.run_lengths(xs)
            segs = self.segments(xs, best)
            pred = self.forecast(xs, segs[-1])
        longest = max(segs, key=len)
        return {"best": best, "evidence": sum(evidence), "segments": [str(s) for s in segs], "forecast": pred.detach(),
                "longest": (longest.start, len(longest)), "surprise": max(itertools.accumulate(-e for e in evidence))}


def make_model():
    torch.manual_seed(17)
    return ChangePoints().eval()


def make_inputs():
    g = torch.Generator().manual_seed(8)
    n = lambda k, m, s: m + s * torch.randn(k, generator=g)
    return [(torch.cat([n(12, 0.0, 0.3), n(10, 4.0, 0.3)]),), (n(9, 0.0, 1.0),), (torch.cat([n(8, -2, 0.2), n(7, 2, 0.2), n(5, 8, 0.5)]), True),
            (torch.tensor([1.5]),), (torch.linspace(0, 5, 16),), (torch.zeros(0),)]
