"""Music transcription: YIN pitch, onset net, note tracker with pedal, quantisation to a grid, key estimation; plus a compressor with state."""
from __future__ import annotations
import math
from dataclasses import dataclass
from typing import Iterator, List, Optional, Tuple

import torch
import torch.nn as nn
import torch.nn.functional as F

NAMES = "C C# D D# E F F# G G# A A# B".split()
MAJOR = (0, 2, 4, 5, 7, 9, 11)


@dataclass
class Note:
    pitch: int
    onset: int
    offset: Optional[int] = None
    velocity: float = 0.0

    @property
    def name(self) -> str:
        return f"{NAMES[self.pitch % 12]}{self.pitch // 12 - 1}"

    def __len__(self):
        return (self.offset or self.onset) - self.onset


def hz_to_midi(hz: float) -> int:
    return int(round(69 + 12 * math.log2(hz / 440.0)))


class Compressor(nn.Module):
    def __init__(self, threshold=-20.0, ratio=4.0, attack=0.3, release=0.05):
        super().__init__()
        self.threshold, self.ratio = threshold, ratio
        self.attack, self.release = attack, release
        self.register_buffer("env", torch.tensor(0.0))

    def forward(self, frame):
        level = frame.abs().max()
        coef = self.attack if level > self.env else self.release
        self.env += coef * (level - self.env)
        db = 20 * torch.log10(self.env.clamp_min(1e-6))
        over = db - self.threshold
        if over <= 0:
            return frame, 0.0
        gain = -over * (1 - 1 / self.ratio)
        return frame * 10 ** (gain / 20), gain.item()


class Yin:
    def __init__(self, sr: int, fmin=80.0, fmax=800.0, threshold=0.2):
        self.sr, self.threshold = sr, threshold
        self.tau_min, self.tau_max = int(sr / fmax), int(sr / fmin)

    def __call__(self, frame) -> Tuple[Optional[float], float]:
        n = frame.numel()
        half = min(self.tau_max + 1, n // 2)
        if half <= self.tau_min:
            return None, 1.0
        d = torch.stack([((frame[: n - half] - frame[tau: n - half + tau]) ** 2).sum() for tau in range(half)])
        cum = torch.cumsum(d[1:], 0)
        cmnd = torch.cat([torch.ones(1), d[1:] * torch.arange(1, half) / cum.clamp_min(1e-9)])
        vals = cmnd.tolist()
        tau = self.tau_min
        while tau < half:
            if vals[tau] < self.threshold:
                while tau + 1 < half and vals[tau + 1] < vals[tau]:
                    tau += 1
                break
            tau += 1
        else:
            return None, min(vals)
        if 0 < tau < half - 1:
            a, b, c = vals[tau - 1: tau + 2]
            shift = 0.5 * (a - c) / (a - 2 * b + c) if abs(a - 2 * b + c) > 1e-12 else 0.0
        else:
            shift = 0.0
        return self.sr / (tau + shift), vals[tau]


class Transcriber(nn.Module):
    def __init__(self, sr=2000, frame=128):
        super().__init__()
        self.comp = Compressor()
        self.onset = nn.Sequential(nn.Linear(frame // 2 + 1, 8), nn.ReLU(), nn.Linear(8, 1))
        self.sr, self.frame = sr, frame
        self.yin = Yin(sr)
        self.register_buffer("window", torch.hann_window(frame))

    def frames(self, audio) -> Iterator[Tuple[int, torch.Tensor]]:
        for i, start in enumerate(range(0, audio.numel() - self.frame + 1, self.frame)):
            yield i, audio[start: start + self.frame]

    def key(self, notes: List[Note]) -> Optional[str]:
        if not notes:
            return None
        hist = [0] * 12
        for n in notes:
            hist[n.pitch % 12] += max(1, len(n))
        scores = [sum(hist[(k + s) % 12] for s in MAJOR) for k in range(12)]
        return NAMES[scores.index(max(scores))] + " major"

    def forward(self, audio: torch.Tensor, pedal: bool = False):
        notes: List[Note] = []
        current: Optional[Note] = None
        reduction = 0.0
        for i, frame in self.frames(audio):
            frame, gain = self.comp(frame)
            reduction = min(reduction, gain)
            spec = torch.fft.rfft(frame * self.window).abs()
            strong = torch.sigmoid(self.onset(spec)) > 0.5
            hz, aperiodicity = self.yin(frame)
            if hz is None:
                if current is not None and not pedal:
                    current.offset = i
                    notes.append(current)
                    current = None
                continue
            pitch = hz_to_midi(hz)
            if current is None or abs(pitch - current.pitch) >= 1 or (strong and i - current.onset > 3):
                if current is not None:
                    current.offset = i
                    notes.append(current)
                current = Note(pitch, i, velocity=float(frame.pow(2).mean().sqrt()) * (1 - aperiodicity))
        if current:
            current.offset = audio.numel() // self.frame
            notes.append(current)
        notes = [n for n in notes if len(n) > 0]
        text = " ".join("{}:{}".format(n.name, len(n)) for n in notes)
        vel = torch.tensor([n.velocity for n in notes])
        return text, vel, self.key(notes), reduction


STATEFUL = True


def make_model():
    torch.manual_seed(6)
    return Transcriber().eval()


def make_inputs():
    t = torch.arange(512) / 2000.0
    tone = lambda f, a=0.8: a * torch.sin(2 * math.pi * f * t)
    g = torch.Generator().manual_seed(1)
    return [(torch.cat([tone(220), tone(330), torch.zeros(256), tone(220, 0.1)]),), (torch.randn(700, generator=g) * 0.3,), (torch.cat([tone(440), torch.zeros(300), tone(262)]), True), (torch.zeros(100),), (tone(110, 0.01),)]
