"""Planar SLAM front end: odometry, keyframes, loop closures, a pose graph that is relaxed when a loop closes."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import List, NamedTuple, Optional

import torch
import torch.nn as nn
import torch.nn.functional as F


def wrap_angle(a: torch.Tensor) -> torch.Tensor:
    return torch.atan2(torch.sin(a), torch.cos(a))


def compose(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """SE(2) composition of (x, y, theta) vectors."""
    c, s = torch.cos(a[2]), torch.sin(a[2])
    x = a[0] + c * b[0] - s * b[1]
    y = a[1] + s * b[0] + c * b[1]
    return torch.stack([x, y, wrap_angle(a[2] + b[2])])


def between(a, b):
    c, s = torch.cos(a[2]), torch.sin(a[2])
    d = b[:2] - a[:2]
    return torch.stack([c * d[0] + s * d[1], -s * d[0] + c * d[1], wrap_angle(b[2] - a[2])])


class Edge(NamedTuple):
    src: int
    dst: int
    measurement: torch.Tensor
    weight: float = 1.0


@dataclass
class Keyframe:
    index: int
    pose: torch.Tensor
    descriptor: torch.Tensor
    neighbours: List[int] = field(default_factory=list)

    @property
    def position(self) -> torch.Tensor:
        return self.pose[:2]

    def distance(self, pose: torch.Tensor) -> float:
        return float(torch.linalg.norm(self.position - pose[:2]))


class SlamFrontEnd(nn.Module):
    def __init__(self, dim=16, min_translation=0.5, loop_threshold=0.95, skip_recent=3):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(dim, 32), nn.ReLU(), nn.Linear(32, 8))
        self.min_translation = min_translation
        self.min_rotation = math.radians(15)
        self.loop_threshold = loop_threshold
        self.skip_recent = skip_recent

    def _find_loop(self, descriptor, keyframes: List[Keyframe]) -> Optional[int]:
        candidates = keyframes[:-self.skip_recent]
        if not candidates:
            return None
        best, best_score = None, self.loop_threshold
        for kf in candidates:
            score = F.cosine_similarity(kf.descriptor, descriptor, dim=0).item()
            if score > best_score:
                best, best_score = kf.index, score
        return best

    def _relax(self, keyframes, edges: List[Edge], iterations=10, tol=1e-4):
        last_error = float("inf")
        for it in range(iterations):
            error = 0.0
            for e in edges:
                a, b = keyframes[e.src], keyframes[e.dst]
                predicted = compose(a.pose, e.measurement)
                residual = predicted - b.pose
                residual[2] = wrap_angle(residual[2])
                error += e.weight * residual.pow(2).sum().item()
                if e.dst != 0:
                    b.pose = b.pose + 0.5 * residual
            if abs(last_error - error) < tol:
                break
            last_error = error
        return error, it + 1

    @torch.no_grad()
    def forward(self, odometry: torch.Tensor, scans: torch.Tensor):
        pose = torch.zeros(3)
        keyframes: List[Keyframe] = []
        edges: List[Edge] = []
        loops = []
        for step, (delta, scan) in enumerate(zip(odometry, scans)):
            pose = compose(pose, delta)
            descriptor = F.normalize(self.encoder(scan), dim=-1)
            if keyframes:
                last = keyframes[-1]
                moved = last.distance(pose)
                turned = abs(wrap_angle(pose[2] - last.pose[2]).item())
                if moved < self.min_translation and turned < self.min_rotation:
                    continue
            kf = Keyframe(len(keyframes), pose.clone(), descriptor)
            if keyframes:
                edges.append(Edge(kf.index - 1, kf.index, between(keyframes[-1].pose, kf.pose)))
                keyframes[-1].neighbours.append(kf.index)
            match = self._find_loop(descriptor, keyframes)
            keyframes.append(kf)
            if match is not None:
                edges.append(Edge(match, kf.index, torch.zeros(3), weight=2.0))
                kf.neighbours.append(match)
                error, its = self._relax(keyframes, edges)
                loops.append((match, kf.index, its))
                pose = kf.pose.clone()
        trajectory = torch.stack([kf.pose for kf in keyframes]) if keyframes else torch.empty(0, 3)
        degree = {kf.index: len(kf.neighbours) for kf in keyframes if kf.neighbours}
        return trajectory, loops, degree


def make_model():
    torch.manual_seed(0)
    return SlamFrontEnd().eval()


def make_inputs():
    torch.manual_seed(1)
    steps = 16
    circle = torch.tensor([[0.8, 0.0, 2 * math.pi / 8]]).repeat(steps, 1)
    scans = torch.randn(8, 16).repeat(2, 1)
    straight = torch.tensor([[0.3, 0.0, 0.01]]).repeat(9, 1)
    return [
        (circle, scans),
        (straight, torch.randn(9, 16)),
        (circle[:0], scans[:0]),
        (circle[:1] * 0.1, scans[:1]),
    ]
