"""LLM attention with heavy-hitter eviction: each layer owns a cache object, generation stops on stop sequences or entropy."""
from __future__ import annotations
import math
from abc import ABC, abstractmethod
from typing import ClassVar, Iterator, Sequence
import torch
from torch import nn
from torch.nn import functional as F


class StopReason:
    LENGTH = "length"
    STOP = "stop_sequence"
    UNSURE = "entropy"


class Cache(ABC):
    kind: ClassVar[str] = "abstract"

    def __init__(self, budget: int):
        self.budget = budget
        self.k: torch.Tensor | None = None
        self.v: torch.Tensor | None = None
        self.evicted = 0

    def __len__(self):
        return 0 if self.k is None else self.k.shape[-2]

    def append(self, k, v):
        if self.k is None:
            self.k, self.v = k, v
        else:
            self.k = torch.cat((self.k, k), dim=-2)
            self.v = torch.cat((self.v, v), dim=-2)
        return self.k, self.v

    def drop(self, keep: torch.Tensor):
        before = len(self)
        self.k = self.k[..., keep, :]
        self.v = self.v[..., keep, :]
        self.evicted += before - len(self)

    @abstractmethod
    def observe(self, attn: torch.Tensor) -> None: ...


class SinkCache(Cache):
    kind = "sink"

    def __init__(self, budget, sinks=2):
        super().__init__(budget)
        self.sinks = sinks

    def observe(self, attn):
        n = len(self)
        if n <= self.budget:
            return
        recent = self.budget - self.sinks
        self.drop(torch.cat([torch.arange(self.sinks), torch.arange(n - recent, n)]))


class HeavyHitterCache(Cache):
    kind = "h2o"

    def __init__(self, budget, recent=3):
        super().__init__(budget)
        self.recent = recent
        self.score = torch.zeros(0)

    def observe(self, attn):
        fresh = attn.sum(dim=(0, 1))
        pad = fresh.shape[0] - self.score.shape[0]
        self.score = F.pad(self.score, (0, pad)) + fresh
        n = len(self)
        if n > self.budget:
            heavy = self.score[: n - self.recent].topk(self.budget - self.recent).indices.sort().values
            keep = torch.cat([heavy, torch.arange(n - self.recent, n)])
            self.drop(keep)
            self.score = self.score[keep]


CACHES = {c.kind: c for c in (SinkCache, HeavyHitterCache)}


def rotate_half(x):
    x1, x2 = x.chunk(2, dim=-1)
    return torch.cat((-x2, x1), dim=-1)


class RotaryEmbedding(nn.Module):
    def __init__(self, dim, base=10000.0):
        super().__init__()
        self.register_buffer("inv_freq", 1.0 / (base ** (torch.arange(0, dim, 2).float() / dim)), persistent=False)

    def forward(self, x, position_ids):
        freqs = torch.outer(position_ids.float(), self.inv_freq)
        emb = torch.cat((freqs, freqs), dim=-1)
        return x * emb.cos() + rotate_half(x) * emb.sin()


class Block(nn.Module):
    def __init__(self, dim, heads, rope):
        super().__init__()
        self.heads, self.hd = heads, dim // heads
        self.ln1, self.ln2 = nn.RMSNorm(dim), nn.RMSNorm(dim)
        self.wqkv = nn.Linear(dim, 3 * dim, bias=False)
        self.wo = nn.Linear(dim, dim, bias=False)
        self.gate, self.up, self.down = nn.Linear(dim, 2 * dim), nn.Linear(dim, 2 * dim), nn.Linear(2 * dim, dim)
        self.rope = rope

    def forward(self, x, pos, cache: Cache):
        T = x.shape[0]
        q, k, v = (t.view(T, self.heads, self.hd).transpose(0, 1) for t in self.wqkv(self.ln1(x)).chunk(3, dim=-1))
        q, k = self.rope(q, pos), self.rope(k, pos)
        k, v = cache.append(k, v)
        scores = q @ k.mT / math.sqrt(self.hd)
        if T > 1:
            S = k.shape[-2]
            mask = torch.ones(T, S, dtype=torch.bool).triu(S - T + 1)
            scores.masked_fill_(mask, torch.finfo(scores.dtype).min)
        attn = scores.softmax(-1)
        cache.observe(attn)
        x = x + self.wo((attn @ v).transpose(0, 1).flatten(1))
        h = self.ln2(x)
        return x + self.down(F.silu(self.gate(h)) * self.up(h))


class Generator(nn.Module):
    def __init__(self, vocab=16, dim=16, heads=2, depth=2):
        super().__init__()
        self.emb = nn.Embedding(vocab, dim)
        rope = RotaryEmbedding(dim // heads)
        self.blocks = nn.ModuleList([Block(dim, heads, rope) for _ in range(depth)])
        self.norm = nn.RMSNorm(dim)
        self.vocab = vocab

    def logits(self, ids, pos, caches):
        x = self.emb(ids)
        for block, cache in zip(self.blocks, caches, strict=True):
            x = block(x, pos, cache)
        return self.norm(x[-1]) @ self.emb.weight.T

    def stream(self, prompt: torch.Tensor, caches: Sequence[Cache], limit: int) -> Iterator[tuple[int, float]]:
        ids, start = prompt, 0
        for _ in range(limit):
            pos = torch.arange(start, start + ids.numel())
            p = self.logits(ids, pos, caches).softmax(-1)
            entropy = torch.special.entr(p).sum().item()
            token = int(p.argmax())
            yield token, entropy
            start += ids.numel()
            ids = torch.tensor([token])

    @torch.no_grad()
    def forward(self, prompt, kind: str = "h2o", budget: int = 6, stop: list[list[int]] | None = None, limit: int = 12, max_entropy: float = 10.0):
        if kind not in CACHES:
            raise KeyError(f"unknown cache {kind!r}, expected one of {sorted(CACHES)}")
        caches = [CACHES[kind](budget) for _ in self.blocks]
        out: list[int] = []
        reason = StopReason.LENGTH
        entropies = []
        for token, h in self.stream(prompt, caches, limit):
            if h > max_entropy:
                reason = StopReason.UNSURE
                break
            out.append(token)
            entropies.append(round(h, 3))
            if stop and any(out[-len(s):] == s for s in stop):
                reason = StopReason.STOP
                break
        return {"tokens": out, "reason": reason, "entropies": entropies, "sizes": [len(c) for c in caches], "evicted": sum(c.evicted for c in caches)}


def make_model():
    torch.manual_seed(1)
    m = Generator()
    nn.init.normal_(m.emb.weight, std=0.5)
    return m.eval()


def make_inputs():
    g = torch.Generator().manual_seed(0)
    p = lambda n: torch.randint(0, 16, (n,), generator=g)
    return [(p(4),), (p(9), "sink"), (p(2), "h2o", 5, [[3], [1, 1]], 20), (p(3), "sink", 4, [[7, 7], [12, 12]], 15, 2.6), (p(1), "lru"), (p(5), "h2o", 8, None, 10, 0.18), (p(1), "sink", 6, [], 3)]
