"""LiDAR: voxel hashing in dicts keyed by tuples, ground removal, Euclidean clusters over voxels in sets, oriented boxes by PCA, a PointNet labels them, tracks by id between frames."""
import math
from collections import defaultdict
from dataclasses import dataclass
from enum import IntEnum
from typing import Dict, FrozenSet, Iterator, List, NamedTuple, Optional, Set, Tuple

import numpy as np
import torch
from torch import Tensor, nn

Voxel = Tuple[int, int, int]


class Kind(IntEnum):
    UNKNOWN = 0
    CAR = 1
    PERSON = 2
    POLE = 3


class Box(NamedTuple):
    center: Tensor
    size: Tensor
    yaw: float

    @property
    def volume(self) -> float:
        return float(self.size.prod())


@dataclass
class Obj:
    box: Box
    kind: Kind
    points: int
    uid: int = -1


NEIGHBOURS: List[Voxel] = [(i, j, k) for i in (-1, 0, 1) for j in (-1, 0, 1) for k in (-1, 0, 1) if (i, j, k) != (0, 0, 0)]


class PointNet(nn.Module):
    def __init__(self, classes: int):
        super().__init__()
        self.point = nn.Sequential(nn.Linear(3, 8), nn.ReLU(), nn.Linear(8, 8))
        self.out = nn.Linear(8 + 3, classes)

    def forward(self, pts: Tensor, size: Tensor) -> Tensor:
        h = self.point(pts - pts.mean(0)).amax(0)
        return self.out(torch.cat([h, size]))


class LidarPipeline(nn.Module):
    def __init__(self, voxel: float = 0.5, min_points: int = 3, ground: float = -0.4):
        super().__init__()
        self.voxel, self.min_points, self.ground = voxel, min_points, ground
        self.net = PointNet(len(Kind))
        self.tracks: Dict[int, Tuple[float, float]] = {}
        self.next_uid = 0

    def voxelize(self, pts: Tensor) -> Dict[Voxel, List[int]]:
        grid: Dict[Voxel, List[int]] = defaultdict(list)
        for i, (x, y, z) in enumerate(torch.floor(pts / self.voxel).long().tolist()):
            grid[(x, y, z)].append(i)
        return dict(grid)

    def clusters(self, grid: Dict[Voxel, List[int]]) -> Iterator[List[int]]:
        todo: Set[Voxel] = set(grid)
        while todo:
            seed = min(todo)
            todo.remove(seed)
            frontier, members = [seed], []
            while frontier:
                v = frontier.pop()
                members += grid[v]
                for d in NEIGHBOURS:
                    w = (v[0] + d[0], v[1] + d[1], v[2] + d[2])
                    if w in todo:
                        todo.discard(w)
                        frontier.append(w)
            if len(members) >= self.min_points:
                yield sorted(members)

    def fit_box(self, pts: Tensor) -> Box:
        c = pts.mean(dim=0)
        xy = pts[:, :2] - c[:2]
        cov = xy.T @ xy / max(len(pts) - 1, 1)
        a, b, d = cov[0, 0].item(), cov[0, 1].item(), cov[1, 1].item()
        yaw = 0.5 * math.atan2(2 * b, a - d)
        cos, sin = math.cos(yaw), math.sin(yaw)
        rot = torch.tensor([[cos, -sin], [sin, cos]])
        local = torch.cat([xy @ rot, pts[:, 2:] - c[2]], dim=1)
        lo, hi = local.aminmax(dim=0)
        return Box(c, hi - lo, yaw)

    def classify(self, pts: Tensor, box: Box) -> Kind:
        scores = self.net(pts, box.size)
        if scores.max() < 0.05:
            return Kind.UNKNOWN
        return Kind(int(scores.argmax()))

    def assign(self, objs: List[Obj]) -> None:
        free: Set[int] = set(self.tracks)
        for o in sorted(objs, key=lambda o: -o.points):
            x, y = o.box.center[:2].tolist()
            near = {u: math.dist((x, y), self.tracks[u]) for u in free}
            best = min(near, key=near.get, default=None)
            if best is not None and near[best] < 2.0:
                o.uid = best
                free.discard(best)
            else:
                o.uid, self.next_uid = self.next_uid, self.next_uid + 1
            self.tracks[o.uid] = (x, y)
        for u in free:
            del self.tracks[u]

    @torch.no_grad()
    def forward(self, points: Tensor) -> Dict[str, object]:
        above = points[points[:, 2] > self.ground]
        grid = self.voxelize(above)
        objs: List[Obj] = []
        for idx in self.clusters(grid):
            pts = above[idx]
            box = self.fit_box(pts)
            kind = self.classify(pts, box)
            if kind is Kind.POLE and box.size[2] < box.size[0]:
                kind = Kind.UNKNOWN
            objs.append(Obj(box, kind, len(idx)))
        self.assign(objs)
        kinds: Dict[str, int] = {}
        for o in objs:
            kinds[o.kind.name] = kinds.get(o.kind.name, 0) + 1
        out = torch.stack([torch.cat([o.box.center, o.box.size, torch.tensor([o.box.yaw])]) for o in objs]) if objs else torch.empty(0, 7)
        return {"boxes": out, "kinds": kinds, "ids": [o.uid for o in objs], "voxels": len(grid),
                "largest": max((o.box.volume for o in objs), default=None), "alive": sorted(self.tracks)}


STATEFUL = True


def make_model():
    torch.manual_seed(12)
    return LidarPipeline().eval()


def make_inputs():
    g = torch.Generator().manual_seed(6)

    def blob(n, cx, cy, s):
        return torch.tensor([cx, cy, 0.5]) + torch.randn(n, 3, generator=g) * torch.tensor(s)

    ground = torch.rand(20, 3, generator=g) * 8 - torch.tensor([4.0, 4.0, 8.5])
    a = torch.cat([blob(14, -2.0, 1.0, [0.5, 0.2, 0.2]), blob(8, 3.0, -2.0, [0.1, 0.1, 0.5]), ground])
    b = torch.cat([blob(14, -1.6, 1.3, [0.5, 0.2, 0.2]), ground, blob(9, 0.0, -3.0, [0.2, 0.3, 0.3])])
    return [(a,), (b,), (ground,), (torch.cat([a, b]),), (torch.zeros(0, 3),), (a[:2],)]
