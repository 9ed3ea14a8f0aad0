"""Harbour: ships wait in a queue, a small network scores berths, tides close some, a crane may break and raises."""
from __future__ import annotations

import enum
import math
from collections import defaultdict, deque
from dataclasses import dataclass, field
from typing import Optional

import torch
from torch import nn


class Tide(enum.Enum):
    LOW = 0
    MID = 1
    HIGH = 2

    @classmethod
    def at(cls, hour: float) -> "Tide":
        level = math.sin(hour / 12.4 * 2 * math.pi)
        if level < -0.4:
            return cls.LOW
        return cls.MID if level < 0.4 else cls.HIGH


class CraneFailure(RuntimeError):
    def __init__(self, berth, load):
        super().__init__(f"crane {berth} failed under {load:.1f} t")
        self.berth = berth


@dataclass
class Ship:
    number: int
    features: torch.Tensor
    draught: float
    waited: int = 0
    berth: Optional[int] = None
    log: list[str] = field(default_factory=list)

    @property
    def heavy(self) -> bool:
        return self.draught > 1.0


class BerthScorer(nn.Module):
    def __init__(self, dim, berths):
        super().__init__()
        self.embed = nn.Embedding(berths, dim)
        self.net = nn.Sequential(nn.Linear(2 * dim, 16), nn.GELU(), nn.Linear(16, 1))

    def forward(self, ship, free):
        e = self.embed(torch.tensor(free))
        pairs = torch.cat([ship.expand(len(free), -1), e], dim=-1)
        return self.net(pairs).squeeze(-1)


class Harbour(nn.Module):
    def __init__(self, dim=6, berths=4, patience=3):
        super().__init__()
        self.scorer = BerthScorer(dim, berths)
        self.depth = [0.5, 0.9, 1.4, 2.0]
        self.patience = patience
        self.register_buffer("served", torch.zeros(berths, dtype=torch.long))

    def open_berths(self, tide, ship, taken):
        bonus = {Tide.LOW: 0.0, Tide.MID: 0.3, Tide.HIGH: 0.6}[tide]
        return [i for i, d in enumerate(self.depth) if i not in taken and d + bonus >= ship.draught]

    def forward(self, arrivals, hour: float = 0.0, max_load: float = 9.0):
        queue = deque(Ship(i, row, float(row.abs().max())) for i, row in enumerate(arrivals))
        taken: dict[int, int] = {}
        left, by_tide = [], defaultdict(list)
        result = {"hours": 0}
        while queue:
            tide = Tide.at(hour)
            ship = queue.popleft()
            free = self.open_berths(tide, ship, taken)
            if not free:
                ship.waited += 1
                if ship.waited > self.patience:
                    left.append(ship)
                    ship.log.append("gave up")
                else:
                    queue.append(ship)
                    ship.log.append(f"waits at {tide.name.lower()}")
                hour += 1.5
                if taken and ship.waited % 2 == 0:
                    first = min(taken, key=taken.get)
                    del taken[first]
                continue
            scores = self.scorer(ship.features, free)
            best, where = scores.max(dim=0)
            if best < -0.5 and len(free) > 1:
                where = scores.topk(2).indices[1]
            ship.berth = free[int(where)]
            load = ship.features.clamp(min=0).sum().item() * (2 if ship.heavy else 1)
            if load > max_load:
                raise CraneFailure(ship.berth, load)
            taken[ship.berth] = ship.number
            self.served[ship.berth] += 1
            by_tide[tide].append(ship.number)
            result["hours"] += 1
            if ship.heavy:
                result["last_heavy"] = ship.features * 0.5
        if left:
            result["left"] = [s.number for s in left]
            result["logs"] = {s.number: s.log for s in left}
        order = sorted(by_tide.items(), key=lambda kv: (-len(kv[1]), kv[0].value))
        return result, [(t.name, ships) for t, ships in order], self.served / self.served.sum().clamp(min=1)


STATEFUL = True


def make_model():
    torch.manual_seed(3)
    return Harbour().eval()


def make_inputs():
    g = torch.Generator().manual_seed(1)
    out = []
    for n, scale, hour, load in ((3, 0.4, 0.0, 9.0), (6, 1.2, 3.0, 90.0), (9, 0.8, 7.0, 90.0), (0, 1.0, 0.0, 9.0), (5, 3.0, 9.0, 90.0), (4, 1.4, 3.0, 2.0), (7, 0.9, 10.0, 90.0)):
        out.append((torch.randn(n, 6, generator=g) * scale, hour, load))
    return out
