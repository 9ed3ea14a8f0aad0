"""Event cameras: time surface with refractory filter, corner score, asynchronous tracks with a deque of events each, velocity by least squares, birth and death."""
from __future__ import annotations

import math
from collections import deque
from dataclasses import dataclass, field
from typing import Iterator

import numpy as np
import torch
from torch import nn


@dataclass
class Event:
    x: int
    y: int
    t: float
    polarity: bool


@dataclass
class Track:
    uid: int
    x: float
    y: float
    history: deque = field(default_factory=lambda: deque(maxlen=6))
    misses: int = 0

    def distance(self, e: Event) -> float:
        return math.hypot(self.x - e.x, self.y - e.y)

    def absorb(self, e: Event, rate: float) -> None:
        self.x += rate * (e.x - self.x)
        self.y += rate * (e.y - self.y)
        self.history.append((e.t, self.x, self.y))
        self.misses = 0

    def velocity(self) -> torch.Tensor | None:
        if len(self.history) < 3:
            return None
        h = torch.tensor(list(self.history))
        t = h[:, 0] - h[:, 0].mean()
        denom = (t * t).sum()
        if denom < 1e-8:
            return None
        return (t[:, None] * (h[:, 1:] - h[:, 1:].mean(0))).sum(0) / denom


class CornerTracker(nn.Module):
    def __init__(self, size: int = 12, tau: float = 0.05, refractory: float = 0.002):
        super().__init__()
        self.size, self.tau, self.refractory = size, tau, refractory
        self.radius, self.max_misses = 2.5, 4
        self.corner = nn.Sequential(nn.Conv2d(1, 3, 3), nn.Tanh(), nn.Flatten(), nn.Linear(27, 1))
        self.register_buffer("surface", torch.full((2, size, size), -1e3))
        self.next_id = 0
        self.tracks: list[Track] = []

    def reset(self) -> None:
        self.surface.fill_(-1e3)
        self.tracks.clear()
        self.next_id = 0

    def parse(self, raw: torch.Tensor) -> Iterator[Event]:
        for row in raw:
            x, y, t, p = row.tolist()
            if not (0 <= x < self.size and 0 <= y < self.size):
                continue
            yield Event(int(x), int(y), t, p > 0)

    def patch(self, e: Event) -> torch.Tensor | None:
        r = 2
        if e.x < r or e.y < r or e.x >= self.size - r or e.y >= self.size - r:
            return None
        s = self.surface[int(e.polarity), e.y - r:e.y + r + 1, e.x - r:e.x + r + 1]
        return torch.exp((s - e.t) / self.tau)

    def is_corner(self, e: Event) -> bool:
        p = self.patch(e)
        return p is not None and bool(self.corner(p[None, None]) > 0)

    def assign(self, e: Event) -> Track | None:
        best, best_d = None, self.radius
        for t in self.tracks:
            d = t.distance(e)
            if d < best_d:
                best, best_d = t, d
        return best

    @torch.no_grad()
    def forward(self, raw: torch.Tensor, reset: bool = False):
        if reset:
            self.reset()
        accepted, corners = 0, []
        for e in self.parse(raw):
            pol = int(e.polarity)
            if e.t - self.surface[pol, e.y, e.x].item() < self.refractory:
                continue
            self.surface[pol, e.y, e.x] = e.t
            accepted += 1
            if not self.is_corner(e):
                continue
            corners.append((e.x, e.y))
            track = self.assign(e)
            if track is None:
                track = Track(self.next_id, float(e.x), float(e.y))
                self.next_id += 1
                self.tracks.append(track)
            track.absorb(e, rate=0.5)
            for other in self.tracks:
                if other is not track:
                    other.misses += 1
        self.tracks = [t for t in self.tracks if t.misses <= self.max_misses]
        speeds = {}
        for t in self.tracks:
            v = t.velocity()
            speeds[t.uid] = float(np.hypot(*v.tolist())) if v is not None else None
        alive = sorted((t.uid, round(t.x, 3), round(t.y, 3)) for t in self.tracks)
        return {"accepted": accepted, "corners": corners, "alive": alive, "speeds": speeds,
                "heat": torch.exp((self.surface.amax(0) - raw[-1, 2]) / self.tau) if len(raw) else None}


STATEFUL = True


def make_model():
    torch.manual_seed(8)
    return CornerTracker().eval()


def make_inputs():
    g = torch.Generator().manual_seed(3)

    def stream(t0, n, cx, cy, spread=0.7):
        xy = torch.tensor([cx, cy]) + spread * torch.randn(n, 2, generator=g)
        t = t0 + 0.004 * torch.arange(n).float()
        p = (torch.rand(n, generator=g) > 0.4).float()
        return torch.cat([xy.round(), t[:, None], p[:, None]], 1)

    return [
        (stream(0.0, 14, 5.0, 5.0),),
        (stream(0.06, 14, 6.0, 5.0),),
        (torch.cat([stream(0.12, 8, 6.0, 6.0), stream(0.155, 10, 3.0, 8.0)]), False),
        (torch.zeros(0, 4),),
        (stream(0.3, 12, 11.0, 11.0, 2.0), True),
        (stream(0.3, 6, 4.0, 4.0, 0.0),),
    ]
