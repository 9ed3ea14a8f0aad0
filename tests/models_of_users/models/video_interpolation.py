"""Video frame interpolation: scene cuts, adaptive recursion between frames, cached features."""
from __future__ import annotations
from collections import OrderedDict
from dataclasses import dataclass
from typing import Iterable, Optional
import torch
from torch import nn, Tensor
import torch.nn.functional as F


def warp(img: Tensor, flow: Tensor) -> Tensor:
    b, _, h, w = img.shape
    ys, xs = torch.meshgrid(torch.arange(h, dtype=img.dtype), torch.arange(w, dtype=img.dtype), indexing="ij")
    grid = torch.stack((xs, ys))[None] + flow
    grid = torch.stack((2 * grid[:, 0] / max(w - 1, 1) - 1, 2 * grid[:, 1] / max(h - 1, 1) - 1), dim=-1)
    return F.grid_sample(img, grid, mode="bilinear", padding_mode="border", align_corners=True)


@dataclass
class Frame:
    index: int
    image: Tensor
    feature: Optional[Tensor] = None
    keyframe: bool = False

    def __lt__(self, other: Frame) -> bool:
        return self.index < other.index


class FeatureCache:
    def __init__(self, capacity: int):
        self.capacity = capacity
        self.items: OrderedDict[int, Tensor] = OrderedDict()
        self.hits = self.misses = 0

    def get(self, frame: Frame, encode) -> Tensor:
        if frame.index in self.items:
            self.hits += 1
            self.items.move_to_end(frame.index)
            return self.items[frame.index]
        self.misses += 1
        value = encode(frame.image)
        self.items[frame.index] = value
        while len(self.items) > self.capacity:
            self.items.popitem(last=False)
        return value


class Interpolator(nn.Module):
    def __init__(self, c: int = 8, max_depth: int = 3, cut: float = 0.9, motion: float = 0.35):
        super().__init__()
        self.enc = nn.Sequential(nn.Conv2d(3, c, 3, 1, 1), nn.ReLU(True), nn.Conv2d(c, c, 3, 1, 1))
        self.flow = nn.Conv2d(2 * c, 4, 3, padding=1)
        self.mask = nn.Conv2d(2 * c + 6, 1, 3, padding=1)
        self.max_depth, self.cut, self.motion = max_depth, cut, motion

    def middle(self, a: Tensor, b: Tensor, fa: Tensor, fb: Tensor) -> tuple[Tensor, float]:
        flow = self.flow(torch.cat([fa, fb], 1))
        f0, f1 = flow.split(2, dim=1)
        w0, w1 = warp(a, 0.5 * f0), warp(b, 0.5 * f1)
        m = torch.sigmoid(self.mask(torch.cat([fa, fb, w0, w1], 1)))
        return m * w0 + (1 - m) * w1, flow.abs().mean().item()

    def between(self, left: Frame, right: Frame, cache: FeatureCache, depth: int = 0) -> list[Frame]:
        if right.index - left.index < 2 or depth >= self.max_depth:
            return []
        fa, fb = cache.get(left, self.enc), cache.get(right, self.enc)
        image, motion = self.middle(left.image, right.image, fa, fb)
        mid = Frame((left.index + right.index) // 2, image.clamp(-3, 3))
        if motion < self.motion:
            return [mid]
        return self.between(left, mid, cache, depth + 1) + [mid] + self.between(mid, right, cache, depth + 1)

    def is_cut(self, a: Tensor, b: Tensor) -> bool:
        sa, sb = (F.adaptive_avg_pool2d(x, 2).flatten(1) for x in (a, b))
        return bool((1 - F.cosine_similarity(sa, sb)).max() > self.cut)

    def forward(self, clip: Tensor, step: int = 8, capacity: int = 3):
        if clip.dim() != 4 or clip.size(0) == 0:
            raise ValueError(f"a clip is (t, 3, h, w), not {list(clip.shape)}")
        frames = [Frame(i * step, f.unsqueeze(0), keyframe=True) for i, f in enumerate(clip.unbind(0))]
        cache = FeatureCache(capacity)
        cuts: list[int] = []
        out = [frames[0]]
        for prev, cur in zip(frames, frames[1:]):
            if self.is_cut(prev.image, cur.image):
                cuts.append(cur.index)
            else:
                out.extend(self.between(prev, cur, cache))
            out.append(cur)
        assert all(x < y for x, y in zip(out, out[1:])), "frames out of order"
        images = torch.cat([f.image for f in out])
        made = [f.index for f in out if not f.keyframe]
        return images, made, cuts, (cache.hits, cache.misses)


def make_model():
    torch.manual_seed(23)
    return Interpolator().eval()


def make_inputs():
    g = torch.Generator().manual_seed(24)
    base = torch.randn(1, 3, 8, 10, generator=g)
    smooth = torch.cat([base + 0.1 * i * torch.randn(1, 3, 8, 10, generator=g) for i in range(4)])
    rough = torch.randn(3, 3, 8, 8, generator=g)
    return [(smooth,), (rough * 2, 4), (smooth * 3, 8, 1), (torch.randn(1, 3, 6, 6, generator=g),), (torch.randn(3, 6, 6, generator=g),), (torch.empty(0, 3, 4, 4),)]
