"""Time series: a streaming anomaly detector; running statistics per channel, alarms with hysteresis and cool-down."""
import abc
import math
import typing as t
from collections import deque
from dataclasses import dataclass, field

import torch
from torch import nn

STATEFUL = True


class Alarm(t.NamedTuple):
    channel: str
    start: int
    end: int
    severity: float


class Statistic(abc.ABC):
    name: t.ClassVar[str] = "base"

    def __init__(self, warmup: int = 4):
        self.warmup = warmup
        self.reset()

    @abc.abstractmethod
    def reset(self): ...

    @abc.abstractmethod
    def push(self, x: float) -> None: ...

    @property
    @abc.abstractmethod
    def ready(self) -> bool: ...

    @abc.abstractmethod
    def score(self, x: float) -> float: ...


class Welford(Statistic):
    name = "welford"

    def reset(self):
        self.n = 0
        self.mean = 0.0
        self.m2 = 0.0

    def push(self, x):
        self.n += 1
        delta = x - self.mean
        self.mean += delta / self.n
        self.m2 += delta * (x - self.mean)

    @property
    def ready(self):
        return self.n >= self.warmup

    @property
    def std(self):
        return math.sqrt(self.m2 / (self.n - 1)) if self.n > 1 else 0.0

    def score(self, x):
        return abs(x - self.mean) / (self.std + 1e-6)


class MedianWindow(Statistic):
    name = "median"

    def __init__(self, warmup=4, size=7):
        self.size = size
        super().__init__(warmup)

    def reset(self):
        self.window = deque()

    def push(self, x):
        self.window.append(x)
        if len(self.window) > self.size:
            self.window.popleft()

    @property
    def ready(self):
        return len(self.window) >= self.warmup

    def score(self, x):
        ordered = sorted(self.window)
        mid = len(ordered) // 2
        median = ordered[mid] if len(ordered) % 2 else (ordered[mid - 1] + ordered[mid]) / 2
        mad = sorted(abs(v - median) for v in ordered)[mid]
        return abs(x - median) / (1.4826 * mad + 1e-6)


@dataclass
class ChannelState:
    statistic: Statistic
    active_since: t.Optional[int] = None
    peak: float = 0.0
    cooldown: int = 0
    seen: t.List[float] = field(default_factory=list)


class StreamMonitor(nn.Module):
    """One call takes a chunk (time x channels) and returns the alarms that ended in it."""

    def __init__(self, channels: t.Mapping[str, str], hidden=6, high=3.0, low=1.5, cooldown=3):
        super().__init__()
        kinds = {cls.name: cls for cls in (Welford, MedianWindow)}
        self.names = list(channels)
        self.states = {name: ChannelState(kinds[kind]()) for name, kind in channels.items()}
        self.predictor = nn.GRUCell(len(channels), hidden)
        self.readout = nn.Linear(hidden, len(channels))
        self.register_buffer("hidden", torch.zeros(1, hidden), persistent=False)
        self.high, self.low, self.cooldown = high, low, cooldown
        self.step = 0

    def _update(self, name: str, residual: float) -> t.Optional[Alarm]:
        state = self.states[name]
        stat = state.statistic
        alarm = None
        if not stat.ready:
            stat.push(residual)
            return None
        s = stat.score(residual)
        if state.cooldown > 0:
            state.cooldown -= 1
        elif state.active_since is None and s > self.high:
            state.active_since, state.peak = self.step, s
        elif state.active_since is not None:
            state.peak = max(state.peak, s)
            if s < self.low:
                alarm = Alarm(name, state.active_since, self.step, round(state.peak, 3))
                state.active_since = None
                state.cooldown = self.cooldown
        if state.active_since is None:
            stat.push(residual)
            state.seen.append(residual)
        return alarm

    def forward(self, chunk: torch.Tensor, reset: bool = False):
        if reset:
            self.hidden.zero_()
            self.step = 0
            for state in self.states.values():
                state.statistic.reset()
                state.active_since, state.cooldown, state.peak = None, 0, 0.0
                state.seen.clear()
        alarms: t.List[Alarm] = []
        for row in chunk:
            prediction = self.readout(self.hidden)[0]
            residuals = (row - prediction).tolist()
            for name, r in zip(self.names, residuals):
                alarm = self._update(name, r)
                if alarm is not None:
                    alarms.append(alarm)
            self.hidden = self.predictor(row.unsqueeze(0), self.hidden)
            self.step += 1
        active = {n: s.active_since for n, s in self.states.items() if s.active_since is not None}
        return alarms, active, {n: len(s.seen) for n, s in self.states.items()}


def make_model():
    torch.manual_seed(0)
    return StreamMonitor({"temp": "welford", "load": "median"}).eval()


def make_inputs():
    g = torch.Generator().manual_seed(0)
    chunks = [torch.randn(10, 2, generator=g) * 0.2 for _ in range(5)]
    chunks[1][3:6, 0] += 6.0
    chunks[2][1:3, 1] -= 5.0
    chunks[2][8:, 0] += 9.0
    return [(chunks[0],), (chunks[1],), (chunks[2],), (chunks[3],), (torch.zeros(0, 2),), (chunks[4], True), (chunks[1],)]
