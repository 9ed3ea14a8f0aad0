"""Super-resolution by tiles: a classifier sends each tile to a branch (bicubic, light, heavy); budget per image."""

from enum import IntEnum
from typing import Dict, List, Tuple

import torch
import torch.nn as nn
import torch.nn.functional as F


class Difficulty(IntEnum):
    EASY = 0
    MEDIUM = 1
    HARD = 2


class Bicubic(nn.Module):
    def __init__(self, scale):
        super().__init__()
        self.scale = scale

    def forward(self, x):
        return F.interpolate(x, scale_factor=self.scale, mode="bicubic", align_corners=False)


class SRNet(nn.Module):
    def __init__(self, width, blocks, scale):
        super().__init__()
        self.head = nn.Conv2d(3, width, 3, padding=1)
        self.body = nn.ModuleList([nn.Conv2d(width, width, 3, padding=1) for _ in range(blocks)])
        self.tail = nn.Sequential(nn.Conv2d(width, 3 * scale ** 2, 3, padding=1), nn.PixelShuffle(scale))

    def forward(self, x):
        y = self.head(x)
        for conv in self.body:
            y = y + F.relu(conv(y))
        return self.tail(y)


class TiledSR(nn.Module):
    COST: Dict[Difficulty, float] = {Difficulty.EASY: 0.0, Difficulty.MEDIUM: 1.0, Difficulty.HARD: 4.0}

    def __init__(self, scale=2, tile=8, pad=2, budget=12.0):
        super().__init__()
        self.scale, self.tile, self.pad, self.budget = scale, tile, pad, budget
        self.router = nn.Sequential(nn.Conv2d(3, 8, 3, 2, 1), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(8, 3))
        self.branches = nn.ModuleDict({
            Difficulty.EASY.name.lower(): Bicubic(scale),
            Difficulty.MEDIUM.name.lower(): SRNet(8, 1, scale),
            Difficulty.HARD.name.lower(): SRNet(12, 3, scale),
        })
        self.stats = {d.name: 0 for d in Difficulty}

    def boxes(self, h: int, w: int) -> List[Tuple[int, int, int, int]]:
        out = []
        for top in range(0, h, self.tile):
            for left in range(0, w, self.tile):
                bottom, right = min(top + self.tile, h), min(left + self.tile, w)
                out.append((top, left, bottom, right))
        return out

    def choose(self, tile, remaining: float) -> Difficulty:
        if tile.std() < 0.02:
            return Difficulty.EASY
        level = Difficulty(int(self.router(tile).argmax(-1)))
        while level > Difficulty.EASY and self.COST[level] > remaining:
            level = Difficulty(level - 1)
        return level

    def forward(self, image: torch.Tensor):
        squeeze = False
        if image.ndim == 3:
            image, squeeze = image.unsqueeze(0), True
        _, c, h, w = image.shape
        assert c == 3, f"expected an RGB image, got {c} channels"
        remaining = self.budget
        s, p = self.scale, self.pad
        out = image.new_zeros(1, 3, h * s, w * s)
        decisions = []
        padded = F.pad(image, (p, p, p, p), mode="reflect")
        for top, left, bottom, right in self.boxes(h, w):
            tile = padded[..., top:bottom + 2 * p, left:right + 2 * p]
            level = self.choose(tile, remaining)
            remaining -= self.COST[level]
            up = self.branches[level.name.lower()](tile)
            out[:, :, top * s:bottom * s, left * s:right * s] = up[:, :, p * s:-p * s, p * s:-p * s]
            self.stats[level.name] += 1
            decisions.append(level.value)
        out = out.clamp(0, 1)
        return (out[0] if squeeze else out), decisions, dict(self.stats), remaining


STATEFUL = True


def make_model():
    torch.manual_seed(0)
    m = TiledSR()
    with torch.no_grad():
        m.router[-1].weight.mul_(30)
        m.router[-1].bias.copy_(torch.tensor([-0.3, 1.9, 0.0]))
    return m.eval()


def make_inputs():
    torch.manual_seed(1)
    img = torch.rand(1, 3, 16, 12)
    img[..., :8, :8] = 0.5
    return [(img,), (torch.rand(1, 3, 9, 21) * torch.linspace(0, 1, 21),), (torch.full((1, 3, 8, 8), 0.25),)]
