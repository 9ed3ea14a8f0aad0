"""Recommender: slate construction with MMR diversity, category quotas, business rules as a chain of filter objects, fatigue counters per user between calls."""
from __future__ import annotations

import abc
from collections import Counter, OrderedDict
from dataclasses import dataclass, replace
from typing import Iterable, NamedTuple

import torch
from torch import nn


@dataclass(frozen=True)
class Item:
    uid: int
    category: int
    price: float
    score: float

    def boosted(self, by: float) -> Item:
        return replace(self, score=self.score * (1 + by))


class Context(NamedTuple):
    user: int
    budget: float
    size: int


class Rule(abc.ABC):
    @abc.abstractmethod
    def apply(self, items: list[Item], ctx: Context) -> list[Item]: ...

    def __call__(self, items: list[Item], ctx: Context) -> list[Item]:
        out = self.apply(items, ctx)
        return out if out else items


class MaxPrice(Rule):
    def apply(self, items, ctx):
        return [i for i in items if i.price <= ctx.budget]


class Boost(Rule):
    def __init__(self, category: int, by: float):
        self.category, self.by = category, by

    def apply(self, items, ctx):
        return [i.boosted(self.by) if i.category == self.category else i for i in items]


class Fatigue(Rule):
    def __init__(self, limit: int):
        self.limit = limit
        self.seen: dict[tuple[int, int], int] = {}

    def apply(self, items, ctx):
        return [i for i in items if self.seen.get((ctx.user, i.uid), 0) < self.limit]

    def note(self, ctx: Context, shown: Iterable[Item]) -> None:
        for i in shown:
            key = (ctx.user, i.uid)
            self.seen[key] = self.seen.get(key, 0) + 1


class LRU(OrderedDict):
    pass


class SlateModel(nn.Module):
    def __init__(self, users: int = 5, items: int = 12, dim: int = 6, categories: int = 3):
        super().__init__()
        self.user = nn.Embedding(users, dim)
        self.item = nn.Embedding(items, dim)
        self.bias = nn.Parameter(torch.zeros(items))
        self.register_buffer("category", torch.arange(items) % categories)
        self.register_buffer("price", torch.linspace(1, 20, items))
        self.fatigue = Fatigue(2)
        self.rules: list[Rule] = [MaxPrice(), self.fatigue, Boost(1, 0.3)]
        self.quota = {0: 2, 1: 2, 2: 1}
        self.lam = 0.7

    def candidates(self, u: torch.Tensor, k: int) -> list[Item]:
        s = torch.sigmoid(self.item.weight @ u + self.bias)
        top = torch.topk(s, min(k, s.numel()))
        return [
            Item(i, int(self.category[i]), float(self.price[i]), v)
            for v, i in zip(top.values.tolist(), top.indices.tolist())
        ]

    def similarity(self, a: Item, b: Item) -> float:
        return torch.cosine_similarity(self.item.weight[a.uid], self.item.weight[b.uid], dim=0).item()

    def mmr(self, pool: list[Item], size: int) -> list[Item]:
        slate: list[Item] = []
        used = Counter()
        remaining = {i.uid: i for i in pool}
        while remaining and len(slate) < size:
            best, best_value = None, float("-inf")
            for item in remaining.values():
                if used[item.category] >= self.quota.get(item.category, 1):
                    continue
                redundancy = max((self.similarity(item, s) for s in slate), default=0.0)
                value = self.lam * item.score - (1 - self.lam) * redundancy
                if value > best_value:
                    best, best_value = item, value
            if best is None:
                break
            slate.append(best)
            used[best.category] += 1
            del remaining[best.uid]
        return slate

    @torch.no_grad()
    def forward(self, user: int, budget: float = 15.0, size: int = 4):
        if not 0 <= user < self.user.num_embeddings:
            raise KeyError(f"unknown user {user}")
        ctx = Context(user, budget, size)
        pool = self.candidates(self.user(torch.tensor(user)), k=10)
        for rule in self.rules:
            pool = rule(pool, ctx)
        slate = self.mmr(pool, ctx.size)
        self.fatigue.note(ctx, slate)
        by_cat: dict[int, list[int]] = {}
        for item in slate:
            by_cat.setdefault(item.category, []).append(item.uid)
        cheapest = min(slate, key=lambda i: (i.price, i.uid)) if slate else None
        return {
            "ids": torch.tensor([i.uid for i in slate], dtype=torch.long),
            "scores": torch.tensor([i.score for i in slate]),
            "by_category": by_cat,
            "cheapest": None if cheapest is None else cheapest.uid,
            "total": sum(i.price for i in slate),
            "repeat": max(self.fatigue.seen.values(), default=0),
        }


STATEFUL = True


def make_model():
    torch.manual_seed(3)
    return SlateModel().eval()


def make_inputs():
    return [(0,), (0,), (0, 15.0, 6), (1, 3.0), (1, 0.5, 2), (4, 30.0, 0), (9,), (0, 15.0, 4)]
