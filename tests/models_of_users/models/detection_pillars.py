"""Pillar-based detector for lidar sweeps."""
from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Dict, List, NamedTuple, Optional, Tuple

import torch
from torch import Tensor, nn
import torch.nn.functional as F


class Range(NamedTuple):
    lo: Tuple[float, float]
    hi: Tuple[float, float]

    @property
    def extent(self) -> Tuple[float, float]:
        return tuple(h - l for l, h in zip(self.lo, self.hi))


@dataclass
class Detections:
    boxes: Tensor
    scores: Tensor
    labels: Tensor
    meta: Dict[str, float] = field(default_factory=dict)

    def __len__(self) -> int:
        return self.scores.shape[0]

    def filter(self, keep: Tensor) -> "Detections":
        return Detections(self.boxes[keep], self.scores[keep], self.labels[keep], dict(self.meta))


class PillarEncoder(nn.Module):
    def __init__(self, c_in: int, c_out: int, size: float, area: Range):
        super().__init__()
        self.size = size
        self.area = area
        self.grid = tuple(int(round(e / size)) for e in area.extent)
        self.mlp = nn.Sequential(nn.Linear(c_in + 5, c_out, bias=False), nn.LayerNorm(c_out), nn.ReLU())
        self.c_out = c_out

    def forward(self, points: Tensor) -> Tuple[Tensor, int]:
        nx, ny = self.grid
        canvas = points.new_zeros(self.c_out, ny * nx)
        (x0, y0), (x1, y1) = self.area.lo, self.area.hi
        inside = (points[:, 0] >= x0) & (points[:, 0] < x1) & (points[:, 1] >= y0) & (points[:, 1] < y1)
        points = points[inside]
        if len(points) == 0:
            return canvas.view(1, self.c_out, ny, nx), 0
        ix = ((points[:, 0] - x0) / self.size).long().clamp_(max=nx - 1)
        iy = ((points[:, 1] - y0) / self.size).long().clamp_(max=ny - 1)
        cell = iy * nx + ix
        ids, inverse, counts = torch.unique(cell, return_inverse=True, return_counts=True)
        mean = torch.zeros(len(ids), 3).index_add_(0, inverse, points[:, :3]) / counts[:, None]
        offset = points[:, :3] - mean[inverse]
        centre = torch.stack([(ix + 0.5) * self.size + x0, (iy + 0.5) * self.size + y0], dim=-1)
        feats = self.mlp(torch.cat([points, offset, points[:, :2] - centre], dim=1))
        pooled = torch.full((len(ids), self.c_out), -math.inf)
        pooled = pooled.scatter_reduce(0, inverse[:, None].expand_as(feats), feats, reduce="amax")
        canvas[:, ids] = pooled.t()
        return canvas.view(1, self.c_out, ny, nx), int(counts.max())


def circle_nms(centres: Tensor, radius: float, limit: Optional[int] = None) -> List[int]:
    keep: List[int] = []
    for i in range(len(centres)):
        if any(torch.dist(centres[i], centres[j]).item() < radius for j in keep):
            continue
        keep.append(i)
        if limit is not None and len(keep) == limit:
            break
    return keep


class PillarDetector(nn.Module):
    CLASSES = ("car", "bike", "person")
    RADIUS = {"car": 2.0, "bike": 0.9, "person": 0.5}

    def __init__(self, score: float = 0.45):
        super().__init__()
        self.area = Range((-8.0, -8.0), (8.0, 8.0))
        self.encoder = PillarEncoder(4, 12, 1.0, self.area)
        self.backbone = nn.Sequential(
            nn.Conv2d(12, 16, 3, padding=1), nn.BatchNorm2d(16), nn.ReLU(), nn.Conv2d(16, 16, 3, padding=1), nn.ReLU()
        )
        self.heat = nn.Conv2d(16, len(self.CLASSES), 1)
        self.reg = nn.ModuleDict({"offset": nn.Conv2d(16, 2, 1), "size": nn.Conv2d(16, 2, 1), "yaw": nn.Conv2d(16, 2, 1)})
        self.score = score

    def _peaks(self, heat: Tensor, k: int) -> Tuple[Tensor, Tensor, Tensor, Tensor]:
        pooled = F.max_pool2d(heat, 3, stride=1, padding=1)
        heat = heat * (pooled == heat).float()
        c, h, w = heat.shape[1:]
        scores, index = heat.view(-1).topk(min(k, c * h * w))
        label = torch.div(index, h * w, rounding_mode="floor")
        rest = index % (h * w)
        return scores, label, rest // w, rest % w

    def decode(self, feature: Tensor) -> Detections:
        heat = torch.sigmoid(self.heat(feature))
        scores, labels, ys, xs = self._peaks(heat, 24)
        maps = {name: head(feature)[0, :, ys, xs].t() for name, head in self.reg.items()}
        x = (xs + torch.sigmoid(maps["offset"][:, 0])) * self.encoder.size + self.area.lo[0]
        y = (ys + torch.sigmoid(maps["offset"][:, 1])) * self.encoder.size + self.area.lo[1]
        size = maps["size"].exp().clamp(max=5.0)
        yaw = torch.atan2(maps["yaw"][:, 0], maps["yaw"][:, 1])
        return Detections(torch.column_stack([x, y, size, yaw]), scores, labels)

    @torch.no_grad()
    def forward(self, sweeps: List[Tensor], limit: Optional[int] = None):
        out: List[Dict[str, object]] = []
        for number, sweep in enumerate(sweeps):
            if sweep.ndim != 2 or sweep.shape[1] != 4:
                raise ValueError(f"sweep {number}: expected (n, 4), got {tuple(sweep.shape)}")
            image, fullest = self.encoder(sweep)
            found = self.decode(self.backbone(image))
            found.meta["fullest"] = float(fullest)
            found = found.filter(found.scores > self.score)
            if not len(found):
                out.append({"boxes": torch.empty(0, 5), "names": [], "fullest": found.meta["fullest"]})
                continue
            chosen = []
            for c, name in enumerate(self.CLASSES):
                where = torch.nonzero(found.labels == c).flatten()
                if where.numel() == 0:
                    continue
                chosen += [where[i] for i in circle_nms(found.boxes[where, :2], self.RADIUS[name], limit)]
            order = torch.stack(chosen)
            order = order[found.scores[order].argsort(descending=True)]
            final = found.filter(order)
            out.append({"boxes": final.boxes, "names": [self.CLASSES[i] for i in final.labels.tolist()],
                        "fullest": final.meta["fullest"]})
        return out


def make_model():
    torch.manual_seed(0)
    model = PillarDetector().eval()
    return model


def make_inputs():
    g = torch.Generator().manual_seed(1)
    def cloud(n, spread=6.0):
        return torch.randn(n, 4, generator=g) * torch.tensor([spread, spread, 1.0, 0.3])
    return [
        ([cloud(200), cloud(50)],),
        ([cloud(20, 100.0), torch.empty(0, 4)], 2),
        ([cloud(300, 2.0)], 1),
        ([cloud(5), torch.zeros(3, 3)],),
        ([],),
    ]
