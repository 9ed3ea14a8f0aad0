"""Universal transformer with adaptive computation time, autocast, nested optional configs, ponder statistics in state."""
from __future__ import annotations
import dataclasses
import logging
from enum import Enum
from typing import Literal, Optional
import torch
from torch import nn
import torch.nn.functional as F

log = logging.getLogger(__name__)

class Pool(str, Enum):
    MEAN = "mean"
    LAST = "last"
    CLS = "cls"

@dataclasses.dataclass(frozen=True)
class Config:
    d: int = 16
    heads: int = 2
    max_hops: int = 6
    threshold: float = 0.9
    pool: Pool = Pool.MEAN
    act: Literal["relu", "gelu"] = "gelu"

class Block(nn.Module):
    def __init__(self, cfg):
        super().__init__()
        self.cfg = cfg
        self.qkv = nn.Linear(cfg.d, 3 * cfg.d)
        self.proj = nn.Linear(cfg.d, cfg.d)
        self.n1, self.n2 = nn.LayerNorm(cfg.d), nn.LayerNorm(cfg.d)
        self.ff = nn.Sequential(nn.Linear(cfg.d, 2 * cfg.d), getattr(nn, {"relu": "ReLU", "gelu": "GELU"}[cfg.act])(), nn.Linear(2 * cfg.d, cfg.d))
    def forward(self, x, mask: Optional[torch.Tensor] = None):
        b, t, d = x.shape
        q, k, v = self.qkv(self.n1(x)).chunk(3, dim=-1)
        q, k, v = (y.view(b, t, self.cfg.heads, -1).transpose(1, 2) for y in (q, k, v))
        att = F.scaled_dot_product_attention(q, k, v, attn_mask=None if mask is None else mask[:, None, None, :])
        x = x + self.proj(att.transpose(1, 2).reshape(b, t, d))
        return x + self.ff(self.n2(x))

class ACT(nn.Module):
    def __init__(self, cfg: Config = Config()):
        super().__init__()
        self.cfg = cfg
        self.emb = nn.Embedding(30, cfg.d)
        self.block = Block(cfg)
        self.halt = nn.Linear(cfg.d, 1)
        self.step_emb = nn.Parameter(torch.randn(cfg.max_hops, cfg.d) * 0.1)
        self.out = nn.Linear(cfg.d, 4)
        self.register_buffer("hops_total", torch.zeros((), dtype=torch.long))
        self.n_calls = 0

    def forward(self, ids: torch.Tensor, lengths: torch.Tensor | None = None, pool: str | Pool | None = None):
        pool = Pool(pool) if pool is not None else self.cfg.pool
        b, t = ids.shape
        mask = None
        if lengths is not None:
            mask = torch.arange(t)[None] < lengths[:, None]
        x = self.emb(ids)
        halting = x.new_zeros(b, t)
        remainders = torch.zeros_like(halting)
        n_updates = torch.zeros_like(halting)
        prev = torch.zeros_like(x)
        hop = 0
        while ((halting < self.cfg.threshold) & (n_updates < self.cfg.max_hops)).byte().any():
            x = x + self.step_emb[hop]
            p = torch.sigmoid(self.halt(x)).squeeze(-1)
            running = (halting < 1.0).float()
            new_halted = (halting + p * running > self.cfg.threshold).float() * running
            running = (halting + p * running <= self.cfg.threshold).float() * running
            halting = halting + p * running
            remainders = remainders + new_halted * (1 - halting)
            halting = halting + new_halted * remainders
            n_updates = n_updates + running + new_halted
            w = (p * running + new_halted * remainders).unsqueeze(-1)
            with torch.autocast("cpu", enabled=False):
                x = self.block(x, mask)
            prev = x * w + prev * (1 - w)
            hop += 1
            if hop >= self.cfg.max_hops:
                break
        self.hops_total += hop
        self.n_calls += 1
        log.debug("hops %d", hop)
        match pool:
            case Pool.MEAN if mask is not None:
                y = (prev * mask.unsqueeze(-1)).sum(1) / mask.sum(1, keepdim=True)
            case Pool.MEAN:
                y = prev.mean(1)
            case Pool.LAST:
                idx = (lengths - 1) if lengths is not None else torch.full((b,), t - 1)
                y = prev[torch.arange(b), idx]
            case _:
                y = prev[:, 0]
        stats = dict(hops=hop, average=self.hops_total.item() / self.n_calls, ponder=(n_updates + remainders).mean())
        return self.out(y), stats

STATEFUL = True
def make_model():
    torch.manual_seed(5)
    return ACT(dataclasses.replace(Config(), max_hops=5)).eval()

def make_inputs():
    g = torch.Generator().manual_seed(0)
    r = lambda *s: torch.randint(0, 30, s, generator=g)
    return [(r(1, 5),), (r(3, 4), torch.tensor([4, 2, 1])), (r(2, 6), None, "last"), (r(2, 3), torch.tensor([1, 3]), Pool.LAST), (r(1, 7), None, "cls")]
