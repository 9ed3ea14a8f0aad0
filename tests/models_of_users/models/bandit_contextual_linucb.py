"""Recommender: LinUCB over arms that come and go; per-arm statistics in a dict of objects, Sherman-Morrison updates, arms retired by a rule, ties broken by an order of sets."""
from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Iterable

import torch
from torch import Tensor, nn


@dataclass
class Arm:
    dim: int
    ridge: float = 1.0
    pulls: int = 0
    total: float = 0.0
    a_inv: Tensor = field(init=False)
    b: Tensor = field(init=False)

    def __post_init__(self) -> None:
        self.a_inv = torch.eye(self.dim) / self.ridge
        self.b = torch.zeros(self.dim)

    @property
    def theta(self) -> Tensor:
        return self.a_inv @ self.b

    def ucb(self, x: Tensor, alpha: float) -> float:
        width = torch.sqrt(x @ self.a_inv @ x).item()
        return (self.theta @ x).item() + alpha * width

    def learn(self, x: Tensor, reward: float) -> None:
        ax = self.a_inv @ x
        self.a_inv = self.a_inv - torch.outer(ax, ax) / (1 + x @ ax)
        self.b = self.b + reward * x
        self.pulls += 1
        self.total += reward

    def __repr__(self) -> str:
        return f"Arm({self.pulls}, {self.total:.1f})"


class Bandit(nn.Module):
    def __init__(self, features: int = 6, dim: int = 4, alpha: float = 0.6):
        super().__init__()
        self.encode = nn.Sequential(nn.Linear(features, dim), nn.Tanh())
        self.dim, self.alpha = dim, alpha

    def eligible(self, arms: dict[int, Arm], offered: Iterable[int], banned: set[int]) -> set[int]:
        out = {a for a in offered if a not in banned}
        weak = {a for a, arm in arms.items() if arm.pulls >= 3 and arm.total / arm.pulls < 0.2}
        return out - weak or out

    def decide(self, arms: dict[int, Arm], x: Tensor, options: set[int]) -> tuple[int, float]:
        best, best_value = -1, -math.inf
        for a in options:
            arm = arms.setdefault(a, Arm(self.dim))
            value = arm.ucb(x, self.alpha)
            if value > best_value + 1e-6:
                best, best_value = a, value
        return best, best_value

    @torch.no_grad()
    def forward(self, contexts: Tensor, offers: list[list[int]], rewards: Tensor, budget: int = 10):
        arms: dict[int, Arm] = {}
        banned: set[int] = set()
        history: list[tuple[int, float]] = []
        regret = 0.0
        for t, (raw, offer) in enumerate(zip(contexts, offers)):
            if t >= budget:
                break
            options = self.eligible(arms, offer, banned)
            if not options:
                history.append((-1, 0.0))
                continue
            x = self.encode(raw)
            arm, value = self.decide(arms, x, options)
            r = rewards[t, arm].item()
            if r < -1:
                banned.add(arm)
                arms.pop(arm, None)
            else:
                arms[arm].learn(x, r)
            regret += rewards[t, list(options)].max().item() - r
            history.append((arm, round(value, 4)))
        ranking = sorted(arms, key=lambda a: (-arms[a].total, a))
        thetas = torch.stack([arms[a].theta for a in ranking]) if ranking else torch.zeros(0, self.dim)
        return {"history": history, "ranking": ranking, "banned": sorted(banned), "regret": regret, "thetas": thetas,
                "text": ", ".join(f"{a}:{arms[a]!r}" for a in ranking)}


def make_model():
    torch.manual_seed(31)
    return Bandit().eval()


def make_inputs():
    g = torch.Generator().manual_seed(0)
    ctx = lambda n: torch.randn(n, 6, generator=g)
    rew = lambda n: torch.rand(n, 20, generator=g)
    low = rew(8)
    low[2:4] = -2.0
    return [
        (ctx(9), [[0, 1, 2], [1, 2, 3], [0, 3], [2], [0, 1, 2, 3], [9, 17, 1], [17, 1], [1, 2], [3]], rew(9)),
        (ctx(8), [[5, 6], [5, 6, 13], [13, 5], [6, 13, 5], [5], [5, 6], [], [19, 3, 11]], low),
        (ctx(6), [[1]] * 6, rew(6) * 0.1, 5),
        (torch.zeros(0, 6), [], torch.zeros(0, 20)),
    ]
