"""Keyword spotting on a stream: ring buffer of frames, adaptive gain, posterior smoothing with a deque, a state machine per keyword, refractory period, callbacks table."""
import enum
from collections import deque
from functools import partial
from typing import Callable, Deque, Dict, List, NamedTuple, Optional, Tuple

import torch
import torch.nn as nn
import torch.nn.functional as F


class Phase(enum.Enum):
    IDLE = "idle"
    ARMED = "armed"
    FIRED = "fired"
    COOLING = "cooling"


class Detection(NamedTuple):
    keyword: str
    frame: int
    confidence: float


class KeywordTracker:
    __slots__ = ("name", "index", "on", "off", "hold", "phase", "count", "peak")

    def __init__(self, name: str, index: int, on: float, off: float, hold: int):
        self.name, self.index, self.on, self.off, self.hold = name, index, on, off, hold
        self.phase, self.count, self.peak = Phase.IDLE, 0, 0.0

    def step(self, p: float, t: int) -> Optional[Detection]:
        if self.phase is Phase.COOLING:
            self.count -= 1
            if self.count <= 0:
                self.phase = Phase.IDLE
            return None
        if self.phase is Phase.IDLE:
            if p >= self.on:
                self.phase, self.count, self.peak = Phase.ARMED, 1, p
            return None
        if self.phase is Phase.ARMED:
            if p < self.off:
                self.phase, self.count = Phase.IDLE, 0
                return None
            self.count += 1
            self.peak = max(self.peak, p)
            if self.count >= self.hold:
                self.phase = Phase.FIRED
        if self.phase is Phase.FIRED:
            found = Detection(self.name, t, round(self.peak, 5))
            self.phase, self.count, self.peak = Phase.COOLING, 3, 0.0
            return found
        return None


class Frontend(nn.Module):
    def __init__(self, n_fft: int, hop: int, mels: int):
        super().__init__()
        self.n_fft, self.hop = n_fft, hop
        self.register_buffer("window", torch.hann_window(n_fft))
        self.fb = nn.Parameter(torch.rand(mels, n_fft // 2 + 1) / n_fft)

    def forward(self, wav: torch.Tensor) -> torch.Tensor:
        frames = wav.unfold(0, self.n_fft, self.hop) * self.window
        spec = torch.fft.rfft(frames).abs().square()
        return torch.log1p(spec @ self.fb.T)


class WakeWord(nn.Module):
    KEYWORDS = ("hey", "stop", "next")

    def __init__(self, n_fft: int = 16, hop: int = 8, mels: int = 5, hidden: int = 6, smooth: int = 3):
        super().__init__()
        self.front = Frontend(n_fft, hop, mels)
        self.rnn = nn.GRUCell(mels, hidden)
        self.out = nn.Linear(hidden, len(self.KEYWORDS) + 1)
        self.smooth = smooth
        self.tail: Optional[torch.Tensor] = None
        self.hidden: Optional[torch.Tensor] = None
        self.register_buffer("level", torch.tensor(0.1))
        self.frame = 0
        self.posteriors: Deque[torch.Tensor] = deque(maxlen=smooth)
        self.trackers = [KeywordTracker(k, i + 1, on=0.27, off=0.22, hold=2) for i, k in enumerate(self.KEYWORDS)]
        self.handlers: Dict[str, Callable[[Detection, Dict[str, int]], None]] = {
            k: partial(self._count, weight=i + 1) for i, k in enumerate(self.KEYWORDS)
        }

    @staticmethod
    def _count(d: Detection, stats: Dict[str, int], weight: int) -> None:
        stats[d.keyword] = stats.get(d.keyword, 0) + weight

    def agc(self, wav: torch.Tensor) -> torch.Tensor:
        rms = wav.pow(2).mean().sqrt()
        if rms > self.level:
            self.level.mul_(0.5).add_(0.5 * rms)
        else:
            self.level.mul_(0.9).add_(0.1 * rms)
        gain = (0.1 / self.level.clamp(min=1e-3)).clamp(max=10.0)
        return torch.clamp(wav * gain, -1, 1)

    @torch.no_grad()
    def forward(self, chunk: torch.Tensor) -> Tuple[List[Detection], torch.Tensor, Dict[str, int]]:
        if chunk.dim() != 1:
            raise ValueError(f"expected mono audio, got {chunk.dim()} dimensions")
        wav = self.agc(chunk)
        if self.tail is not None:
            wav = torch.cat([self.tail, wav])
        n = self.front.n_fft
        stats: Dict[str, int] = {}
        events: List[Detection] = []
        rows = []
        if wav.numel() < n:
            self.tail = wav
            return events, torch.zeros(0, len(self.KEYWORDS) + 1), stats
        feats = self.front(wav)
        used = feats.size(0) * self.front.hop
        self.tail = wav[used:].clone()
        for f in feats:
            self.hidden = self.rnn(f[None], self.hidden)
            p = F.softmax(self.out(self.hidden)[0] * 3, dim=-1)
            self.posteriors.append(p)
            avg = torch.stack(tuple(self.posteriors)).mean(0)
            rows.append(avg)
            for tr in self.trackers:
                hit = tr.step(avg[tr.index].item(), self.frame)
                if hit is not None:
                    events.append(hit)
                    self.handlers[hit.keyword](hit, stats)
            self.frame += 1
        return events, torch.stack(rows), stats


STATEFUL = True


def make_model():
    torch.manual_seed(21)
    return WakeWord().eval()


def make_inputs():
    g = torch.Generator().manual_seed(9)
    n = lambda k, s: s * torch.randn(k, generator=g)
    return [(n(40, 0.5),), (n(5, 0.1),), (n(64, 1.5),), (torch.sin(torch.arange(96) * 0.7),), (n(2, 8, ) if False else n(16, 3.0),),
            (torch.zeros(50),), (torch.ones(2, 8),), (torch.cos(torch.arange(120) * 1.9) * 0.3,)]
