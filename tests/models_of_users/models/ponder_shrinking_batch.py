"""Universal transformer that shrinks its batch as samples halt; a config dataclass; match on the halting kind."""
from __future__ import annotations
from dataclasses import dataclass, replace
from enum import Enum, auto
import torch
import torch.nn as nn


class Halting(Enum):
    NEVER = auto()
    CONFIDENCE = auto()
    BUDGET = auto()


@dataclass(frozen=True)
class Config:
    width: int = 16
    heads: int = 4
    max_steps: int = 6
    threshold: float = 0.9
    halting: Halting = Halting.CONFIDENCE

    def with_steps(self, n: int) -> Config:
        return replace(self, max_steps=n)


class HaltError(RuntimeError):
    def __init__(self, step: int, left: int):
        super().__init__(f"{left} samples left after step {step}")
        self.step = step
        self.left = left


class Block(nn.Module):
    def __init__(self, cfg: Config):
        super().__init__()
        self.qkv = nn.Linear(cfg.width, 3 * cfg.width)
        self.proj = nn.Linear(cfg.width, cfg.width)
        self.n1, self.n2 = nn.LayerNorm(cfg.width), nn.LayerNorm(cfg.width)
        self.mlp = nn.Sequential(nn.Linear(cfg.width, 32), nn.SiLU(), nn.Linear(32, cfg.width))
        self.heads = cfg.heads

    def forward(self, x, lengths):
        b, t, c = x.shape
        q, k, v = self.qkv(self.n1(x)).chunk(3, dim=-1)
        q, k, v = (z.view(b, t, self.heads, -1).transpose(1, 2) for z in (q, k, v))
        mask = (torch.arange(t)[None] < lengths[:, None])[:, None, None]
        y = nn.functional.scaled_dot_product_attention(q, k, v, attn_mask=mask)
        x = x + self.proj(y.transpose(1, 2).reshape(b, t, c))
        return x + self.mlp(self.n2(x))


class Ponder(nn.Module):
    def __init__(self, cfg: Config | None = None):
        super().__init__()
        self.cfg = cfg or Config()
        self.block = Block(self.cfg)
        self.halt = nn.Linear(self.cfg.width, 1)
        self.step_emb = nn.Embedding(16, self.cfg.width)
        self.register_buffer("spent", torch.zeros(1, dtype=torch.long))

    def _stop(self, kind: Halting, halted: torch.Tensor, step: int, budget: int) -> torch.Tensor:
        match kind:
            case Halting.NEVER:
                return torch.zeros_like(halted, dtype=torch.bool)
            case Halting.CONFIDENCE:
                return halted > self.cfg.threshold
            case Halting.BUDGET if step >= budget:
                return torch.ones_like(halted, dtype=torch.bool)
            case Halting.BUDGET:
                return halted > 2.0
            case _:
                raise NotImplementedError(kind)

    def forward(self, x: torch.Tensor, lengths: torch.Tensor, kind: str = "confidence", steps: int | None = None, strict: bool = False):
        try:
            halting = Halting[kind.upper()]
        except KeyError as e:
            raise ValueError(f"unknown halting {kind!r}, one of {[h.name.lower() for h in Halting]}") from e
        cfg = self.cfg if steps is None else self.cfg.with_steps(steps)
        b = x.size(0)
        alive = torch.arange(b)
        total = torch.zeros(b)
        out = torch.zeros_like(x)
        counts = torch.zeros(b, dtype=torch.int32)
        h, lens = x, lengths
        step = 0
        while alive.numel() and (step := step + 1) <= cfg.max_steps:
            h = self.block(h + self.step_emb.weight[step - 1], lens)
            valid = torch.arange(h.shape[1])[None] < lens[:, None]
            pooled = (h * valid[..., None]).sum(1) / lens[:, None].clamp(min=1)
            p = torch.sigmoid(self.halt(pooled)).squeeze(-1)
            total[alive] += (1 - total[alive]) * p
            counts[alive] += 1
            stop = self._stop(halting, total[alive], step, budget=2)
            if stop.any():
                out[alive[stop]] = h[stop]
                h, lens, alive = h[~stop], lens[~stop], alive[~stop]
                longest = int(lens.max()) if len(lens) else 0
                if 0 < longest < h.shape[1]:
                    h = torch.cat([h[:, :longest], h.new_zeros(h.shape[0], h.shape[1] - longest, h.shape[2])], 1)
        self.spent += counts.sum()
        if alive.numel() > 0:
            if strict:
                raise HaltError(step - 1, alive.numel())
            out[alive] = h
        steps_by_sample = {int(i): c for i, c in enumerate(counts.tolist()) if c > 1}
        return out, steps_by_sample, self.spent.clone()


STATEFUL = True


def make_model():
    torch.manual_seed(7)
    return Ponder().eval()


def make_inputs():
    g = torch.Generator().manual_seed(8)
    x = lambda b, t: torch.randn(b, t, 16, generator=g)
    t = torch.tensor
    return [
        (x(3, 5), t([5, 3, 1])),
        (x(2, 4), t([4, 2]), "budget"),
        (x(2, 4), t([4, 2]), "never", 2),
        (x(4, 6), t([6, 6, 2, 3]), "confidence", 3),
        (x(2, 4), t([4, 2]), "sometimes"),
        (x(2, 3), t([3, 3]), "never", 1, True),
        (x(0, 3), t([], dtype=torch.long)),
    ]
