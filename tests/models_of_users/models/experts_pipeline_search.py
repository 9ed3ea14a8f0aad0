"""Conditional computation: a controller decides the list of blocks to run, which are gathered first and run afterwards; skips and repeats by token difficulty."""
import functools
import itertools
from typing import Callable, Dict, Iterable, List, NamedTuple, Optional, Sequence, Tuple, Union

import torch
from torch import Tensor, nn


class Plan(NamedTuple):
    indices: List[int]
    weights: List[float]
    cost: float


def mlp(sizes: Sequence[int], act: Callable[[], nn.Module] = nn.GELU) -> nn.Sequential:
    layers: List[nn.Module] = []
    for a, b in zip(sizes[:-1], sizes[1:]):
        layers += [nn.Linear(a, b), act()]
    return nn.Sequential(*layers[:-1])


class Residual(nn.Module):
    def __init__(self, fn: nn.Module, dim: int, cost: float):
        super().__init__()
        self.fn, self.norm, self.cost = fn, nn.LayerNorm(dim), cost

    def forward(self, x: Tensor, scale: float = 1.0) -> Tensor:
        return x + scale * self.fn(self.norm(x))


class Gated(nn.Module):
    cost = 0.5

    def __init__(self, dim: int):
        super().__init__()
        self.value, self.gate = nn.Linear(dim, dim), nn.Linear(dim, dim)

    def forward(self, x: Tensor, scale: float = 1.0) -> Tensor:
        g = self.gate(x).sigmoid()
        return torch.lerp(x, self.value(x), g * scale)


class Controller(nn.Module):
    def __init__(self, dim: int, n: int):
        super().__init__()
        self.score = nn.Linear(dim, n)

    def forward(self, x: Tensor, budget: float, costs: List[float]) -> Plan:
        probs = self.score(x.mean(0)).softmax(-1)
        order = torch.argsort(probs, descending=True).tolist()
        chosen, spent = [], 0.0
        for i in order:
            if spent + costs[i] > budget:
                continue
            chosen.append(i)
            spent += costs[i]
            if probs[chosen].sum() > 0.8:
                break
        chosen.sort()
        w = probs[chosen] if chosen else probs.new_zeros(0)
        return Plan(chosen, (w / w.sum().clamp_min(1e-6)).tolist(), spent)


class BlockSearch(nn.Module):
    def __init__(self, dim: int = 8, classes: int = 3):
        super().__init__()
        self.blocks = nn.ModuleList(
            [Residual(mlp([dim, 16, dim]), dim, 1.0) for _ in range(2)]
            + [Gated(dim), Residual(nn.Linear(dim, dim), dim, 0.4), Gated(dim)]
        )
        self.controller = Controller(dim, len(self.blocks))
        self.refine = nn.ModuleDict({"easy": nn.Identity(), "hard": mlp([dim, dim, dim])})
        self.head = nn.Linear(dim, classes)

    @functools.cached_property
    def costs(self) -> List[float]:
        return [float(b.cost) for b in self.blocks]

    def difficulty(self, x: Tensor) -> str:
        return "hard" if x.std(dim=0).mean() > 1.0 else "easy"

    def forward(self, x: Tensor, budget: float = 2.0, repeats: int = 1) -> Dict[str, Union[Tensor, List[int], float, str]]:
        plan = self.controller(x, budget, self.costs)
        path = [self.blocks[i] for i in plan.indices]
        used = 0
        for _ in range(repeats):
            before = x
            for block, w in zip(path, plan.weights):
                x = block(x, scale=w)
                used += 1
            delta = (x - before).norm() / before.norm().clamp(min=1e-6)
            if delta < 0.05:
                break
        level = self.difficulty(x)
        x = self.refine[level](x)
        heads = [b for b in path if isinstance(b, Gated)]
        extra = sum(h.gate(x).sigmoid().mean().item() for h in heads)
        last = path[-1] if path else None
        if last is not None and last.cost > 0.45:
            x = last(x)
        return {
            "logits": self.head(x).mean(0),
            "path": plan.indices,
            "cost": plan.cost * max(1, repeats),
            "level": level,
            "used": used,
            "gates": float(extra),
            "prefix": list(itertools.accumulate(plan.weights)),
        }


def make_model():
    torch.manual_seed(4)
    return BlockSearch().eval()


def make_inputs():
    g = torch.Generator().manual_seed(1)
    r = lambda n, s=1.0: s * torch.randn(n, 8, generator=g)
    return [(r(4),), (r(7, 3.0), 3.0, 2), (r(2, 0.1), 0.3), (r(5), 0.45, 3), (r(3, 2.0), 10.0, 4), (r(6, 5.0), 1.0, 1)]
