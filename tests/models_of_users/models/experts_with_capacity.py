"""Switch transformer layer: top-1 routing with capacity, dropped tokens, jitter off in eval, load statistics, expert skip."""
import math
import torch
import torch.nn as nn
import torch.nn.functional as F
from typing import Optional, Sequence

class Expert(nn.Module):
    def __init__(self, d, f, act="relu"):
        super().__init__()
        self.wi, self.wo = nn.Linear(d, f), nn.Linear(f, d)
        self.act = {"relu": F.relu, "gelu": F.gelu}[act]
    def forward(self, x):
        return self.wo(self.act(self.wi(x)))

class Switch(nn.Module):
    def __init__(self, d=8, n=4, capacity_factor=1.0, drop="passthrough"):
        super().__init__()
        self.gate = nn.Linear(d, n, bias=False)
        self.experts = nn.ModuleDict({f"expert_{i}": Expert(d, 16, "gelu" if i % 2 else "relu") for i in range(n)})
        self.n, self.cf, self.drop = n, capacity_factor, drop
        self.eps = 0.1
    def forward(self, x, mask: Optional[torch.Tensor] = None):
        shape = x.shape
        flat = x.reshape(-1, shape[-1])
        keep = mask.reshape(-1) if mask is not None else flat.new_ones(flat.shape[0], dtype=torch.bool)
        logits = self.gate(flat)
        if self.training:
            logits = logits * (1 + self.eps * (torch.rand_like(logits) - 0.5))
        probs = logits.softmax(-1)
        top, idx = probs.max(-1)
        idx = torch.where(keep, idx, torch.tensor(-1))
        capacity = math.ceil(self.cf * int(keep.sum()) / self.n)
        out = torch.zeros_like(flat) if self.drop == "zero" else flat.clone()
        load, dropped = [], 0
        for i, (name, expert) in enumerate(self.experts.items()):
            where = (idx == i).nonzero(as_tuple=True)[0]
            load.append(len(where))
            if not len(where):
                continue
            if len(where) > capacity:
                order = top[where].argsort(descending=True)
                dropped += len(where) - capacity
                where = where[order[:capacity]]
            out[where] = expert(flat[where]) * top[where].unsqueeze(-1)
        f = torch.tensor(load, dtype=torch.float) / max(1, sum(load))
        aux = self.n * (f * probs[keep].mean(0)).sum() if keep.any() else torch.zeros(())
        return out.view(*shape), aux, load, dropped

class Stack(nn.Module):
    def __init__(self, layers=3):
        super().__init__()
        self.layers = nn.ModuleList([Switch(capacity_factor=c) for c in (1.0, 1.5, 0.5)[:layers]])
        self.norm = nn.LayerNorm(8)
        self.stop_at = 0.02
    def forward(self, x, mask=None):
        total, stats = 0.0, []
        for depth, layer in enumerate(self.layers):
            y, aux, load, dropped = layer(self.norm(x), mask)
            delta = (y - x).abs().mean() / x.abs().mean().clamp(min=1e-6)
            x = x + 0.5 * y
            total = total + aux
            stats.append({"load": load, "dropped": dropped, "busiest": load.index(max(load))})
            if delta < self.stop_at:
                break
        return x, total, stats, depth + 1, max(s["dropped"] for s in stats)

def make_model():
    torch.manual_seed(0)
    return Stack().eval()

def make_inputs():
    g = torch.Generator().manual_seed(0)
    r = lambda *s: torch.randn(*s, generator=g)
    m = torch.tensor([[1, 1, 0], [1, 0, 0]]).bool()
    return [(r(2, 5, 8),), (r(1, 1, 8),), (r(2, 3, 8), m), (r(2, 3, 8), torch.zeros(2, 3, dtype=torch.bool)), (r(3, 7, 8) * 100,)]
