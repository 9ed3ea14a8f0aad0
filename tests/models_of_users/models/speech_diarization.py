"""Speaker diarisation: VAD by energy, window embeddings, agglomerative clustering with a learned stop, RTTM-like output."""
import math
from dataclasses import dataclass
from typing import List, Tuple

import numpy as np
import torch
from torch import nn


@dataclass(order=True)
class Segment:
    start: int
    end: int
    speaker: int = -1

    @property
    def duration(self) -> int:
        return self.end - self.start

    def overlaps(self, other: "Segment") -> bool:
        return self.start < other.end and other.start < self.end

    def __str__(self):
        return f"SPEAKER s{self.speaker:02d} {self.start / 100:.2f} {self.duration / 100:.2f}"


class VAD:
    def __init__(self, on=0.6, off=0.3, hang=2, min_len=3):
        self.on, self.off, self.hang, self.min_len = on, off, hang, min_len

    def __call__(self, prob: torch.Tensor) -> List[Segment]:
        out, start, quiet = [], None, 0
        for t, p in enumerate(prob.tolist()):
            if start is None:
                if p >= self.on:
                    start, quiet = t, 0
            elif p < self.off:
                quiet += 1
                if quiet > self.hang:
                    if t - quiet + 1 - start >= self.min_len:
                        out.append(Segment(start, t - quiet + 1))
                    start = None
            else:
                quiet = 0
        if start is not None and len(prob) - start >= self.min_len:
            out.append(Segment(start, len(prob)))
        return out


class Diarizer(nn.Module):
    def __init__(self, feat=10, dim=8, win=6, hop=3):
        super().__init__()
        self.vad_net = nn.Sequential(nn.Conv1d(feat, 8, 3, padding=1), nn.ReLU(), nn.Conv1d(8, 1, 1))
        self.enc = nn.GRU(feat, dim, batch_first=True)
        self.plda = nn.Bilinear(dim, dim, 1)
        self.threshold = nn.Parameter(torch.tensor(0.4))
        self.vad = VAD()
        self.win, self.hop = win, hop

    def windows(self, segs: List[Segment]) -> List[Segment]:
        res: List[Segment] = []
        for s in segs:
            if s.duration <= self.win:
                res.append(s)
                continue
            n = math.ceil((s.duration - self.win) / self.hop) + 1
            res.extend(Segment(s.start + i * self.hop, min(s.start + i * self.hop + self.win, s.end)) for i in range(n))
        return res

    def embed(self, feats, wins):
        embs = []
        for w in wins:
            _, h = self.enc(feats[None, w.start:w.end])
            embs.append(nn.functional.normalize(h[-1, 0], dim=0))
        return torch.stack(embs)

    def ahc(self, sim: torch.Tensor, max_speakers=None) -> List[List[int]]:
        clusters = [[i] for i in range(sim.size(0))]
        while len(clusters) > 1:
            best, pair = -math.inf, (0, 1)
            for a in range(len(clusters)):
                for b in range(a + 1, len(clusters)):
                    s = sim[clusters[a]][:, clusters[b]].mean().item()
                    if s > best:
                        best, pair = s, (a, b)
            too_many = max_speakers is not None and len(clusters) > max_speakers
            if best < self.threshold and not too_many:
                break
            a, b = pair
            clusters[a] += clusters.pop(b)
        return sorted(clusters, key=len, reverse=True)

    def merge(self, wins: List[Segment]) -> List[Segment]:
        out: List[Segment] = []
        for w in sorted(wins):
            last = out[-1] if out else None
            if last and last.speaker == w.speaker and w.start <= last.end + 1:
                last.end = max(last.end, w.end)
            elif last and last.overlaps(w):
                mid = (w.start + last.end) // 2
                last.end = mid
                out.append(Segment(mid, w.end, w.speaker))
            else:
                out.append(Segment(w.start, w.end, w.speaker))
        return [s for s in out if s.duration > 0]

    def forward(self, feats: torch.Tensor, max_speakers: int = None) -> Tuple[List[str], dict]:
        prob = torch.sigmoid(self.vad_net(feats.t()[None])[0, 0])
        speech = self.vad(prob)
        if not speech:
            return [], {}
        wins = self.windows(speech)
        e = self.embed(feats, wins)
        n = len(wins)
        sim = e @ e.t() + 0.1 * self.plda(e.repeat_interleave(n, 0), e.repeat(n, 1)).view(n, n)
        clusters = self.ahc(0.5 * (sim + sim.t()), max_speakers)
        for spk, members in enumerate(clusters):
            for i in members:
                wins[i].speaker = spk
        segs = self.merge(wins)
        talk = {}
        for s in segs:
            talk[s.speaker] = talk.get(s.speaker, 0) + s.duration
        dominance = max(talk.values()) / sum(talk.values())
        entropy = -sum(v / sum(talk.values()) * np.log(v / sum(talk.values())) for v in talk.values())
        return [str(s) for s in segs], {"talk": talk, "dominance": dominance, "entropy": round(float(entropy), 4), "speakers": len(clusters)}


def make_model():
    torch.manual_seed(5)
    m = Diarizer().eval()
    with torch.no_grad():
        m.vad_net[2].weight.mul_(5)
    return m


def make_inputs():
    g = torch.Generator().manual_seed(4)

    def turn(*parts):
        return torch.cat([torch.randn(n, 10, generator=g) * 0.3 + torch.randn(10, generator=g) * s for n, s in parts])

    return [(turn((9, 2.0), (6, 0.0), (12, 2.0)),), (turn((14, 3.0), (8, 3.0), (9, 3.0)), 2), (torch.zeros(7, 10),), (turn((5, 1.0), (5, 4.0), (10, 0.1)),), (turn((30, 1.5)), 1)]
