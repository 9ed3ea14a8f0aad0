"""Mixture-of-depths with per-layer KV cache and early confidence exit (CALM); skipped tokens propagate states; config from a dict."""
from __future__ import annotations
import dataclasses as dc
import math
from typing import Any, Callable, Literal, Mapping, TypeVar
import torch
import torch.nn as nn
import torch.nn.functional as F

T = TypeVar("T")
Measure = Literal["softmax", "state", "meta"]


@dc.dataclass(frozen=True)
class Config:
    vocab: int = 20
    dim: int = 16
    heads: int = 2
    layers: int = 4
    capacity: float = 0.5
    routed: tuple[int, ...] = (1, 3)
    measure: Measure = "softmax"

    @classmethod
    def from_dict(cls, d: Mapping[str, Any]) -> Config:
        known = {f.name for f in dc.fields(cls)}
        unknown = set(d) - known
        if unknown:
            raise TypeError(f"unknown options: {sorted(unknown)}")
        return cls(**d)


class KVCache:
    def __init__(self, layers: int):
        self.keys: list[torch.Tensor | None] = [None] * layers
        self.values: list[torch.Tensor | None] = [None] * layers
        self.positions: list[list[int]] = [[] for _ in range(layers)]

    def update(self, layer: int, k: torch.Tensor, v: torch.Tensor, pos: list[int]):
        if (old := self.keys[layer]) is not None:
            k = torch.cat([old, k], dim=1)
            v = torch.cat([self.values[layer], v], dim=1)
        self.keys[layer], self.values[layer] = k, v
        self.positions[layer] += pos
        return k, v, torch.tensor(self.positions[layer])

    def length(self, layer: int = 0) -> int:
        k = self.keys[layer]
        return k.shape[1] if k is not None else 0


class Layer(nn.Module):
    def __init__(self, cfg: Config, idx: int):
        super().__init__()
        self.idx, self.cfg = idx, cfg
        self.qkv = nn.Linear(cfg.dim, 3 * cfg.dim)
        self.o = nn.Linear(cfg.dim, cfg.dim)
        self.ff = nn.Sequential(nn.LayerNorm(cfg.dim), nn.Linear(cfg.dim, 4 * cfg.dim), nn.GELU(approximate="tanh"), nn.Linear(4 * cfg.dim, cfg.dim))
        self.ln = nn.LayerNorm(cfg.dim)
        self.router = nn.Linear(cfg.dim, 1) if idx in cfg.routed else None

    def split(self, x):
        return x.unflatten(-1, (self.cfg.heads, -1)).transpose(0, 1)

    def attend(self, x, pos, cache):
        q, k, v = map(self.split, self.qkv(self.ln(x)).chunk(3, -1))
        k, v, kpos = cache.update(self.idx, k, v, pos)
        visible = kpos[None, :] <= torch.tensor(pos)[:, None]
        y = F.scaled_dot_product_attention(q, k, v, attn_mask=visible)
        x = x + self.o(y.transpose(0, 1).flatten(-2))
        return x + self.ff(x)

    def forward(self, x, pos, cache):
        if self.router is None:
            return self.attend(x, pos, cache), len(pos)
        score = self.router(x).squeeze(-1)
        if len(pos) == 1:
            chosen = [0] if score[0] > 0 else []
        else:
            k = max(1, math.ceil(self.cfg.capacity * len(pos)))
            chosen = score.topk(k).indices.sort().values.tolist()
        if not chosen:
            return x, 0
        idx = torch.tensor(chosen)
        y = self.attend(x[idx], [pos[i] for i in chosen], cache)
        return x.index_copy(0, idx, x[idx] + (y - x[idx]) * torch.sigmoid(score[idx]).unsqueeze(-1)), len(chosen)


class CALM(nn.Module):
    def __init__(self, cfg: Config):
        super().__init__()
        self.cfg = cfg
        self.emb = nn.Embedding(cfg.vocab, cfg.dim)
        self.pos = nn.Embedding(64, cfg.dim)
        self.layers = nn.ModuleList(Layer(cfg, i) for i in range(cfg.layers))
        self.norm = nn.LayerNorm(cfg.dim)
        self.meta = nn.Linear(cfg.dim, 1)
        self.measures: dict[str, Callable] = {"softmax": self._softmax_gap, "state": self._similarity, "meta": self._meta}

    def _softmax_gap(self, h, before):
        a, b = (self.norm(h) @ self.emb.weight.t()).softmax(-1).topk(2).values
        return a - b

    def _similarity(self, h, before):
        return F.cosine_similarity(h, before, dim=0)

    def _meta(self, h, before):
        return self.meta(h).sigmoid()[0]

    def threshold(self, step: int, base: float, decay: float, total: int) -> float:
        return min(1.0, max(0.0, 0.9 * base + 0.1 * math.exp(-decay * step / total)))

    def run(self, ids, pos, cache, limit=None):
        x = self.emb(ids) + self.pos(torch.tensor(pos))
        work = 0
        for depth, layer in enumerate(self.layers, 1):
            before = x[-1]
            x, n = layer(x, pos, cache)
            work += n
            if limit is not None and len(pos) == 1 and depth < len(self.layers):
                if self.measures[self.cfg.measure](x[-1], before) >= limit:
                    for rest in self.layers[depth:]:
                        q, k, v = map(rest.split, rest.qkv(rest.ln(x)).chunk(3, -1))
                        cache.update(rest.idx, k, v, pos)
                    break
        return self.norm(x[-1]) @ self.emb.weight.t(), depth, work

    @torch.no_grad()
    def forward(self, prompt: torch.Tensor, new: int = 8, base: float = 0.6, decay: float = 4.0, banned: list[int] | None = None):
        cache = KVCache(len(self.layers))
        logits, depth, work = self.run(prompt, list(range(prompt.numel())), cache)
        out, depths = [], []
        for step in range(new):
            if banned:
                logits = logits.index_fill(0, torch.tensor(banned), -math.inf)
            if out and len(out) >= 3 and out[-1] == out[-2] == out[-3]:
                logits[out[-1]] = -math.inf
            token = logits.argmax()
            out.append(token.item())
            if token == 0:
                break
            limit = self.threshold(step, base, decay, new)
            logits, depth, n = self.run(token.view(1), [prompt.numel() + step], cache, limit)
            depths.append(depth)
            work += n
        mean = sum(depths) / len(depths) if depths else float("nan")
        return out, depths, work, [cache.length(i) for i in range(len(self.layers))], "n/a" if math.isnan(mean) else f"{mean:.2f}"


def make_model():
    torch.manual_seed(4)
    return CALM(Config.from_dict({"measure": "state", "capacity": 0.4})).eval()


def make_inputs():
    g = torch.Generator().manual_seed(1)
    p = lambda n: torch.randint(1, 20, (n,), generator=g)
    return [(p(5),), (p(1), 6, 0.95), (p(9), 10, 0.99, 1.0, [3, 7, 11]), (p(4), 0), (p(3), 12, 1.1, 0.0, []), (p(2), 9, 0.97)]
