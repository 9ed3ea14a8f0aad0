"""Event-driven gesture policy: event queue binned adaptively, spiking conv layers with surrogate states, early decision by margin, refractory control."""
from __future__ import annotations
import copy
import enum
from contextlib import contextmanager
from typing import Iterator, List, NamedTuple, Protocol, runtime_checkable
import torch
import torch.nn as nn


class Polarity(enum.Enum):
    OFF = -1
    ON = 1

    @classmethod
    def of(cls, p: int) -> "Polarity":
        return cls.ON if p > 0 else cls.OFF

    @property
    def channel(self) -> int:
        return (self.value + 1) // 2


class Gesture(enum.IntEnum):
    NONE = 0
    WAVE = enum.auto()
    CLAP = enum.auto()
    POINT = enum.auto()


class Event(NamedTuple):
    t: float
    x: int
    y: int
    p: int


@runtime_checkable
class Resettable(Protocol):
    def reset(self) -> None: ...


class LIF(nn.Module):
    def __init__(self, tau=0.7, threshold=1.0, refractory=1):
        super().__init__()
        self.tau, self.threshold, self.refractory = tau, threshold, refractory
        self.v = None
        self.cool = None

    def reset(self):
        self.v = self.cool = None

    def forward(self, current):
        if self.v is None or self.v.shape != current.shape:
            self.v = torch.zeros_like(current)
            self.cool = torch.zeros_like(current, dtype=torch.int64)
        ready = self.cool == 0
        self.v = torch.where(ready, self.v * self.tau + current, self.v)
        spikes = (self.v >= self.threshold) & ready
        self.v = self.v.masked_fill(spikes, 0.0)
        self.cool = torch.where(spikes, torch.full_like(self.cool, self.refractory), (self.cool - 1).clamp_min(0))
        return spikes.float()


class SpikingNet(nn.Module):
    def __init__(self, classes=4):
        super().__init__()
        self.features = nn.Sequential(nn.Conv2d(2, 6, 3, padding=1, bias=False), LIF(), nn.AvgPool2d(2), nn.Conv2d(6, 8, 3, padding=1, bias=False), LIF(threshold=0.5), nn.AdaptiveAvgPool2d(2))
        self.readout = nn.Linear(32, classes)
        self.classes = classes

    def reset(self):
        for m in self.modules():
            if m is not self and isinstance(m, Resettable):
                m.reset()

    def forward(self, frame):
        x = self.features(frame[None])
        return self.readout(x.flatten(1))[0], x.count_nonzero().item()


def bins(events: List[Event], count: int, window: float) -> Iterator[List[Event]]:
    """A bin closes after `count` events or `window` seconds."""
    current: List[Event] = []
    start = None
    for e in events:
        if start is None:
            start = e.t
        if len(current) == count or e.t - start > window:
            yield current
            current, start = [], e.t
        current.append(e)
    if current:
        yield current


class Policy(nn.Module):
    def __init__(self, size=8, margin=0.6, patience=3):
        super().__init__()
        self.net = SpikingNet()
        self.size, self.margin, self.patience = size, margin, patience

    @contextmanager
    def session(self):
        self.net.reset()
        try:
            yield self.net
        finally:
            self.net.reset()

    def rasterize(self, events: List[Event]) -> torch.Tensor:
        frame = torch.zeros(2, self.size, self.size)
        for e in events:
            if not (0 <= e.x < self.size and 0 <= e.y < self.size):
                raise IndexError(f"event at ({e.x}, {e.y}) outside of {self.size}x{self.size}")
            frame[Polarity.of(e.p).channel, e.y, e.x] += 1
        return frame.clamp_(max=3)

    @torch.no_grad()
    def forward(self, times: torch.Tensor, xyp: torch.Tensor, count: int = 6, window: float = 0.5):
        if times.numel() > 1 and (times.diff() < 0).any():
            order = times.argsort(stable=True)
            times, xyp = times[order], xyp[order]
        events = [Event(t, *row) for t, row in zip(times.tolist(), xyp.tolist())]
        evidence = torch.zeros(self.net.classes)
        log, quiet = [], 0
        decision = Gesture.NONE
        with self.session() as net:
            for step, chunk in enumerate(bins(events, count, window)):
                logits, active = net(self.rasterize(chunk))
                if active == 0:
                    quiet += 1
                    if quiet > self.patience:
                        break
                    continue
                quiet = 0
                evidence = 0.8 * evidence + logits
                top2 = evidence.topk(2)
                gap = (top2.values[0] - top2.values[1]).item()
                log.append({"bin": step, "events": len(chunk), "gap": gap, "lead": Gesture(int(top2.indices[0])).name})
                if gap > self.margin:
                    decision = Gesture(top2.indices[0].item())
                    break
            else:
                if log and log[-1]["gap"] > self.margin / 2:
                    decision = Gesture[log[-1]["lead"]]
        best = max(log, key=lambda d: d["gap"], default=None)
        return decision.value, decision.name.title(), evidence, log, best and best["bin"]


def make_model():
    torch.manual_seed(10)
    m = Policy()
    for c in m.net.features:
        if isinstance(c, nn.Conv2d):
            c.weight.data.mul_(9)
    m.net.readout.weight.data.mul_(9)
    return m.eval()


def make_inputs():
    g = torch.Generator().manual_seed(6)

    def ev(n, span=3.0, shuffle=False):
        t = torch.rand(n, generator=g) * span
        t = t if shuffle else t.sort().values
        xy = torch.randint(0, 8, (n, 2), generator=g)
        p = torch.randint(0, 2, (n, 1), generator=g) * 2 - 1
        return t, torch.cat([xy, p], 1)
    bad = (torch.tensor([0.1, 0.2]), torch.tensor([[1, 2, 1], [9, 0, 1]]))
    return [ev(12), ev(40, shuffle=True), (*ev(30), 3, 0.1), ev(0), bad, (*ev(60, 0.5), 2, 1.0), (*ev(8, 40.0), 6, 0.2)]
