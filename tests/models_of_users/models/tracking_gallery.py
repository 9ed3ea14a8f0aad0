"""Multi-object tracking: Mahalanobis gating, Hungarian matching written out, track life cycle, re-identification gallery."""

import itertools
from dataclasses import dataclass, field
from enum import IntEnum
from typing import ClassVar, Dict, List, Optional, Sequence, Set, Tuple

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F


class TrackState(IntEnum):
    TENTATIVE = 1
    CONFIRMED = 2
    LOST = 3
    DELETED = 4


def hungarian(cost: List[List[float]]) -> List[Tuple[int, int]]:
    """Minimum cost assignment of rows to columns (n <= m), the O(n^2 m) algorithm with potentials."""
    n, m = len(cost), len(cost[0]) if cost else 0
    if n == 0 or m == 0:
        return []
    if n > m:
        transposed = [list(row) for row in zip(*cost)]
        return [(r, c) for c, r in hungarian(transposed)]
    inf = float("inf")
    u, v = [0.0] * (n + 1), [0.0] * (m + 1)
    p, way = [0] * (m + 1), [0] * (m + 1)
    for i in range(1, n + 1):
        p[0], j0 = i, 0
        minv, used = [inf] * (m + 1), [False] * (m + 1)
        while True:
            used[j0] = True
            i0, delta, j1 = p[j0], inf, 0
            for j in range(1, m + 1):
                if used[j]:
                    continue
                cur = cost[i0 - 1][j - 1] - u[i0] - v[j]
                if cur < minv[j]:
                    minv[j], way[j] = cur, j0
                if minv[j] < delta:
                    delta, j1 = minv[j], j
            for j in range(m + 1):
                if used[j]:
                    u[p[j]] += delta
                    v[j] -= delta
                else:
                    minv[j] -= delta
            j0 = j1
            if p[j0] == 0:
                break
        while j0:
            j1 = way[j0]
            p[j0] = p[j1]
            j0 = j1
    return [(p[j] - 1, j - 1) for j in range(1, m + 1) if p[j]]


@dataclass
class Track:
    mean: torch.Tensor
    cov: torch.Tensor
    feature: torch.Tensor
    track_id: int
    state: TrackState = TrackState.TENTATIVE
    hits: int = 1
    age: int = 0
    history: List[Tuple[float, float]] = field(default_factory=list)
    n_init: ClassVar[int] = 2
    max_age: ClassVar[int] = 2

    def is_confirmed(self):
        return self.state == TrackState.CONFIRMED

    def mark_missed(self):
        self.age += 1
        if self.state == TrackState.TENTATIVE:
            self.state = TrackState.DELETED
        elif self.age > self.max_age:
            self.state = TrackState.LOST

    def mark_hit(self):
        self.age = 0
        self.hits += 1
        if self.state != TrackState.CONFIRMED and self.hits >= self.n_init:
            self.state = TrackState.CONFIRMED


