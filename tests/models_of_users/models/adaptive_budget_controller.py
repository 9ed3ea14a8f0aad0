"""Adaptive inference: blocks skipped by gates, exits by calibrated confidence, a PID controller keeps the average cost at budget."""

from __future__ import annotations

import contextlib
import dataclasses
import logging
import time
from collections import deque
from typing import Callable, ClassVar, Deque, Dict, Iterable, List, Optional, Protocol, Tuple, TypeVar

import torch
import torch.nn as nn
import torch.nn.functional as F

logger = logging.getLogger(__name__)
T = TypeVar("T")


class Policy(Protocol):
    def decide(self, index: int, gate: float) -> bool: ...


@dataclasses.dataclass
class PID:
    kp: float = 0.5
    ki: float = 0.1
    kd: float = 0.05
    integral: float = 0.0
    previous: Optional[float] = None
    limits: ClassVar[Tuple[float, float]] = (-0.4, 0.4)

    def step(self, error: float) -> float:
        self.integral = min(max(self.integral + error, -1.0), 1.0)
        derivative = 0.0 if self.previous is None else error - self.previous
        self.previous = error
        out = self.kp * error + self.ki * self.integral + self.kd * derivative
        lo, hi = self.limits
        return lo if out < lo else hi if out > hi else out


class ThresholdPolicy:
    def __init__(self, base: float = 0.5):
        self.base = base
        self.shift = 0.0
        self.decisions: List[Tuple[int, bool]] = []

    @property
    def threshold(self) -> float:
        return min(max(self.base + self.shift, 0.05), 0.95)

    def decide(self, index: int, gate: float) -> bool:
        run = gate > self.threshold
        self.decisions.append((index, run))
        return run

    def reset(self):
        self.decisions.clear()


class CostMeter:
    """Counts what the blocks cost; used as a context."""

    def __init__(self, window: int = 4):
        self.history: Deque[float] = deque(maxlen=window)
        self.current = 0.0
        self.depth = 0

    def __enter__(self):
        if self.depth == 0:
            self.current = 0.0
        self.depth += 1
        return self

    def __exit__(self, exc_type, exc, tb):
        self.depth -= 1
        if exc_type is None and self.depth == 0:
            self.history.append(self.current)
        return False

    def add(self, cost: float):
        self.current += cost

    @property
    def average(self) -> float:
        return sum(self.history) / len(self.history) if self.history else 0.0


class GatedBlock(nn.Module):
    def __init__(self, dim: int, cost: float):
        super().__init__()
        self.body = nn.Sequential(nn.LayerNorm(dim), nn.Linear(dim, 2 * dim), nn.GELU(), nn.Linear(2 * dim, dim))
        self.gate = nn.Linear(dim, 1)
        self.cost = cost

    def gate_value(self, x):
        return torch.sigmoid(self.gate(x.mean(0)))

    def forward(self, x):
        return x + self.body(x)


def first(items: Iterable[T], predicate: Callable[[T], bool], default: Optional[T] = None) -> Optional[T]:
    return next((i for i in items if predicate(i)), default)


class BudgetNet(nn.Module):
    def __init__(self, dim=8, depth=6, classes=4, budget=3.0, exits=(2, 4)):
        super().__init__()
        self.blocks = nn.ModuleList(GatedBlock(dim, 1.0 + 0.25 * i) for i in range(depth))
        self.exits = nn.ModuleDict({f"exit{i}": nn.Linear(dim, classes) for i in exits})
        self.head = nn.Linear(dim, classes)
        self.temperature = nn.Parameter(torch.ones(len(exits)))
        self.budget = budget
        self.policy = ThresholdPolicy()
        self.pid = PID()
        self.meter = CostMeter()
        self.register_buffer("usage", torch.zeros(depth, dtype=torch.long))

    def calibrated(self, name: str, x: torch.Tensor) -> Tuple[torch.Tensor, float]:
        i = list(self.exits).index(name)
        logits = self.exits[name](x.mean(0)) / self.temperature[i]
        top2 = F.softmax(logits, -1).topk(2).values
        return logits, (top2[0] - top2[1]).item()

    def run_blocks(self, x, margin: float):
        for i, block in enumerate(self.blocks):
            name = f"exit{i}"
            if name in self.exits:
                logits, confidence = self.calibrated(name, x)
                logger.debug("exit %d: margin %.3f", i, confidence)
                if confidence > margin:
                    return logits, i
            if not self.policy.decide(i, block.gate_value(x).item()):
                continue
            x = block(x)
            self.meter.add(block.cost)
            self.usage[i] += 1
        return self.head(x.mean(0)), len(self.blocks)

    @torch.inference_mode()
    def forward(self, x: torch.Tensor, *, margin: float = 0.6, adapt: bool = True):
        if x.ndim != 2:
            raise TypeError(f"expected (tokens, features), got {x.ndim} dimensions")
        self.policy.reset()
        with self.meter as meter:
            logits, left_at = self.run_blocks(x, margin)
        if adapt:
            error = (meter.average - self.budget) / self.budget
            self.policy.shift += self.pid.step(error)
            self.policy.shift = round(self.policy.shift, 6)
        skipped = [i for i, run in self.policy.decisions if not run]
        busiest = first(range(len(self.usage)), lambda i: self.usage[i] == self.usage.max())
        return {
            "logits": logits,
            "exit": left_at,
            "skipped": skipped,
            "cost": meter.current,
            "threshold": self.policy.threshold,
            "busiest": busiest,
            "history": list(meter.history),
        }


STATEFUL = True


class Deployed(nn.Module):
    """Positional front, as a server calls it."""

    def __init__(self):
        super().__init__()
        self.net = BudgetNet()

    def forward(self, x, margin=0.6, adapt=True):
        return self.net(x, margin=margin, adapt=adapt)


def make_model():
    torch.manual_seed(0)
    return Deployed().eval()


def make_inputs():
    torch.manual_seed(1)
    return [(torch.randn(5, 8) * 3,), (torch.randn(2, 8),), (torch.randn(7, 8), 0.05), (torch.randn(3, 8) * 2, 0.99, False), (torch.randn(4, 8),), (torch.randn(8),), (torch.randn(1, 8) * 5,)]
