"""Cardiology: Pan-Tompkins beat detection with adaptive thresholds and search-back, a small net that labels beats, a rhythm state machine with statistics."""
import enum
import statistics
from collections import Counter, deque
from dataclasses import dataclass, field
from typing import Deque, Dict, List, Optional, Tuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn


class Rhythm(enum.Enum):
    UNKNOWN = 0
    SINUS = 1
    TACHY = 2
    BRADY = 3
    IRREGULAR = 4


LABELS = ("N", "V", "S")


@dataclass
class Beat:
    sample: int
    amplitude: float
    label: str = "?"
    rr: Optional[int] = None

    @property
    def premature(self) -> bool:
        return self.rr is not None and self.rr < 12


@dataclass
class Thresholds:
    signal: float = 0.0
    noise: float = 0.0

    @property
    def high(self) -> float:
        return self.noise + 0.25 * (self.signal - self.noise)

    @property
    def low(self) -> float:
        return 0.5 * self.high

    def update(self, peak: float, is_signal: bool) -> None:
        if is_signal:
            self.signal = 0.125 * peak + 0.875 * self.signal
        else:
            self.noise = 0.125 * peak + 0.875 * self.noise


class BeatNet(nn.Module):
    def __init__(self, window: int, classes: int):
        super().__init__()
        self.conv = nn.Conv1d(1, 4, 5, padding=2)
        self.head = nn.Linear(4, classes)

    def forward(self, x: Tensor) -> Tensor:
        h = F.relu(self.conv(x[None, None]))
        return self.head(h.mean(dim=-1)).squeeze(0)


class ECGMonitor(nn.Module):
    def __init__(self, fs: int = 20, window: int = 5, memory: int = 4):
        super().__init__()
        self.fs = fs
        self.window = window
        self.memory = memory
        self.net = BeatNet(2 * window + 1, len(LABELS))
        self.register_buffer("derivative", torch.tensor([[[-1.0, -2.0, 0.0, 2.0, 1.0]]]) / 8)

    def energy(self, x: Tensor) -> Tensor:
        d = F.conv1d(F.pad(x[None, None], (2, 2), mode="replicate"), self.derivative)
        return F.avg_pool1d(d.pow(2), 3, stride=1, padding=1).flatten()

    @staticmethod
    def local_peaks(e: Tensor) -> List[int]:
        if e.numel() < 3:
            return []
        mid = e[1:-1]
        mask = (mid > e[:-2]) & (mid >= e[2:])
        return (mask.nonzero().squeeze(1) + 1).tolist()

    def search_back(self, missed: List[Tuple[int, float]], thr: Thresholds) -> Optional[Tuple[int, float]]:
        candidates = [m for m in missed if m[1] > thr.low]
        return max(candidates, key=lambda m: m[1]) if candidates else None

    def classify(self, x: Tensor, at: int) -> str:
        lo, hi = max(at - self.window, 0), min(at + self.window + 1, x.shape[0])
        logits = self.net(x[lo:hi])
        return LABELS[int(logits.argmax())]

    def rhythm(self, rrs: Deque[int]) -> Tuple[Rhythm, float]:
        if len(rrs) < 2:
            return Rhythm.UNKNOWN, float("nan")
        mean = statistics.mean(rrs)
        bpm = 60.0 * self.fs / mean
        spread = statistics.pstdev(rrs) / mean
        if spread > 0.3:
            return Rhythm.IRREGULAR, bpm
        if bpm > 100:
            return Rhythm.TACHY, bpm
        elif bpm < 60:
            return Rhythm.BRADY, bpm
        return Rhythm.SINUS, bpm

    def forward(self, x: Tensor) -> Dict[str, object]:
        e = self.energy(x)
        first = e[: 2 * self.fs]
        thr = Thresholds(signal=float(first.max()) * 0.6, noise=first.mean().item() * 0.5)
        beats: List[Beat] = []
        missed: List[Tuple[int, float]] = []
        rrs: Deque[int] = deque(maxlen=self.memory)
        for p in self.local_peaks(e):
            height = e[p].item()
            last = beats[-1].sample if beats else None
            if last is not None and p - last < 4:
                continue
            if last is not None and rrs and p - last > 1.66 * (sum(rrs) / len(rrs)):
                found = self.search_back(missed, thr)
                if found is not None:
                    at, amp = found
                    beats.append(Beat(at, amp, self.classify(x, at), at - last))
                    rrs.append(at - last)
                    thr.update(amp, True)
                    missed.clear()
                    last = at
            if height > thr.high:
                beat = Beat(p, height, label=self.classify(x, p))
                if last is not None:
                    beat.rr = p - last
                    rrs.append(beat.rr)
                beats.append(beat)
                thr.update(height, is_signal=True)
                missed.clear()
            else:
                missed.append((p, height))
                thr.update(height, is_signal=False)
        state, bpm = self.rhythm(rrs)
        counts = Counter(b.label for b in beats)
        return {
            "beats": [(b.sample, b.label) for b in beats],
            "premature": sum(1 for b in beats if b.premature),
            "rhythm": state.name.lower(),
            "bpm": bpm,
            "counts": {k: counts[k] for k in LABELS},
            "thresholds": (thr.high, thr.low),
        }


def make_model():
    torch.manual_seed(0)
    return ECGMonitor().eval()


def _ecg(periods, amp=1.0, noise=0.02, seed=0, n=240):
    g = torch.Generator().manual_seed(seed)
    x = noise * torch.randn(n, generator=g)
    t = 6
    for i, p in enumerate(periods):
        if t + 2 >= n:
            break
        a = amp * (0.45 if i % 5 == 3 and amp > 1 else 1.0)
        x[t - 1] += 0.3 * a
        x[t] += 2.0 * a
        x[t + 1] -= 0.7 * a
        t += p
    return x


def make_inputs():
    return [
        (_ecg([16] * 20),),
        (_ecg([8] * 40, seed=1),),
        (_ecg([28] * 12, seed=2),),
        (_ecg([10, 26, 7, 30, 12, 9, 33, 14, 40], seed=3),),
        (_ecg([16] * 20, amp=1.5, seed=4),),
        (_ecg([], noise=0.0),),
        (torch.zeros(2),),
        (_ecg([200], seed=6, n=100),),
    ]
