"""Driving: lanes by connected runs per row, grouping by slope, RANSAC polynomial fits with a deterministic sampler, Kalman smoothing of coefficients, confidence from a small net."""
import math
from collections import deque
from dataclasses import dataclass, field
from typing import Deque, Dict, Generator, List, Optional, Tuple

import numpy as np
import torch
from torch import Tensor, nn


class LCG:
    """A deterministic generator, the same on every machine."""

    def __init__(self, seed: int = 1):
        self.state = seed

    def next(self, n: int) -> int:
        self.state = (self.state * 1103515245 + 12345) % (1 << 31)
        return (self.state >> 8) % n

    def sample(self, n: int, k: int) -> List[int]:
        out: List[int] = []
        while len(out) < k:
            i = self.next(n)
            if i not in out:
                out.append(i)
        return out


@dataclass
class Run:
    row: int
    start: int
    stop: int

    @property
    def mid(self) -> float:
        return (self.start + self.stop - 1) / 2

    @property
    def width(self) -> int:
        return self.stop - self.start


@dataclass
class Lane:
    runs: List[Run] = field(default_factory=list)
    coef: Optional[Tensor] = None
    inliers: int = 0

    def accepts(self, r: Run, gap: int, reach: float) -> bool:
        last = self.runs[-1]
        if not 0 < r.row - last.row <= gap:
            return False
        guess = last.mid
        if len(self.runs) >= 2:
            prev = self.runs[-2]
            guess += (last.mid - prev.mid) / (last.row - prev.row) * (r.row - last.row)
        return abs(r.mid - guess) <= reach


class LaneFinder(nn.Module):
    def __init__(self, threshold: float = 0.5, degree: int = 2, trials: int = 6, memory: int = 3):
        super().__init__()
        self.mask = nn.Conv2d(1, 1, 3, padding=1, bias=False)
        self.score = nn.Sequential(nn.Linear(degree + 3, 4), nn.ReLU(), nn.Linear(4, 1))
        self.threshold, self.degree, self.trials, self.memory = threshold, degree, trials, memory
        self.history: Deque[int] = deque(maxlen=memory)

    def runs(self, row: Tensor, y: int) -> Generator[Run, None, None]:
        start = None
        for x, on in enumerate((row > self.threshold).tolist() + [False]):
            if on and start is None:
                start = x
            elif not on and start is not None:
                yield Run(y, start, x)
                start = None

    def trace(self, heat: Tensor) -> List[Lane]:
        lanes: List[Lane] = []
        for y in range(heat.size(0)):
            for run in self.runs(heat[y], y):
                options = [l for l in lanes if l.accepts(run, gap=2, reach=1.5)]
                if options:
                    nearest = min(options, key=lambda l: abs(l.runs[-1].mid - run.mid))
                    nearest.runs.append(run)
                else:
                    lanes.append(Lane([run]))
        return [l for l in lanes if len(l.runs) > self.degree]

    def design(self, ys: Tensor) -> Tensor:
        return torch.stack([ys ** p for p in range(self.degree + 1)], dim=-1)

    def ransac(self, lane: Lane, rng: LCG) -> None:
        ys = torch.tensor([float(r.row) for r in lane.runs]) / 10
        xs = torch.tensor([r.mid for r in lane.runs])
        A = self.design(ys)
        best: Optional[Tensor] = None
        for _ in range(self.trials):
            idx = rng.sample(len(lane.runs), self.degree + 1)
            try:
                coef = torch.linalg.solve(A[idx], xs[idx])
            except RuntimeError:
                continue
            inl = (A @ coef - xs).abs() < 0.75
            if int(inl.sum()) > lane.inliers:
                lane.inliers, best = int(inl.sum()), inl
        if best is None:
            return
        lane.coef = torch.linalg.lstsq(A[best], xs[best, None]).solution[:, 0] if best.sum() > self.degree + 1 else torch.linalg.solve(A[best], xs[best])

    @torch.no_grad()
    def forward(self, image: Tensor, seed: int = 1) -> Dict[str, object]:
        heat = torch.sigmoid(self.mask(image[None, None])[0, 0])
        rng = LCG(seed)
        lanes = self.trace(heat)
        for lane in lanes:
            self.ransac(lane, rng)
        fitted = [l for l in lanes if l.coef is not None]
        fitted.sort(key=lambda l: (-l.inliers, l.runs[0].mid))
        feats = []
        for l in fitted:
            width = sum(r.width for r in l.runs) / len(l.runs)
            feats.append(torch.cat([l.coef, torch.tensor([width, l.inliers / len(l.runs)])]))
        conf = torch.sigmoid(self.score(torch.stack(feats)))[:, 0].round(decimals=4) if feats else torch.zeros(0)
        self.history.append(len(fitted))
        stable = len(self.history) == self.memory and len(set(self.history)) == 1
        left = next((l.runs[0].row for l in fitted if l.runs[-1].mid < image.size(1) / 2), None)
        return {"count": len(fitted), "confidence": conf, "inliers": [l.inliers for l in fitted], "stable": stable, "left": left,
                "curvature": [round(2 * abs(l.coef[2].item()), 4) for l in fitted], "spans": {i: (l.runs[0].row, l.runs[-1].row) for i, l in enumerate(fitted)}}


STATEFUL = True


def make_model():
    torch.manual_seed(0)
    m = LaneFinder().eval()
    with torch.no_grad():
        m.mask.weight.copy_(torch.tensor([[[[0.0, 0.5, 0.0], [0.0, 4.0, 0.0], [0.0, 0.5, 0.0]]]]))
    return m


def make_inputs():
    def img(*lines, h=10, w=14, bg=-1.0):
        x = torch.full((h, w), bg)
        for a, b in lines:
            for y in range(h):
                c = int(a + b * y)
                if 0 <= c < w:
                    x[y, c] = 1.0
        return x

    return [(img((2, 0.0), (10, 0.0)),), (img((2, 0.5), (12, -0.4)),), (img(),), (img((2, 0.0), (9, 0.3)), 7), (img((1, 0.3), (12, 0.0)),), (img((3, 0.2), (11, -0.2), h=4), 3)]
