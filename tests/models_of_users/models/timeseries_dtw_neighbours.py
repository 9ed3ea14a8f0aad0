"""Time series: DTW nearest neighbours with LB_Keogh pruning and early abandoning over a learned embedding; voting, ties, unknown class; templates grow."""
import bisect
import math
from collections import Counter
from typing import Dict, List, NamedTuple, Optional, Tuple
import torch
from torch import nn


class Template(NamedTuple):
    label: str
    series: torch.Tensor
    upper: torch.Tensor
    lower: torch.Tensor


class Match(NamedTuple):
    distance: float
    label: str
    index: int


def envelope(x: torch.Tensor, r: int) -> Tuple[torch.Tensor, torch.Tensor]:
    n = x.shape[0]
    ups, lows = [], []
    for i in range(n):
        w = x[max(0, i - r): min(n, i + r + 1)]
        ups.append(w.amax(0))
        lows.append(w.amin(0))
    return torch.stack(ups), torch.stack(lows)


def lb_keogh(q: torch.Tensor, t: Template) -> float:
    n = min(len(q), len(t.series))
    q, u, l = q[:n], t.upper[:n], t.lower[:n]
    above = torch.where(q > u, (q - u) ** 2, torch.zeros(()))
    below = torch.where(q < l, (l - q) ** 2, torch.zeros(()))
    return math.sqrt((above + below).sum().item())


def dtw(a: torch.Tensor, b: torch.Tensor, r: int, bound: float) -> float:
    cost = torch.cdist(a, b) ** 2
    n, m = cost.shape
    prev = [0.0] + [math.inf] * m
    for i in range(1, n + 1):
        cur = [math.inf] * (m + 1)
        lo, hi = max(1, i - r), min(m, i + r)
        for j in range(lo, hi + 1):
            cur[j] = cost[i - 1, j - 1].item() + min(prev[j], cur[j - 1], prev[j - 1])
        if min(cur) > bound ** 2:
            return math.inf
        prev = cur
    return math.sqrt(prev[m]) if prev[m] < math.inf else math.inf


class Classifier(nn.Module):
    def __init__(self, channels=2, dim=3, k=3, radius=4, unknown=3.0):
        super().__init__()
        self.embed = nn.Conv1d(channels, dim, 3, padding=1)
        self.k, self.radius, self.unknown = k, radius, unknown
        self.templates: List[Template] = []
        self.pruned = 0

    def represent(self, x: torch.Tensor) -> torch.Tensor:
        z = torch.tanh(self.embed(x.T.unsqueeze(0)))[0].T
        return (z - z.mean(0)) / (z.std(0, unbiased=False) + 1e-5)

    def search(self, q: torch.Tensor) -> List[Match]:
        best: List[Match] = []
        for i, t in enumerate(self.templates):
            bound = best[-1].distance if len(best) >= self.k else math.inf
            if lb_keogh(q, t) > bound:
                self.pruned += 1
                continue
            d = dtw(q, t.series, self.radius, bound)
            if d == math.inf:
                continue
            bisect.insort(best, Match(d, t.label, i))
            del best[self.k:]
        return best

    def vote(self, matches: List[Match]) -> Optional[str]:
        if not matches or matches[0].distance > self.unknown:
            return None
        counts = Counter(m.label for m in matches)
        top, n = counts.most_common(1)[0]
        tied = [label for label, c in counts.items() if c == n]
        if len(tied) > 1:
            return min((m for m in matches if m.label in tied), key=lambda m: m.distance).label
        return top

    def forward(self, x: torch.Tensor, label: Optional[str] = None):
        if x.shape[0] < 3:
            raise ValueError(f"series of {x.shape[0]} samples is too short")
        z = self.represent(x)
        if label is not None:
            self.templates.append(Template(label, z, *envelope(z, self.radius)))
            return label, [], len(self.templates)
        matches = self.search(z)
        guess = self.vote(matches)
        return guess or "unknown", [(m.label, round(m.distance, 4)) for m in matches], self.pruned


STATEFUL = True


def make_model():
    torch.manual_seed(3)
    return Classifier().eval()


def make_inputs():
    t = lambda n, f, p=0.0: torch.stack([torch.sin(torch.arange(n) * f + p), torch.cos(torch.arange(n) * f * 0.5)], 1)
    return [(t(8, 0.5),), (t(8, 0.5), "slow"), (t(10, 1.5), "fast"), (t(9, 0.55, 0.1),), (t(9, 0.6), "slow"), (t(7, 1.4), "fast"), (t(9, 1.45),), (t(2, 1.0),), (t(12, 3.0),)]
