"""DETR-like matching in the forward pass: auction algorithm, track memory by id, missed counters, and text reports."""
import torch
import torch.nn as nn
from dataclasses import dataclass, field
from typing import Dict, List, Optional, Tuple

@dataclass
class Track:
    id: int
    box: torch.Tensor
    feat: torch.Tensor
    age: int = 0
    missed: int = 0
    history: List[Tuple[int, float]] = field(default_factory=list)
    def update(self, box, feat, frame, score):
        self.box = 0.7 * box + 0.3 * self.box
        self.feat = nn.functional.normalize(self.feat + feat, dim=0)
        self.missed = 0
        self.age += 1
        self.history.append((frame, score))

class Matcher(nn.Module):
    def __init__(self, d=6, max_missed=1):
        super().__init__()
        self.embed = nn.Sequential(nn.Linear(4, d), nn.ReLU(), nn.Linear(d, d))
        self.score = nn.Linear(d, 1)
        self.tracks: Dict[int, Track] = {}
        self.next_id = 1
        self.frame = 0
        self.max_missed = max_missed

    def auction(self, value: torch.Tensor, eps: float = 0.01) -> List[Tuple[int, int]]:
        n, m = value.shape
        price = torch.zeros(m)
        owner = [-1] * m
        unassigned = list(range(n))
        guard = 0
        while unassigned and guard < 200:
            guard += 1
            i = unassigned.pop()
            gain = value[i] - price
            if gain.max() < -1.0:
                continue
            j = int(gain.argmax())
            best = gain[j].item()
            second = gain.sort(descending=True)[0][1].item() if m > 1 else best - 1
            price[j] += best - second + eps
            if owner[j] >= 0:
                unassigned.append(owner[j])
            owner[j] = i
        return sorted((i, j) for j, i in enumerate(owner) if i >= 0)

    def forward(self, boxes: torch.Tensor, keep: float = 0.4):
        self.frame += 1
        feats = nn.functional.normalize(self.embed(boxes), dim=-1) if len(boxes) else boxes.new_zeros(0, 6)
        scores = torch.sigmoid(self.score(feats)).squeeze(-1)
        sel = scores > keep
        boxes, feats, scores = boxes[sel], feats[sel], scores[sel]
        ids = [-1] * len(boxes)
        matched = set()
        live = list(self.tracks.values())
        if live and len(boxes):
            tf = torch.stack([t.feat for t in live])
            tb = torch.stack([t.box for t in live])
            value = tf @ feats.T - 0.2 * torch.cdist(tb, boxes, p=1)
            for ti, di in self.auction(value):
                t = live[ti]
                t.update(boxes[di], feats[di], self.frame, scores[di].item())
                ids[di] = t.id
                matched.add(t.id)
        for i, known in enumerate(ids):
            if known == -1:
                self.tracks[self.next_id] = Track(self.next_id, boxes[i], feats[i])
                ids[i] = self.next_id
                matched.add(self.next_id)
                self.next_id += 1
        dead = []
        for tid, t in self.tracks.items():
            if tid not in matched:
                t.missed += 1
                if t.missed > self.max_missed:
                    dead.append(tid)
        for tid in dead:
            del self.tracks[tid]
        longest: Optional[Track] = max(self.tracks.values(), key=lambda t: (t.age, -t.id), default=None)
        report = "; ".join(f"#{t.id}:{t.age}/{t.missed}" for t in self.tracks.values()) or "none"
        return ids, report, longest.box if longest is not None else None, longest.history if longest else []

STATEFUL = True
def make_model():
    torch.manual_seed(5)
    return Matcher().eval()

def make_inputs():
    g = torch.Generator().manual_seed(0)
    base = torch.rand(4, 4, generator=g)
    jit = lambda x: x + 0.02 * torch.randn(x.shape, generator=g)
    return [(base,), (jit(base),), (jit(base[[2, 0]]),), (torch.zeros(0, 4),), (jit(base[1:]),), (torch.cat([jit(base), base.flip(1)]), 0.3), (torch.zeros(0, 4),), (torch.zeros(0, 4),)]