class Tracker(nn.Module):
    def __init__(self, feature_dim=4, gate=9.21, weight=0.5):
        super().__init__()
        self.embed = nn.Linear(6, feature_dim)
        self.gate, self.weight = gate, weight
        F4 = torch.eye(4)
        F4[0, 2] = F4[1, 3] = 1.0
        self.register_buffer("motion", F4)
        self.register_buffer("observe", torch.eye(2, 4))
        self.tracks: List[Track] = []
        self.gallery: Dict[int, torch.Tensor] = {}
        self._ids = itertools.count(1)

    def predict(self, trk: Track):
        trk.mean = self.motion @ trk.mean
        trk.cov = self.motion @ trk.cov @ self.motion.T + 0.05 * torch.eye(4)

    def update(self, trk: Track, z: torch.Tensor, f: torch.Tensor):
        S = self.observe @ trk.cov @ self.observe.T + 0.1 * torch.eye(2)
        K = trk.cov @ self.observe.T @ torch.linalg.inv(S)
        trk.mean = trk.mean + K @ (z - self.observe @ trk.mean)
        trk.cov = (torch.eye(4) - K @ self.observe) @ trk.cov
        trk.feature = F.normalize(0.9 * trk.feature + 0.1 * f, dim=0)
        trk.history.append((round(z[0].item(), 3), round(z[1].item(), 3)))
        trk.mark_hit()

    def cost_matrix(self, boxes, feats) -> List[List[float]]:
        rows = []
        for trk in self.tracks:
            S = self.observe @ trk.cov @ self.observe.T + 0.1 * torch.eye(2)
            L = torch.linalg.cholesky(S)
            d = boxes - self.observe @ trk.mean
            z = torch.linalg.solve_triangular(L, d.T, upper=False)
            maha = (z * z).sum(0)
            appearance = 1 - feats @ trk.feature
            cost = self.weight * maha / self.gate + (1 - self.weight) * appearance
            rows.append(torch.where(maha > self.gate, torch.tensor(1e5), cost).tolist())
        return rows

    def revive(self, feature) -> Optional[int]:
        if not self.gallery:
            return None
        ids = list(self.gallery)
        sims = torch.stack([self.gallery[i] for i in ids]) @ feature
        best = int(torch.argmax(sims))
        if sims[best] < 0.95:
            return None
        del self.gallery[ids[best]]
        return ids[best]

    def forward(self, boxes: torch.Tensor, patches: torch.Tensor, scores: Optional[torch.Tensor] = None):
        if scores is not None:
            keep = scores > 0.3
            boxes, patches = boxes[keep], patches[keep]
        feats = F.normalize(self.embed(patches), dim=-1)
        for trk in self.tracks:
            self.predict(trk)
        matches = [(r, c) for r, c in hungarian(self.cost_matrix(boxes, feats)) if True] if len(boxes) else []
        costs = self.cost_matrix(boxes, feats) if matches else []
        matched_rows: Set[int] = set()
        matched_cols: Set[int] = set()
        for r, c in matches:
            if costs[r][c] > 1e4:
                continue
            self.update(self.tracks[r], boxes[c], feats[c])
            matched_rows.add(r)
            matched_cols.add(c)
        for r, trk in enumerate(self.tracks):
            if r not in matched_rows:
                trk.mark_missed()
        for c in range(len(boxes)):
            if c in matched_cols:
                continue
            tid = self.revive(feats[c])
            if tid is None:
                tid = next(self._ids)
            mean = torch.cat([boxes[c], torch.zeros(2)])
            self.tracks.append(Track(mean, torch.eye(4), feats[c], tid))
        for trk in self.tracks:
            if trk.state is TrackState.LOST:
                self.gallery[trk.track_id] = trk.feature
        self.tracks = [t for t in self.tracks if t.state not in (TrackState.LOST, TrackState.DELETED)]
        confirmed = sorted((t for t in self.tracks if t.is_confirmed()), key=lambda t: t.track_id)
        out = {t.track_id: t.mean[:2] for t in confirmed}
        longest = max((len(t.history) for t in self.tracks), default=0)
        spread = float(np.mean([len(t.history) for t in self.tracks])) if self.tracks else 0.0
        return out, [t.track_id for t in self.tracks], sorted(self.gallery), longest, spread


STATEFUL = True


def make_model():
    torch.manual_seed(0)
    return Tracker().eval()


def make_inputs():
    torch.manual_seed(1)
    pos = torch.tensor([[0.0, 0.0], [5.0, 5.0], [9.0, 1.0]])
    vel = torch.tensor([[0.5, 0.2], [-0.3, 0.1], [0.0, 0.4]])
    app = torch.randn(3, 6)
    calls = []
    for t in range(8):
        present = [0, 1, 2] if t < 2 else [0, 2] if t < 6 else [1, 0]
        scores = torch.tensor([0.9, 0.8, 0.2][:len(present)]) if t == 1 else None
        b = pos[present] + t * vel[present]
        calls.append((b, app[present]) if scores is None else (b, app[present], scores))
    calls.append((pos[:0], app[:0]))
    return calls
