import torch
import torch.nn as nn
import torch.nn.functional as F
from collections import OrderedDict
from typing import Dict, List, Optional, Tuple


class Exit(nn.Module):
    def __init__(self, dim, classes, hidden=None):
        super().__init__()
        layers = OrderedDict()
        if hidden:
            layers["fc"] = nn.Linear(dim, hidden)
            layers["act"] = nn.GELU()
        layers["out"] = nn.Linear(hidden or dim, classes)
        self.net = nn.Sequential(layers)

    def forward(self, x):
        logits = self.net(x.mean(dim=(-2, -1)))
        p = logits.softmax(-1)
        entropy = -(p * p.clamp_min(1e-9).log()).sum(-1)
        return logits, entropy


class Model(nn.Module):
    """Every sample of the batch leaves at its own exit."""

    names = ("early", "mid", "late")

    def __init__(self, classes=4, dim=8, thresholds=(0.9, 1.1, None)):
        super().__init__()
        self.stem = nn.Conv2d(3, dim, 3, stride=2, padding=1)
        self.stages = nn.ModuleDict()
        self.exits = nn.ModuleDict()
        for i, n in enumerate(self.names):
            self.stages[n] = nn.Sequential(nn.Conv2d(dim, dim, 3, padding=1), nn.GroupNorm(2, dim), nn.SiLU())
            self.exits[n] = Exit(dim, classes, hidden=6 if i else None)
        self.thresholds: Dict[str, Optional[float]] = dict(zip(self.names, thresholds))
        self.register_buffer("left", torch.zeros(len(self.names), dtype=torch.long))

    def forward(self, x: torch.Tensor, budget: Optional[Dict[str, int]] = None, verbose: bool = False):
        b = x.size(0)
        out = x.new_full((b, 4), float("nan"))
        where = torch.full((b,), -1, dtype=torch.long)
        alive = torch.arange(b)
        h = self.stem(x)
        trail: List[Tuple[str, int]] = []
        for i, (name, stage) in enumerate(self.stages.items()):
            if alive.numel() == 0:
                break
            h = h + stage(h)
            logits, entropy = self.exits[name](h)
            limit = self.thresholds[name]
            done = torch.ones_like(entropy, dtype=torch.bool) if limit is None else entropy < limit
            cap = (budget or {}).get(name)
            if cap is not None and (n_done := int(done.sum())) > cap:
                order = entropy.masked_fill(~done, float("inf")).argsort()[:cap]
                done = torch.zeros_like(done).index_fill_(0, order, True)
            if not done.any():
                trail.append((name, 0))
                continue
            idx = alive[done]
            out[idx] = logits[done]
            where[idx] = i
            self.left[i] += idx.numel()
            trail.append((name, len(idx)))
            alive, h = alive[~done], h[~done]
        assert not torch.isnan(out).any(), f"{alive.numel()} samples never left"
        if verbose:
            return out, where, [f"{n}:{k}" for n, k in trail if k]
        return out, where


def make_model():
    torch.manual_seed(3)
    return Model().eval()


STATEFUL = True


def make_inputs():
    g = torch.Generator().manual_seed(5)
    r = lambda *s: torch.randn(*s, generator=g)
    return [
        (r(5, 3, 8, 8),),
        (r(6, 3, 8, 8) * 3, {"early": 1, "mid": 2}, True),
        (r(1, 3, 12, 8) * 6,),
        (r(4, 3, 8, 8) * 0.1, {"early": 0}, True),
        (r(7, 3, 8, 8) * 8, None, True),
    ]
