"""Once-for-all style supernet: elastic depth, width and kernel by config dict; latency budget search; weight slicing."""
from __future__ import annotations
import copy
import itertools
import torch
import torch.nn as nn
import torch.nn.functional as F

class ElasticConv(nn.Module):
    def __init__(self, cin, cout, k=5):
        super().__init__()
        self.w = nn.Parameter(torch.randn(cout, cin, k, k) / (cin * k * k) ** 0.5)
        self.b = nn.Parameter(torch.zeros(cout))
        self.max_k = k
    def forward(self, x, cout: int, k: int):
        s = (self.max_k - k) // 2
        w = self.w[:cout, : x.shape[1], s : self.max_k - s, s : self.max_k - s]
        return F.conv2d(x, w.contiguous(), self.b[:cout], padding=k // 2)
    def flops(self, cin, cout, k, hw):
        return cin * cout * k * k * hw

class Stage(nn.Module):
    def __init__(self, cin, cout, depth):
        super().__init__()
        self.convs = nn.ModuleList([ElasticConv(cin if i == 0 else cout, cout) for i in range(depth)])
        self.bn = nn.ModuleDict({str(w): nn.BatchNorm2d(w) for w in (cout // 2, cout)})
        self.cout = cout
    def forward(self, x, depth, width, k):
        c = int(self.cout * width)
        for conv in self.convs[:depth]:
            x = F.relu(self.bn[str(c)](conv(x, c, k)))
        return x

class SuperNet(nn.Module):
    GRID = {"depth": (1, 2), "width": (0.5, 1.0), "k": (3, 5)}
    def __init__(self):
        super().__init__()
        self.stages = nn.ModuleList([Stage(3, 8, 2), Stage(8, 12, 2)])
        self.head = nn.Linear(12, 5)
    @classmethod
    def configs(cls):
        keys = list(cls.GRID)
        return [dict(zip(keys, v)) for v in itertools.product(*cls.GRID.values())]
    def cost(self, cfg, hw):
        total, cin = 0, 3
        for s in self.stages:
            for conv in s.convs[: cfg["depth"]]:
                cout = int(s.cout * cfg["width"])
                total += conv.flops(cin, cout, cfg["k"], hw)
                cin = cout
        return total
    def run(self, x, cfg):
        for i, s in enumerate(self.stages):
            x = s(x, **cfg)
            if i == 0:
                x = F.max_pool2d(x, 2)
        x = x.mean(dim=[2, 3])
        return F.linear(x, self.head.weight[:, : x.shape[1]], self.head.bias)
    def forward(self, x, budget: float, target: float = 0.3):
        hw = x.shape[2] * x.shape[3]
        allowed = sorted((c for c in self.configs() if self.cost(c, hw) <= budget), key=lambda c: self.cost(c, hw))
        if not allowed:
            raise ValueError(f"no subnet within {budget:g}")
        tried = []
        best, best_conf = None, -1.0
        for cfg in allowed:
            y = self.run(x, cfg)
            p = y.softmax(-1).max(-1).values.mean().item()
            tried.append(("d{depth}w{width}k{k}".format(**cfg), round(p, 3)))
            if p > best_conf:
                best, best_conf = y, p
            if p >= target:
                break
        return best, best_conf, tried, len(allowed)

def make_model():
    torch.manual_seed(0)
    m = SuperNet().eval()
    with torch.no_grad():
        m.head.weight.mul_(4)
    return m

def make_inputs():
    g = torch.Generator().manual_seed(0)
    a, b = torch.randn(1, 3, 8, 8, generator=g), torch.randn(2, 3, 12, 12, generator=g)
    return [(a, 1e6), (a, 3e4), (b, 2e5, 0.9), (b, 1e5, 0.25), (a, 10.0)]
