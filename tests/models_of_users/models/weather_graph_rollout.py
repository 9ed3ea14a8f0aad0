"""Autoregressive weather rollout on an icosphere-like mesh: multi-mesh message passing, variable registry with units, blow-up detection, ensemble pruning, lead-time dependent adapters."""
from __future__ import annotations
import math
import warnings
from collections import ChainMap, defaultdict
from contextlib import nullcontext
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Iterable, Mapping
import torch
import torch.nn as nn
from torch import Tensor


@dataclass(frozen=True)
class Variable:
    name: str
    mean: float
    std: float
    positive: bool = False
    limits: tuple[float, float] = (-math.inf, math.inf)


REGISTRY: Mapping[str, Variable] = MappingProxyType({
    v.name: v for v in (Variable("t2m", 280.0, 15.0, limits=(150.0, 350.0)), Variable("q", 0.005, 0.004, positive=True), Variable("u10", 0.0, 8.0), Variable("tp", 1.0, 2.0, positive=True))
})


class Blowup(ArithmeticError):
    def __init__(self, variable: str, step: int, value: float):
        self.variable, self.step, self.value = variable, step, value
        super().__init__(f"{variable} reached {value:.1f} at step {step}")


def ring_edges(n: int, hops: Iterable[int]) -> Tensor:
    pairs = sorted({(i, (i + s * h) % n) for i in range(n) for h in hops for s in (-1, 1) if n > 1})
    return torch.tensor(pairs, dtype=torch.long).T if pairs else torch.zeros(2, 0, dtype=torch.long)


class Interaction(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.edge = nn.Sequential(nn.Linear(2 * dim + 1, dim), nn.SiLU(), nn.Linear(dim, dim))
        self.node = nn.Sequential(nn.Linear(2 * dim, dim), nn.SiLU(), nn.Linear(dim, dim))
        self.norm = nn.LayerNorm(dim)

    def forward(self, h, edges, length):
        src, dst = edges
        m = self.edge(torch.cat([h[:, src], h[:, dst], length.expand(h.shape[0], -1, 1)], -1))
        agg = torch.zeros_like(h).index_add(1, dst, m)
        deg = torch.zeros(h.shape[1]).scatter_add(0, dst, torch.ones(len(dst))).clamp(min=1)
        return h + self.norm(self.node(torch.cat([h, agg / deg[:, None]], -1)))


class Forecaster(nn.Module):
    def __init__(self, names=("t2m", "q", "u10"), dim=12, history=2):
        super().__init__()
        self.vars = [REGISTRY[n] for n in names]
        self.history = history
        self.register_buffer("mean", torch.tensor([v.mean for v in self.vars]))
        self.register_buffer("std", torch.tensor([v.std for v in self.vars]))
        self.encode = nn.Linear(history * len(names) + 2, dim)
        self.fine, self.coarse = Interaction(dim), Interaction(dim)
        self.adapters = nn.ModuleDict({"short": nn.Identity(), "medium": nn.Linear(dim, dim), "long": nn.Sequential(nn.Linear(dim, dim), nn.Tanh())})
        self.decode = nn.Linear(dim, len(names))
        defaults = {"clip": True, "prune": 4.0, "members": 3}
        self.options = ChainMap({}, defaults)

    def horizon(self, step: int) -> str:
        return "short" if step < 2 else "medium" if step < 4 else "long"

    def tendency(self, states: list[Tensor], forcing: Tensor, step: int):
        n = states[-1].shape[1]
        x = torch.cat([(s - self.mean) / self.std for s in states[-self.history:]], -1)
        f = forcing[step % len(forcing)].view(1, 1, -1).expand(x.shape[0], n, -1)
        h = self.encode(torch.cat([x, f], -1))
        for block, hops in ((self.fine, (1,)), (self.coarse, (2, 3))):
            e = ring_edges(n, [k for k in hops if k < n])
            if e.shape[1] == 0:
                continue
            d = (e[0] - e[1]).abs()
            length = torch.minimum(d, n - d).float()[None, :, None] / n
            h = block(h, e, length)
        h = self.adapters[self.horizon(step)](h)
        return self.decode(h) * self.std * 0.3

    def constrain(self, state: Tensor, step: int) -> Tensor:
        columns = []
        for i, v in enumerate(self.vars):
            c = state[..., i]
            if not torch.isfinite(c).all() or c.abs().max() > 100 * abs(v.mean) + 100 * v.std:
                raise Blowup(v.name, step, float(torch.nan_to_num(c).abs().max()))
            if v.positive:
                c = c.clamp(min=0)
            lo, hi = v.limits
            if math.isfinite(lo) and self.options["clip"]:
                c = c.clamp(lo, hi)
            columns.append(c)
        return torch.stack(columns, dim=-1)

    def forward(self, initial: Tensor, forcing: Tensor, noise: Tensor, steps: int = 5, on_blowup: str = "stop"):
        """initial: (history, nodes, vars); noise: (members, nodes, vars)"""
        if initial.shape[0] < self.history:
            raise ValueError(f"{self.history} time levels are needed, {initial.shape[0]} given")
        members = [s.unsqueeze(0) + 0.1 * noise * self.std for s in initial]
        alive = torch.arange(noise.shape[0])
        log = defaultdict(list)
        with torch.no_grad() if not self.training else nullcontext():
            for step in range(steps):
                try:
                    new = self.constrain(members[-1] + self.tendency(members, forcing, step), step)
                except Blowup as e:
                    log[e.variable].append((e.step, round(e.value, 1)))
                    if on_blowup == "raise":
                        raise
                    if on_blowup == "stop":
                        break
                    members.append(members[-1].clone())
                    continue
                members.append(new)
                spread = ((new - new.mean(0)) / self.std).pow(2).mean((1, 2)).sqrt()
                keep = spread <= self.options["prune"] * spread.median().clamp(min=1e-6)
                if not keep.all() and keep.sum() >= 2:
                    members = [m[keep] for m in members]
                    alive = alive[keep]
                    log["pruned"].append((step, float((~keep).sum())))
        mean = torch.stack([m.mean(0) for m in members[self.history:]]) if len(members) > self.history else initial[-1:]
        summary = {v.name: mean[-1, :, i].mean() for i, v in enumerate(self.vars)}
        return mean, alive, summary, {k: log[k] for k in sorted(log)}


def make_model():
    torch.manual_seed(30)
    return Forecaster().eval()


def make_inputs():
    g = torch.Generator().manual_seed(3)
    mean, std = torch.tensor([280.0, 0.005, 0.0]), torch.tensor([15.0, 0.004, 8.0])

    def case(n, members, t=2, scale=1.0):
        return (mean + std * torch.randn(t, n, 3, generator=g) * scale, torch.randn(4, 2, generator=g), torch.randn(members, n, 3, generator=g))
    wild = case(5, 4)
    wild[2][0] *= 200
    return [case(6, 3), (*case(4, 2), 3), (*case(1, 2), 4), case(3, 2, t=1), (*case(5, 3, scale=500.0), 4, "hold"), (*case(5, 3, scale=9000.0), 4, "raise"), (*wild, 6), (*case(2, 1, scale=9000.0), 2)]
