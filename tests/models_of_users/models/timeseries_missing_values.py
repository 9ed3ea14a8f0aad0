from __future__ import annotations

import math
from abc import ABC, abstractmethod
from typing import Optional

import torch
import torch.nn as nn
import torch.nn.functional as F


class Output(ABC):
    registry: dict[str, type[Output]] = {}

    def __init_subclass__(cls, **kw):
        super().__init_subclass__(**kw)
        Output.registry[cls.__name__.lower()] = cls

    n_params: int

    @abstractmethod
    def mean(self, raw, scale): ...

    @abstractmethod
    def sample(self, raw, scale, u): ...


class Gaussian(Output):
    n_params = 2

    def split(self, raw):
        return raw[..., 0], F.softplus(raw[..., 1]) + 1e-3

    def mean(self, raw, scale):
        return self.split(raw)[0] * scale

    def sample(self, raw, scale, u):
        mu, sd = self.split(raw)
        return (mu + sd * math.sqrt(2) * torch.erfinv(2 * u.clamp(1e-4, 1 - 1e-4) - 1)) * scale


class Laplace(Output):
    n_params = 2

    def mean(self, raw, scale):
        return raw[..., 0] * scale

    def sample(self, raw, scale, u):
        v = u - 0.5
        return (raw[..., 0] - raw[..., 1].exp() * v.sign() * torch.log1p(-2 * v.abs().clamp(max=0.4999))) * scale


class Counts(Output):
    n_params = 1

    def mean(self, raw, scale):
        return F.softplus(raw[..., 0]) * scale

    def sample(self, raw, scale, u):
        rate = self.mean(raw, scale)
        k = torch.zeros_like(rate)
        p = torch.exp(-rate)
        total = p.clone()
        while (u > total).any() and k.max() < 50:
            more = u > total
            k = torch.where(more, k + 1, k)
            p = torch.where(more, p * rate / k.clamp(min=1), p)
            total = torch.where(more, total + p, total)
        return k


class Model(nn.Module):
    def __init__(self, hidden=8, kinds=("gaussian", "laplace", "counts"), lags=(1, 2, 7)):
        super().__init__()
        self.lags = sorted(lags)
        self.outputs = {k: Output.registry[k]() for k in kinds}
        self.cell = nn.LSTMCell(len(lags) + 2, hidden)
        self.heads = nn.ModuleDict({k: nn.Linear(hidden, o.n_params) for k, o in self.outputs.items()})
        self.embed = nn.Embedding(7, 1)

    def _lagged(self, series, t):
        return torch.stack([series[:, t - lag] if t - lag >= 0 else torch.zeros(series.size(0)) for lag in self.lags], -1)

    def forward(self, past: torch.Tensor, observed: Optional[torch.Tensor] = None, horizon: int = 3,
                kind: str = "gaussian", uniforms: Optional[torch.Tensor] = None, start_day: int = 0):
        if kind not in self.outputs:
            raise ValueError(f"kind {kind!r} is none of {', '.join(self.outputs)}")
        out = self.outputs[kind]
        if observed is None:
            observed = torch.ones_like(past, dtype=torch.bool)
        n = observed.sum(1).clamp(min=1)
        scale = (past.abs() * observed).sum(1) / n
        scale = torch.where(scale > 0, scale, torch.ones_like(scale))
        series = past / scale[:, None]
        h = c = torch.zeros(past.size(0), self.cell.hidden_size)
        raw = None
        for t in range(past.size(1)):
            if raw is not None and not bool(observed[:, t].all()):
                guess = out.mean(raw, torch.ones_like(scale))
                series = series.clone()
                series[:, t] = torch.where(observed[:, t], series[:, t], guess)
            day = self.embed(torch.tensor((start_day + t) % 7)).expand(past.size(0), 1)
            x = torch.cat([self._lagged(series, t), day, observed[:, t:t + 1].float()], -1)
            h, c = self.cell(x, (h, c))
            raw = self.heads[kind](h)
        if raw is None:
            raise RuntimeError("no history to start from")
        paths = []
        for s in range(horizon):
            if uniforms is None:
                nxt = out.mean(raw, torch.ones_like(scale))
            else:
                nxt = out.sample(raw, torch.ones_like(scale), uniforms[:, s])
            paths.append(nxt * scale)
            if s == horizon - 1:
                break
            series = torch.cat([series, nxt[:, None]], 1)
            t = series.size(1) - 1
            day = self.embed(torch.tensor((start_day + t) % 7)).expand(past.size(0), 1)
            x = torch.cat([self._lagged(series, t), day, torch.ones(past.size(0), 1)], -1)
            h, c = self.cell(x, (h, c))
            raw = self.heads[kind](h)
        got = torch.stack(paths, 1)
        q = got.quantile(0.5, dim=0) if len(got) > 1 else got[0]
        return {"paths": got, "median": q, "scale": scale, **({"kind": kind} if uniforms is not None else {})}


def make_model():
    torch.manual_seed(0)
    return Model().eval()


def make_inputs():
    g = torch.Generator().manual_seed(1)
    r = lambda *s: torch.rand(*s, generator=g)
    seen = torch.tensor([[True, True, False, True, False], [True, False, False, True, True]])
    return [
        (r(2, 5) * 9,),
        (r(2, 5) - 0.5, seen, 4, "laplace", r(2, 4)),
        (r(3, 8) * 4, None, 2, "counts", r(3, 2), 4),
        (torch.zeros(1, 3), None, 1),
        (r(1, 0), None, 2),
        (r(1, 4), None, 2, "cauchy"),
    ]
