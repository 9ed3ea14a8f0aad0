"""Audio: a chain of effects chosen by tags at run time, each a module with its own state; dry/wet mix, limiter with look-ahead, latency compensation; the rack is a list of modules."""
import math
from enum import Enum
from typing import Dict, List, Optional, Tuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn


class Effect(nn.Module):
    latency = 0

    def __init__(self, mix: float = 1.0):
        super().__init__()
        self.mix = mix

    def process(self, x: Tensor) -> Tensor:
        raise NotImplementedError

    def forward(self, x: Tensor) -> Tensor:
        wet = self.process(x)
        return self.mix * wet + (1 - self.mix) * x


class Drive(Effect):
    def __init__(self, gain: float, mix: float = 0.7):
        super().__init__(mix)
        self.gain = nn.Parameter(torch.tensor(gain))

    def process(self, x):
        return torch.tanh(x * self.gain) / torch.tanh(self.gain)


class Echo(Effect):
    latency = 0

    def __init__(self, delay: int, feedback: float, taps: int = 3):
        super().__init__(0.5)
        self.delay, self.feedback, self.taps = delay, feedback, taps

    def process(self, x):
        y = x.clone()
        for k in range(1, self.taps + 1):
            d = self.delay * k
            if d >= x.shape[-1]:
                break
            y[..., d:] += self.feedback ** k * x[..., :-d]
        return y


class LowPass(Effect):
    latency = 2

    def __init__(self, width: int = 5):
        super().__init__(1.0)
        self.register_buffer("kernel", torch.hann_window(width + 2, periodic=False)[1:-1])

    def process(self, x):
        k = (self.kernel / self.kernel.sum()).view(1, 1, -1)
        return F.conv1d(x[None, None], k, padding=k.shape[-1] // 2)[0, 0]


class Compressor(Effect):
    def __init__(self, threshold: float = 0.3, ratio: float = 4.0):
        super().__init__(1.0)
        self.threshold, self.ratio = threshold, ratio
        self.register_buffer("envelope", torch.zeros(()))

    def process(self, x):
        out = []
        for s in x.split(4):
            peak = s.abs().max() if s.numel() else self.envelope
            coef = 0.6 if peak > self.envelope else 0.1
            self.envelope.lerp_(peak, coef)
            over = self.envelope / self.threshold
            gain = over.clamp(min=1.0) ** (1 / self.ratio - 1)
            out.append(s * gain)
        return torch.cat(out)


class Tag(str, Enum):
    WARM = "warm"
    SPACE = "space"
    LOUD = "loud"
    SOFT = "soft"


RACK: Dict[Tag, Tuple[int, ...]] = {Tag.WARM: (0, 2), Tag.SPACE: (1,), Tag.LOUD: (3, 0), Tag.SOFT: (2,)}


class Chain(nn.Module):
    def __init__(self):
        super().__init__()
        self.rack = nn.ModuleList([Drive(3.0), Echo(5, 0.4), LowPass(), Compressor()])
        self.tagger = nn.Linear(3, len(Tag))

    def tags(self, x: Tensor) -> List[Tag]:
        feats = torch.stack([x.abs().mean(), x.diff().abs().mean(), x.abs().amax()])
        p = torch.sigmoid(self.tagger(feats))
        return [t for t, v in zip(Tag, p.tolist()) if v > 0.5]

    def plan(self, tags: List[Tag], limit: int) -> List[int]:
        order: List[int] = []
        for t in tags:
            for i in RACK[t]:
                if i not in order:
                    order.append(i)
        return order[:limit]

    def limiter(self, x: Tensor, ceiling: float = 0.9) -> Tuple[Tensor, int]:
        gain, hits = 1.0, 0
        y = x.clone()
        for i in range(len(x)):
            ahead = x[i:i + 3].abs().max().item()
            if ahead * gain > ceiling:
                gain = ceiling / ahead
                hits += 1
            else:
                gain = min(1.0, gain * 1.05)
            y[i] *= gain
        return y, hits

    @torch.no_grad()
    def forward(self, x: Tensor, limit: int = 3, bypass: Optional[List[int]] = None):
        tags = self.tags(x)
        steps = [i for i in self.plan(tags, limit) if bypass is None or i not in bypass]
        active = [self.rack[i] for i in steps]
        delay = sum(e.latency for e in active)
        for effect in active:
            x = effect(x)
        drives = [e.gain.item() for e in active if isinstance(e, Drive)]
        if delay:
            x = torch.roll(x, -delay)
            x[-delay:] = 0
        x, hits = self.limiter(x)
        loudness = 20 * math.log10(max(x.square().mean().sqrt().item(), 1e-6))
        return x, [t.value for t in tags], steps, delay, hits, round(loudness, 3), drives, type(active[-1]).__name__ if active else None


STATEFUL = True


def make_model():
    torch.manual_seed(5)
    m = Chain().eval()
    with torch.no_grad():
        m.tagger.weight.mul_(4)
    return m


def make_inputs():
    t = torch.arange(24).float()
    return [(torch.sin(t * 0.5),), (0.1 * torch.cos(t * 2.0), 2), (2 * torch.sin(t * t * 0.1),), (torch.sin(t[:9]) * 3, 4, [0]), (torch.zeros(12), 1), (torch.sin(t * 3), 3, [0, 1, 2, 3])]
