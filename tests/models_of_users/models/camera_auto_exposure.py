"""Embedded camera pipeline: black level, defective pixels, white balance, auto exposure with hysteresis, tone map, focus sweep."""

import enum
import functools
from typing import Callable, List, NamedTuple, Optional, Union

import torch
from torch import nn
from torch.nn import functional as F


class AeState(enum.Enum):
    SEARCHING = enum.auto()
    CONVERGED = enum.auto()
    CLIPPED = enum.auto()


class Exposure(NamedTuple):
    shutter_us: int = 10_000
    gain_db: float = 0.0

    @property
    def total(self) -> float:
        return self.shutter_us * 10 ** (self.gain_db / 20)

    def scaled(self, factor: float, max_shutter: int = 33_000, max_gain: float = 24.0) -> "Exposure":
        target = self.total * factor
        shutter = int(min(max(target, 100), max_shutter))
        gain = 0.0
        while shutter * 10 ** (gain / 20) < target and gain < max_gain:
            gain += 0.5
        return self._replace(shutter_us=shutter, gain_db=gain)


def stage(fn: Callable):
    """Counts how often a stage ran."""

    @functools.wraps(fn)
    def wrapper(self, *args, **kwargs):
        self.runs[fn.__name__] = self.runs.get(fn.__name__, 0) + 1
        return fn(self, *args, **kwargs)

    return wrapper


class Isp(nn.Module):
    PATTERN = {"R": (0, 0), "Gr": (0, 1), "Gb": (1, 0), "B": (1, 1)}

    def __init__(self, target=0.4, tolerance=0.05, black=16 / 255):
        super().__init__()
        self.target, self.tolerance, self.black = target, tolerance, black
        self.exposure = Exposure()
        self.state = AeState.SEARCHING
        self.runs = {}
        self.register_buffer("wb", torch.ones(3))
        self.register_buffer("ccm", torch.eye(3) * 1.2 - 0.1)
        self.gamma = nn.Parameter(torch.tensor(2.2))

    @stage
    def fix_defects(self, raw: torch.Tensor, threshold=0.5):
        med = F.unfold(F.pad(raw[None, None], (2, 2, 2, 2), mode="reflect"), 5)
        med = med.view(25, *raw.shape)[::2].median(dim=0).values
        bad = (raw - med).abs() > threshold
        n = int(bad.sum())
        if n == 0:
            return raw, 0
        out = raw.clone()
        out[bad] = med[bad]
        return out, n

    @stage
    def demosaic(self, raw):
        planes = {k: raw[y::2, x::2] for k, (y, x) in self.PATTERN.items()}
        g = (planes["Gr"] + planes["Gb"]) / 2
        rgb = torch.stack((planes["R"], g, planes["B"]))
        return F.interpolate(rgb[None], scale_factor=2, mode="bilinear", align_corners=False)[0]

    @stage
    def white_balance(self, rgb, speed=0.5):
        means = rgb.flatten(1).mean(1)
        if (means < 1e-3).any():
            return rgb * self.wb[:, None, None]
        gains = means[1] / means
        self.wb = torch.lerp(self.wb, gains, speed)
        return rgb * self.wb[:, None, None]

    def auto_exposure(self, rgb) -> Union[Exposure, None]:
        luma = (rgb * rgb.new_tensor([0.299, 0.587, 0.114])[:, None, None]).sum(0)
        hist = torch.histc(luma, bins=16, min=0, max=1)
        clipped = (hist[-1] / hist.sum()).item() if hist.sum() > 0 else 0.0
        mean = luma.mean().item()
        if clipped > 0.25:
            self.state, factor = AeState.CLIPPED, 0.5
        elif abs(mean - self.target) <= self.tolerance * (2 if self.state is AeState.CONVERGED else 1):
            self.state = AeState.CONVERGED
            return None
        else:
            self.state, factor = AeState.SEARCHING, self.target / max(mean, 1e-2)
        self.exposure = self.exposure.scaled(min(max(factor, 0.25), 4.0))
        return self.exposure

    @staticmethod
    def sharpness(rgb) -> float:
        gray = rgb.mean(0, keepdim=True)[None]
        kernel = torch.tensor([[0.0, 1, 0], [1, -4, 1], [0, 1, 0]])
        return F.conv2d(gray, kernel[None, None]).var().item()

    def forward(self, raw: torch.Tensor, previous_focus: Optional[List[float]] = None):
        h, w = raw.shape
        if h % 2 or w % 2:
            raise ValueError(f"Bayer frames have even sizes, not {h}x{w}")
        x = (raw - self.black).clamp(min=0) / (1 - self.black)
        x, defects = self.fix_defects(x)
        rgb = self.white_balance(self.demosaic(x))
        rgb = torch.einsum("ij,jhw->ihw", self.ccm, rgb).clamp(0, 1)
        new = self.auto_exposure(rgb)
        rgb = rgb ** (1 / self.gamma)
        focus = [*(previous_focus or []), self.sharpness(rgb)]
        peaked = len(focus) >= 3 and focus[-2] > max(focus[-1], focus[-3])
        meta = dict(defects=defects, state=self.state.name, shutter=self.exposure.shutter_us, gain=self.exposure.gain_db)
        return rgb, new, meta, focus, peaked, dict(self.runs)


STATEFUL = True


def make_model():
    torch.manual_seed(0)
    return Isp().eval()


def make_inputs():
    torch.manual_seed(1)
    base = torch.rand(8, 12) * 0.3 + 0.1
    hot = base.clone()
    hot[3, 4] = 1.0
    return [(base,), (hot, [0.5]), (torch.ones(8, 12),), (torch.zeros(6, 8), [0.1, 0.9]), (base + 0.25,), (base[:, :7],)]
