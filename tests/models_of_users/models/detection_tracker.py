"""Detection: appearance-based tracking, frame by frame; tracks are born, matched and dropped."""
import torch
import torch.nn as nn
import torch.nn.functional as F

STATEFUL = True


class Track:
    def __init__(self, track_id, feature):
        self.id = track_id
        self.feature = feature
        self.missed = 0
        self.hits = 1

    def update(self, feature, momentum=0.8):
        self.feature = F.normalize(momentum * self.feature + (1 - momentum) * feature, dim=0)
        self.missed = 0
        self.hits += 1


class Tracker(nn.Module):
    def __init__(self, in_dim=12, dim=8, match_thresh=0.7, max_missed=2):
        super().__init__()
        self.embed = nn.Sequential(nn.Linear(in_dim, 16), nn.ReLU(), nn.Linear(16, dim))
        self.match_thresh, self.max_missed = match_thresh, max_missed
        self.tracks = []
        self.next_id = 0

    def forward(self, detections):
        feats = F.normalize(self.embed(detections), dim=-1)
        unmatched = set(range(feats.shape[0]))
        ids = [-1] * feats.shape[0]
        for track in self.tracks:
            best, best_sim = None, self.match_thresh
            for j in sorted(unmatched):
                sim = torch.dot(track.feature, feats[j]).item()
                if sim > best_sim:
                    best, best_sim = j, sim
            if best is None:
                track.missed += 1
            else:
                track.update(feats[best])
                ids[best] = track.id
                unmatched.discard(best)
        self.tracks = [t for t in self.tracks if t.missed <= self.max_missed]
        for j in sorted(unmatched):
            self.tracks.append(Track(self.next_id, feats[j]))
            ids[j] = self.next_id
            self.next_id += 1
        confirmed = [t.id for t in self.tracks if t.hits >= 3]
        return torch.tensor(ids, dtype=torch.long), confirmed


def make_model():
    torch.manual_seed(0)
    return Tracker().eval()


def make_inputs():
    g = torch.Generator().manual_seed(1)
    things = torch.randn(4, 12, generator=g) * 3
    frames = [[0, 1], [0, 1, 2], [1, 0], [2, 1], [3], [], [3, 2], [1, 3], [0, 3]]
    return [(things[f] + 0.1 * torch.randn(len(f), 12, generator=g),) for f in frames]
