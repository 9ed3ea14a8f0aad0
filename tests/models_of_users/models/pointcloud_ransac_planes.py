"""Point clouds: planes are peeled off one by one by RANSAC with supplied draws; what is left is clustered."""
import logging
import math
import warnings
from collections import deque
from typing import NamedTuple, Optional

import torch
from torch import nn

log = logging.getLogger("segment")

_EPS = 1e-6


class Plane(NamedTuple):
    normal: torch.Tensor
    offset: float
    inliers: int
    residual: float


class DegenerateSample(ValueError):
    pass


class Estimator:
    min_points: int = 0

    def fit(self, pts):
        raise NotImplementedError

    def residuals(self, model, pts):
        raise NotImplementedError


class PlaneEstimator(Estimator):
    min_points = 3

    def fit(self, pts):
        a, b, c = pts[:3]
        n = torch.linalg.cross(b - a, c - a)
        norm = n.norm()
        if norm < _EPS:
            raise DegenerateSample("the three points are on a line")
        n = n / norm
        return n, -(n @ a).item()

    def refine(self, pts):
        centre = pts.mean(0)
        _, _, vh = torch.linalg.svd(pts - centre, full_matrices=False)
        n = vh[-1]
        if n[n.abs().argmax()] < 0:
            n = -n
        return n, -float(n @ centre)

    def residuals(self, model, pts):
        n, d = model
        return (pts @ n + d).abs()


class GroundAwareEstimator(PlaneEstimator):
    """Prefers planes whose normal is near a given axis."""

    def __init__(self, axis=(0.0, 0.0, 1.0), max_angle=30.0):
        self.axis = torch.tensor(axis)
        self.limit = math.cos(math.radians(max_angle))

    def fit(self, pts):
        n, d = super().fit(pts)
        if abs(float(n @ self.axis)) < self.limit:
            raise DegenerateSample("too steep")
        return n, d


class Segmenter(nn.Module):
    def __init__(self, threshold=0.05, max_planes=3, min_inliers=8, confidence=0.99, radius=0.6):
        super().__init__()
        self.threshold, self.max_planes = threshold, max_planes
        self.min_inliers, self.confidence = min_inliers, confidence
        self.radius = radius
        self.weigh = nn.Sequential(nn.Linear(3, 8), nn.Tanh(), nn.Linear(8, 1))
        self.label = nn.Linear(5, 4)
        self._estimators = {"any": PlaneEstimator(), "ground": GroundAwareEstimator()}

    def _needed(self, ratio, m):
        if ratio >= 1.0:
            return 1
        denom = math.log(max(1.0 - ratio**m, 1e-12))
        return math.ceil(math.log(1 - self.confidence) / denom) if denom < 0 else math.inf

    def ransac(self, pts, estimator: Estimator, draws) -> Optional[Plane]:
        best, best_count, trials, skipped = None, 0, 0, 0
        limit = float("inf")
        for draw in draws:
            if trials >= limit:
                break
            trials += 1
            picks = (draw * len(pts)).long()[: estimator.min_points]
            try:
                model = estimator.fit(pts[picks])
            except DegenerateSample:
                skipped += 1
                continue
            count = int((estimator.residuals(model, pts) < self.threshold).sum())
            if count > best_count:
                best, best_count = model, count
                limit = self._needed(count / len(pts), estimator.min_points)
        log.debug("ransac: %d trials, %d skipped", trials, skipped)
        if best is None or best_count < self.min_inliers:
            return None
        inside = estimator.residuals(best, pts) < self.threshold
        normal, offset = estimator.refine(pts[inside])
        res = estimator.residuals((normal, offset), pts)
        return Plane(normal, offset, int((res < self.threshold).sum()), res[inside].mean().item())

    def clusters(self, pts):
        n = pts.shape[0]
        near = torch.cdist(pts, pts) < self.radius
        seen, groups = [False] * n, []
        for i in range(n):
            if seen[i]:
                continue
            seen[i] = True
            queue, members = deque([i]), []
            while queue:
                j = queue.popleft()
                members.append(j)
                for k in torch.nonzero(near[j]).flatten().tolist():
                    if not seen[k]:
                        seen[k] = True
                        queue.append(k)
            groups.append(sorted(members))
        return sorted(groups, key=len, reverse=True)

    def forward(self, points: torch.Tensor, draws: torch.Tensor, mode: str = "any"):
        if points.ndim != 2 or points.shape[-1] != 3:
            raise ValueError(f"expected N x 3 points, got {tuple(points.shape)}")
        est = self._estimators[mode]
        planes, rest = [], points
        while len(planes) < self.max_planes and rest.shape[0] >= est.min_points:
            plane = self.ransac(rest, est, draws[len(planes)])
            if plane is None:
                break
            planes.append(plane)
            rest = rest[est.residuals((plane.normal, plane.offset), rest) >= self.threshold]
        if not planes:
            warnings.warn("no plane found")
        kinds = []
        for group in self.clusters(rest):
            chunk = rest[group]
            w = self.weigh(chunk).softmax(0)
            feats = torch.cat([(w * chunk).sum(0), chunk.var(0, unbiased=False).sum()[None], torch.tensor([float(len(group))])])
            kinds.append((len(group), self.label(feats).argmax().item()))
        return planes, kinds, rest.shape[0]


def make_model():
    torch.manual_seed(0)
    return Segmenter().eval()


def make_inputs():
    g = torch.Generator().manual_seed(5)
    r = lambda *s: torch.rand(*s, generator=g)
    ground = torch.cat([r(25, 2) * 4, torch.zeros(25, 1) + (r(25, 1) - 0.5) * 0.04], 1)
    wall = torch.cat([torch.full((20, 1), 2.0) + (r(20, 1) - 0.5) * 0.04, r(20, 2) * 3], 1)
    blob = torch.tensor([3.0, 3.0, 2.0]) + (r(6, 3) - 0.5) * 0.4
    line = torch.arange(4.0)[:, None] * torch.tensor([[1.0, 1.0, 1.0]])
    return [
        (torch.cat([ground, wall, blob]), r(3, 30, 3)),
        (torch.cat([ground, wall, blob]), r(3, 30, 3), "ground"),
        (blob, r(3, 4, 3)),
        (line, r(3, 6, 3)),
        (ground[:10] * torch.tensor([1.0, 1.0, 0.0]), r(3, 5, 3)),
        (r(0, 3), r(3, 5, 3)),
        (r(4, 2), r(3, 5, 3)),
    ]
