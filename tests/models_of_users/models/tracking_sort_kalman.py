"""Tracking: boxes of each frame are matched to Kalman tracks that live on between calls (as in SORT)."""
from enum import Enum
from typing import List, Sequence

import torch
import torch.nn as nn

STATEFUL = True


class TrackState(Enum):
    TENTATIVE = 1
    CONFIRMED = 2
    DELETED = 3


def xyxy_to_z(box):
    w, h = box[2] - box[0], box[3] - box[1]
    return torch.stack([box[0] + w / 2, box[1] + h / 2, w * h, w / h])


def state_to_xyxy(x):
    w = torch.sqrt(torch.clamp(x[2] * x[3], min=1e-6))
    h = x[2] / w
    return torch.stack([x[0] - w / 2, x[1] - h / 2, x[0] + w / 2, x[1] + h / 2])


def iou_batch(a, b):
    lt = torch.max(a[:, None, :2], b[None, :, :2])
    rb = torch.min(a[:, None, 2:], b[None, :, 2:])
    inter = (rb - lt).clamp(min=0).prod(-1)
    area = lambda x: (x[:, 2] - x[:, 0]) * (x[:, 3] - x[:, 1])
    return inter / (area(a)[:, None] + area(b)[None, :] - inter)


class KalmanBoxTracker:
    def __init__(self, box, track_id, n_init=2):
        self.F = torch.eye(7)
        for i in range(3):
            self.F[i, i + 4] = 1.0
        self.H = torch.eye(4, 7)
        self.P = torch.eye(7) * 10.0
        self.P[4:, 4:] *= 100.0
        self.Q = torch.eye(7)
        self.Q[4:, 4:] *= 0.01
        self.R = torch.diag(torch.tensor([1.0, 1.0, 10.0, 10.0]))
        self.x = torch.cat([xyxy_to_z(box), torch.zeros(3)])
        self.id = track_id
        self.n_init = n_init
        self.hits, self.age, self.time_since_update = 1, 0, 0
        self.state = TrackState.TENTATIVE
        self.history: List[torch.Tensor] = []

    def predict(self):
        if self.x[6] + self.x[2] <= 0:
            self.x[6] = 0.0
        self.x = self.F @ self.x
        self.P = self.F @ self.P @ self.F.T + self.Q
        self.age += 1
        self.time_since_update += 1
        self.history.append(state_to_xyxy(self.x))
        return self.history[-1]

    def update(self, box):
        y = xyxy_to_z(box) - self.H @ self.x
        S = self.H @ self.P @ self.H.T + self.R
        K = torch.linalg.solve(S, self.H @ self.P).T
        self.x = self.x + K @ y
        self.P = (torch.eye(7) - K @ self.H) @ self.P
        self.hits += 1
        self.time_since_update = 0
        self.history = []
        if self.state is TrackState.TENTATIVE and self.hits >= self.n_init:
            self.state = TrackState.CONFIRMED

    def mark_missed(self, max_age):
        if self.state == TrackState.TENTATIVE:
            self.state = TrackState.DELETED
        elif self.time_since_update > max_age:
            self.state = TrackState.DELETED

    def is_confirmed(self):
        return self.state == TrackState.CONFIRMED


class Sort(nn.Module):
    def __init__(self, max_age=2, iou_threshold=0.3, score_threshold=0.4, feat=8):
        super().__init__()
        self.max_age = max_age
        self.iou_threshold = iou_threshold
        self.score_threshold = score_threshold
        self.rescorer = nn.Sequential(nn.Linear(5, feat), nn.ReLU(), nn.Linear(feat, 1))
        self.trackers = []
        self.next_id = 1
        self.frame_count = 0

    def associate(self, detections, predictions):
        if len(predictions) == 0:
            return [], list(range(len(detections))), []
        if len(detections) == 0:
            return [], [], list(range(len(predictions)))
        iou = iou_batch(detections, torch.stack(predictions))
        pairs = sorted(
            ((iou[d, t].item(), d, t) for d in range(iou.shape[0]) for t in range(iou.shape[1])),
            key=lambda p: -p[0],
        )
        matches, used_d, used_t = [], set(), set()
        for overlap, d, t in pairs:
            if overlap < self.iou_threshold:
                break
            if d in used_d or t in used_t:
                continue
            matches.append((d, t))
            used_d.add(d)
            used_t.add(t)
        unmatched_d = [d for d in range(len(detections)) if d not in used_d]
        unmatched_t = [t for t in range(len(predictions)) if t not in used_t]
        return matches, unmatched_d, unmatched_t

    def forward(self, dets: torch.Tensor):
        self.frame_count += 1
        keep = torch.sigmoid(self.rescorer(dets)).squeeze(1) * dets[:, 4] > self.score_threshold
        boxes = dets[keep, :4]
        predictions = [trk.predict() for trk in self.trackers]
        matches, unmatched_dets, unmatched_trks = self.associate(boxes, predictions)
        for d, t in matches:
            self.trackers[t].update(boxes[d])
        for t in unmatched_trks:
            self.trackers[t].mark_missed(self.max_age)
        for d in unmatched_dets:
            self.trackers.append(KalmanBoxTracker(boxes[d], self.next_id))
            self.next_id += 1
        self.trackers = [t for t in self.trackers if t.state != TrackState.DELETED]
        out = []
        for trk in self.trackers:
            if trk.is_confirmed() and trk.time_since_update < 1:
                out.append({"id": trk.id, "box": state_to_xyxy(trk.x), "hits": trk.hits, "state": trk.state.name})
        return out, len(self.trackers), self.frame_count


def make_model():
    torch.manual_seed(0)
    m = Sort()
    with torch.no_grad():
        m.rescorer[2].bias.fill_(2.0)
        m.rescorer[0].weight.mul_(0.01)
    return m.eval()


def make_inputs():
    g = torch.Generator().manual_seed(3)
    frames = []
    for t in range(12):
        rows = []
        if t < 9:
            rows.append([10 + 2.0 * t, 10 + 1.0 * t, 30 + 2.0 * t, 40 + 1.0 * t, 0.9])
        if t % 4 != 3:
            rows.append([60 - 1.5 * t, 20, 80 - 1.5 * t, 45, 0.95])
        if t in (2, 6):
            rows.append([100, 100, 110, 120, 0.8])
        if t == 4:
            rows.append([5, 5, 9, 9, 0.1])
        if t == 10:
            rows = []
        x = torch.tensor(rows).reshape(-1, 5)
        frames.append((x + torch.cat([torch.randn(len(rows), 4, generator=g) * 0.3, torch.zeros(len(rows), 1)], 1),))
    shrinking = [[200, 200, 200 + s, 200 + s, 0.9] for s in (30, 18, 10, 5)]
    frames += [(torch.tensor([row]),) for row in shrinking] + [(torch.zeros(0, 5),)] * 2
    return frames
