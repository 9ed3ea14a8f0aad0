"""Streaming diarization: sliding windows, speaker embeddings, online clustering with merges and splits, rich segment objects, RTTM text."""
from __future__ import annotations
import itertools
import math
from dataclasses import dataclass, field, asdict
from operator import attrgetter
import torch
import torch.nn as nn
import torch.nn.functional as F

STATEFUL = True
ENTRY = "push"


@dataclass
class Segment:
    start: float
    end: float
    speaker: int

    @property
    def duration(self) -> float:
        return self.end - self.start

    def touches(self, other: "Segment", gap: float) -> bool:
        return self.speaker == other.speaker and other.start - self.end <= gap

    def __str__(self) -> str:
        return f"SPEAKER {self.speaker} {self.start:.2f} {self.duration:.2f}"


class Centroid:
    def __init__(self, uid: int, vec: torch.Tensor):
        self.uid, self.n = uid, 1
        self.vec = vec

    def add(self, v: torch.Tensor, weight: float = 1.0) -> Centroid:
        self.n += 1
        self.vec = F.normalize(self.vec + (v - self.vec) * weight / self.n, dim=0)
        return self

    def similarity(self, v) -> float:
        return torch.dot(self.vec, v).item()

    def __lt__(self, other: Centroid) -> bool:
        return self.uid < other.uid

    def __iadd__(self, other: Centroid) -> Centroid:
        total = self.n + other.n
        self.vec = F.normalize((self.vec * self.n + other.vec * other.n) / total, dim=0)
        self.n = total
        return self


class XVector(nn.Module):
    def __init__(self, bands=8, dim=12):
        super().__init__()
        self.tdnn = nn.ModuleList([nn.Conv1d(bands, 16, 3, dilation=1), nn.Conv1d(16, 16, 3, dilation=2)])
        self.out = nn.Linear(32, dim)

    def forward(self, x):
        for layer in self.tdnn:
            if x.shape[-1] <= 2 * layer.dilation[0]:
                x = F.pad(x, (0, 2 * layer.dilation[0] + 1 - x.shape[-1]), mode="replicate")
            x = torch.relu(layer(x))
        std = x.std(-1, unbiased=False) if x.shape[-1] > 1 else torch.zeros_like(x[..., 0])
        return F.normalize(self.out(torch.cat([x.mean(-1), std], dim=-1)), dim=-1)


class Diarizer(nn.Module):
    new_speaker, merge_at, max_speakers = 0.55, 0.97, 3

    def __init__(self, frame=16, window=6, hop=3):
        super().__init__()
        self.frame, self.window, self.hop = frame, window, hop
        self.filters = nn.Conv1d(1, 8, frame, stride=frame, bias=False)
        self.vad = nn.Linear(8, 1)
        self.xvector = XVector()
        self.register_buffer("rest", torch.zeros(0))
        self.register_buffer("bands", torch.zeros(8, 0))
        self.centroids: list[Centroid] = []
        self.segments: list[Segment] = []
        self.counter = 0
        self.offset = 0

    def assign(self, v: torch.Tensor) -> int:
        if not self.centroids:
            self.centroids.append(Centroid(self.counter, v))
            self.counter += 1
            return self.centroids[-1].uid
        best = max(self.centroids, key=lambda c: c.similarity(v))
        s = best.similarity(v)
        if s < self.new_speaker and len(self.centroids) < self.max_speakers:
            c = Centroid(self.counter, v)
            self.centroids.append(c)
            self.counter += 1
            return c.uid
        return best.add(v, weight=max(0.1, s)).uid

    def merge(self) -> dict[int, int]:
        renamed: dict[int, int] = {}
        again = True
        while again:
            again = False
            for a, b in itertools.combinations(sorted(self.centroids), 2):
                if a.similarity(b.vec) > self.merge_at:
                    a += b
                    self.centroids.remove(b)
                    renamed[b.uid] = a.uid
                    again = True
                    break
        for s in self.segments:
            while s.speaker in renamed:
                s.speaker = renamed[s.speaker]
        return renamed

    def emit(self, start: float, end: float, who: int) -> None:
        new = Segment(start, end, who)
        if self.segments and self.segments[-1].touches(new, gap=0.5 * self.hop):
            self.segments[-1].end = max(self.segments[-1].end, end)
        else:
            self.segments.append(new)

    @torch.no_grad()
    def push(self, samples: torch.Tensor, final: bool = False):
        audio = torch.cat([self.rest, samples])
        usable = audio.numel() // self.frame * self.frame
        self.rest = audio[usable:].clone()
        if usable:
            self.bands = torch.cat([self.bands, torch.log1p(self.filters(audio[None, None, :usable])[0].abs())], dim=1)
        speech = []
        while self.bands.shape[1] >= self.window or (final and self.bands.shape[1] > 0):
            chunk = self.bands[:, : self.window]
            p = self.vad(chunk.mean(1)).sigmoid().item()
            speech.append(round(p, 3))
            if p > 0.5:
                who = self.assign(self.xvector(chunk[None])[0])
                self.emit(float(self.offset), float(self.offset + chunk.shape[1]), who)
            step = min(self.hop, self.bands.shape[1])
            self.bands = self.bands[:, step:].clone()
            self.offset += step
        renamed = self.merge()
        longest = max(self.segments, key=attrgetter("duration"), default=None)
        out = {"speech": speech, "speakers": [c.uid for c in self.centroids], "renamed": sorted(renamed.items()), "text": "\n".join(map(str, self.segments))}
        if final:
            out["segments"] = [asdict(s) for s in self.segments]
            out["longest"] = asdict(longest) if longest is not None else None
        return out


def make_model():
    torch.manual_seed(14)
    m = Diarizer()
    m.filters.weight.data.mul_(4)
    m.vad.weight.data.mul_(2)
    m.xvector.out.weight.data.mul_(3)
    return m.eval()


def make_inputs():
    g = torch.Generator().manual_seed(9)
    r = lambda n, s=1.0: torch.randn(n, generator=g) * s
    t = torch.arange(200.0)
    return [(r(50),), (r(200, 2.0),), (torch.sin(t) * 5,), (torch.zeros(100),), (torch.sign(torch.sin(t / 5)) * 8,), (r(0),), (r(300, 0.3),), (torch.cos(t * 2.5) * 20,), (r(90, 9.0), True), (torch.zeros(0), True)]
