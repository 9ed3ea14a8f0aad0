"""Neural cellular automaton: alive masking, fire rate from a seeded mask, stops when dead or stable, damage and regrowth, snapshots."""
import dataclasses
import enum
from typing import Callable, List, Optional, Tuple, Union
import torch
import torch.nn as nn
import torch.nn.functional as F


class Fate(enum.IntEnum):
    GROWING = 0
    STABLE = 1
    DEAD = 2
    EXPLODED = 3


@dataclasses.dataclass
class Trace:
    alive: List[int] = dataclasses.field(default_factory=list)
    energy: List[float] = dataclasses.field(default_factory=list)
    snapshots: List[torch.Tensor] = dataclasses.field(default_factory=list)
    fate: Fate = Fate.GROWING

    def record(self, alive: int, energy: float, picture: Optional[torch.Tensor] = None) -> "Trace":
        self.alive.append(alive)
        self.energy.append(energy)
        if picture is not None:
            self.snapshots.append(picture.clone())
        return self

    def settled(self, window: int = 3, tol: float = 1e-2) -> bool:
        if len(self.energy) <= window:
            return False
        recent = self.energy[-window - 1:]
        mean = sum(recent) / len(recent)
        return all(abs(e - mean) <= tol * max(abs(mean), 1e-6) for e in recent)


def circle_damage(x: torch.Tensor, cy: int, cx: int, radius: float) -> torch.Tensor:
    _, _, h, w = x.shape
    yy = torch.arange(h).view(-1, 1)
    xx = torch.arange(w).view(1, -1)
    hole = ((yy - cy) ** 2 + (xx - cx) ** 2) <= radius ** 2
    return x.masked_fill(hole, 0.0)


class Perception(nn.Module):
    def __init__(self, channels):
        super().__init__()
        ident = torch.tensor([[0., 0, 0], [0, 1, 0], [0, 0, 0]])
        sobel = torch.tensor([[-1., 0, 1], [-2, 0, 2], [-1, 0, 1]]) / 8
        bank = torch.stack([ident, sobel, sobel.T])
        self.register_buffer("kernel", bank.repeat(channels, 1, 1)[:, None])
        self.channels = channels

    def forward(self, x):
        return F.conv2d(F.pad(x, (1, 1, 1, 1), mode="circular"), self.kernel, groups=self.channels)


class NCA(nn.Module):
    def __init__(self, channels=8, hidden=16):
        super().__init__()
        self.channels = channels
        self.perceive = Perception(channels)
        self.update = nn.Sequential(nn.Conv2d(3 * channels, hidden, 1), nn.ReLU(), nn.Conv2d(hidden, channels, 1, bias=False))
        self.events: dict[int, Callable] = {}
        self.snapshot_every = 4

    @property
    def visible(self):
        return slice(0, 4)

    def alive(self, x):
        return F.max_pool2d(x[:, 3:4], kernel_size=3, stride=1, padding=1) > 0.1

    def seed(self, size: Union[int, Tuple[int, int]]):
        h, w = (size, size) if isinstance(size, int) else size
        x = torch.zeros(1, self.channels, h, w)
        x[:, 3:, h // 2, w // 2] = 1.0
        return x

    def step(self, x, fire=None, rate=1.0):
        before = self.alive(x)
        dx = self.update(self.perceive(x))
        if fire is not None:
            dx = dx * (fire < rate).to(dx.dtype)
        x = x + dx
        return x * (before & self.alive(x)).float()

    def judge(self, x, trace: Trace) -> Fate:
        if trace.alive[-1] == 0:
            return Fate.DEAD
        if trace.energy[-1] > 50 or trace.energy[-1] != trace.energy[-1]:
            return Fate.EXPLODED
        return Fate.STABLE if trace.settled() else Fate.GROWING

    @torch.no_grad()
    def forward(self, start, steps: int = 12, fire: Optional[torch.Tensor] = None, damage: Optional[Tuple[int, int, int, float]] = None):
        x = start if start.dim() == 4 else self.seed(tuple(start.shape))
        trace, step = Trace(), 0
        damaged = damage is None
        while step < steps:
            rate = 0.5 if fire is not None else 1.0
            x = self.step(x, None if fire is None else fire[step % len(fire)], rate)
            take = step % self.snapshot_every == 0
            trace.record(self.alive(x).sum().item(), x.pow(2).mean().sqrt().item() * 10, x[0, self.visible] if take else None)
            step += 1
            if not damaged and step >= damage[0]:
                x = circle_damage(x, *damage[1:])
                damaged = True
                continue
            fate = self.judge(x, trace)
            if fate is not Fate.GROWING:
                trace.fate = fate
                break
        rgba = x[:, self.visible].clamp(0, 1)
        white = 1 - rgba[:, 3:] + rgba[:, :3]
        return white, trace, int(trace.fate), trace.fate.name, step


def make_model():
    torch.manual_seed(6)
    m = NCA()
    with torch.no_grad():
        m.update[2].weight.mul_(0.5)
    return m.eval()


def make_inputs():
    g = torch.Generator().manual_seed(0)
    return [
        (torch.zeros(10, 10),),
        (torch.zeros(7, 9), 6, None, (2, 3, 4, 2.0)),
        (torch.randn(1, 8, 8, 8, generator=g), 9, torch.rand(4, 1, 1, 8, 8, generator=g)),
        (torch.zeros(1, 8, 5, 5),),
        (torch.randn(1, 8, 6, 6, generator=g) * 300, 5),
        (torch.zeros(6, 6), 8, None, (3, 3, 3, 50.0)),
        (torch.randn(1, 8, 4, 4, generator=g).abs() * 0.01, 3),
    ]
