"""Medicine: a survival forest whose trees are stored as flat buffers; patients with missing values go both ways by weights, concordance, risk groups by quantiles, text report."""
import math
from collections import namedtuple
from itertools import combinations
from statistics import mean, median
from typing import Any, Dict, List, Optional, Sequence, Tuple

import torch
from torch import Tensor, nn

Leaf = namedtuple("Leaf", "hazard count")
Split = namedtuple("Split", ["feature", "threshold", "left", "right", "weight"])


class FlatTree(nn.Module):
    def __init__(self, nodes: Sequence[Any]):
        super().__init__()
        n = len(nodes)
        feature, threshold, left, right, weight, hazard = [-1] * n, [0.0] * n, [0] * n, [0] * n, [0.5] * n, [0.0] * n
        for i, node in enumerate(nodes):
            if isinstance(node, Leaf):
                hazard[i] = node.hazard
            else:
                feature[i], threshold[i], left[i], right[i], weight[i] = node
        self.register_buffer("feature", torch.tensor(feature))
        self.register_buffer("threshold", torch.tensor(threshold))
        self.register_buffer("left", torch.tensor(left))
        self.register_buffer("right", torch.tensor(right))
        self.register_buffer("weight", torch.tensor(weight))
        self.hazard = nn.Parameter(torch.tensor(hazard))

    def descend(self, x: Tensor, node: int = 0, mass: float = 1.0) -> float:
        f = int(self.feature[node])
        if f < 0:
            return mass * self.hazard[node].item()
        v = x[f]
        l, r = int(self.left[node]), int(self.right[node])
        if torch.isnan(v):
            w = float(self.weight[node])
            if mass * min(w, 1 - w) < 0.05:
                return self.descend(x, l if w >= 0.5 else r, mass)
            return self.descend(x, l, mass * w) + self.descend(x, r, mass * (1 - w))
        return self.descend(x, l if v <= self.threshold[node] else r, mass)

    def path(self, x: Tensor) -> List[int]:
        at, out = 0, []
        while (f := self.feature[at].item()) >= 0:
            out.append(at)
            go_left = bool(x[f] <= self.threshold[at]) if not math.isnan(x[f].item()) else self.weight[at] >= 0.5
            at = int(self.left[at] if go_left else self.right[at])
        return out + [at]


def grow(depth: int, g: torch.Generator, features: int) -> List[Any]:
    nodes: List[Any] = []

    def build(d: int) -> int:
        at = len(nodes)
        nodes.append(None)
        if d == 0 or torch.rand(1, generator=g).item() < 0.15:
            nodes[at] = Leaf(round(torch.rand(1, generator=g).item(), 3), 3)
            return at
        f = int(torch.randint(features, (1,), generator=g))
        t = torch.randn(1, generator=g).item()
        w = torch.rand(1, generator=g).item()
        l, r = build(d - 1), build(d - 1)
        nodes[at] = Split(f, t, l, r, w)
        return at

    build(depth)
    return nodes


class SurvivalForest(nn.Module):
    GROUPS = ("low", "medium", "high")

    def __init__(self, trees: int = 3, depth: int = 3, features: int = 4):
        super().__init__()
        g = torch.Generator().manual_seed(99)
        self.trees = nn.ModuleList([FlatTree(grow(depth, g, features)) for _ in range(trees)])

    @staticmethod
    def concordance(risk: List[float], time: List[float], event: List[bool]) -> Optional[float]:
        good = ties = total = 0
        for i, j in combinations(range(len(risk)), 2):
            if time[i] == time[j]:
                continue
            first, second = (i, j) if time[i] < time[j] else (j, i)
            if not event[first]:
                continue
            total += 1
            if risk[first] > risk[second]:
                good += 1
            elif risk[first] == risk[second]:
                ties += 1
        return (good + 0.5 * ties) / total if total else None

    def groups(self, risk: List[float]) -> List[str]:
        order = sorted(risk)
        lo, hi = order[len(order) // 3], order[(2 * len(order)) // 3]
        return [self.GROUPS[(r > lo) + (r > hi)] for r in risk]

    @torch.no_grad()
    def forward(self, x: Tensor, time: Optional[Tensor] = None, event: Optional[Tensor] = None) -> Dict[str, Any]:
        risk = []
        for row in x:
            hazards = [tree.descend(row) for tree in self.trees]
            risk.append(mean(hazards))
        if not risk:
            return {"risk": torch.zeros(0), "report": "no patients"}
        spread = max(risk) - min(risk)
        groups = self.groups(risk)
        c = None
        if time is not None and event is not None:
            c = self.concordance(risk, time.tolist(), event.tolist())
        used: Dict[int, int] = {}
        for tree in self.trees:
            for n in tree.path(x[0])[:-1]:
                f = int(tree.feature[n])
                used[f] = used.get(f, 0) + 1
        lines = [f"{i}: {r:.3f} {g}" for i, (r, g) in enumerate(zip(risk, groups))]
        lines.append("c-index n/a" if c is None else f"c-index {c:.3f}")
        survival = torch.exp(-torch.tensor(risk)[:, None] * torch.linspace(0, 2, 4))
        return {"risk": torch.tensor(risk), "median": median(risk), "spread": spread, "groups": groups, "concordance": c,
                "features": used, "report": "; ".join(lines), "survival": survival}


def make_model():
    torch.manual_seed(0)
    return SurvivalForest().eval()


def make_inputs():
    g = torch.Generator().manual_seed(2)
    x = torch.randn(6, 4, generator=g)
    y = x.clone()
    y[0, 1] = y[2, 3] = y[4, 0] = float("nan")
    t = torch.tensor([5.0, 2.0, 2.0, 7.5, 1.0, 3.0])
    e = torch.tensor([True, True, False, True, False, True])
    return [(x,), (y, t, e), (torch.zeros(0, 4),), (x[:1], t[:1], e[:1]), (torch.full((2, 4), float("nan")), t[:2], e[:2])]
