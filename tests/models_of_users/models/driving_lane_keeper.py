"""Lane keeping: a state machine over camera frames with match statements, hysteresis, numpy polynomial fits."""
import math
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
import torch
from torch import nn

Mode = Literal["keep", "left", "right", "stop"]


@dataclass(frozen=True)
class Lane:
    offset: float
    heading: float
    curvature: float
    quality: float = 0.0

    def ahead(self, distance: float) -> float:
        return self.offset + math.tan(self.heading) * distance + 0.5 * self.curvature * distance**2


class LaneNet(nn.Module):
    def __init__(self, width=24):
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(1, 6, 3, stride=2, padding=1), nn.ReLU(), nn.Conv2d(6, 1, 3, padding=1), nn.Sigmoid()
        )

    def forward(self, image):
        return self.features(image[None, None])[0, 0]


class LaneKeeper(nn.Module):
    GAINS = {"keep": (0.8, 0.3), "left": (0.5, 0.2), "right": (0.5, 0.2)}

    def __init__(self, threshold=0.5, lookahead=(2.0, 5.0)):
        super().__init__()
        self.net = LaneNet()
        self.threshold = threshold
        self.lookahead = lookahead
        self.mode: Mode = "keep"
        self.lost = 0
        self.last: Lane | None = None

    def fit(self, heat: torch.Tensor) -> Lane | None:
        ys, xs = torch.where(heat > self.threshold)
        if len(ys) < 6 or ys.unique().numel() < 3:
            return None
        y = ys.double() / heat.shape[0]
        x = xs.double() / heat.shape[1] - 0.5
        A = torch.stack([torch.ones_like(y), y, y**2], dim=1)
        w = heat[ys, xs].double()
        normal = A.T @ (A * w[:, None]) + 1e-6 * torch.eye(3, dtype=torch.float64)
        c, b, a = torch.linalg.solve(normal, A.T @ (x * w)).tolist()
        residual = (A @ torch.tensor([c, b, a], dtype=torch.float64) - x).abs()
        return Lane(c, math.atan(b), 2 * a, float(1 / (1 + 20 * residual.mean())))

    def blend(self, lane: Lane) -> Lane:
        if self.last is None:
            return lane
        k = np.clip(lane.quality, 0.2, 0.9)
        return replace(lane, **{f: k * getattr(lane, f) + (1 - k) * getattr(self.last, f) for f in ("offset", "heading")})

    def step(self, lane: Lane | None, wish: int) -> Mode:
        match (self.mode, lane, wish):
            case (_, None, _):
                self.lost += 1
                return "stop" if self.lost > 2 else self.mode
            case ("stop", Lane(quality=q), _) if q < 0.4:
                return "stop"
            case ("keep" | "stop", Lane(offset=o), 1) if abs(o) < 0.4:
                self.lost = 0
                return "left"
            case ("keep", _, -1):
                return "right"
            case ("left" | "right", Lane(offset=o), _) if abs(o) > 0.2:
                return "keep"
        self.lost = max(self.lost - 1, 0)
        return self.mode if self.mode != "stop" else "keep"

    def forward(self, frames: torch.Tensor, wish: int = 0):
        commands, modes = [], []
        for frame in frames:
            heat = self.net(frame)
            lane = self.fit(heat)
            self.mode = self.step(lane, wish)
            if lane is not None:
                self.last = lane = self.blend(lane)
            if self.mode == "stop" or self.last is None:
                commands.append((0.0, True))
            else:
                near, far = self.GAINS[self.mode]
                steer = sum(g * self.last.ahead(d) for g, d in zip((near, far), self.lookahead))
                commands.append((float(np.tanh(steer)) if abs(steer) < 3 else math.copysign(1.0, steer), False))
            modes.append(self.mode)
        changes = [i for i, (a, b) in enumerate(zip(modes, modes[1:]), 1) if a != b]
        return torch.tensor([c for c, _ in commands]), modes, changes, any(s for _, s in commands)


STATEFUL = True


def make_model():
    torch.manual_seed(4)
    return LaneKeeper().eval()


def make_inputs():
    g = torch.Generator().manual_seed(6)
    out = []
    for n, scale, wish in ((3, 3.0, 0), (4, 2.0, 1), (5, 0.0, 0), (2, 6.0, -1), (0, 1.0, 0), (4, 4.0, 1), (6, 5.0, -1)):
        out.append((torch.randn(n, 16, 20, generator=g) * scale, wish))
    return out
