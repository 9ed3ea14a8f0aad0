"""Sliding-window segmentation of a volume, Gaussian blending, then the largest component kept and measured."""

import itertools
from collections import deque
from functools import lru_cache
from typing import Sequence, Tuple

import torch
import torch.nn as nn
import torch.nn.functional as F

NEIGHBOURS = [o for o in itertools.product((-1, 0, 1), repeat=3) if sum(map(abs, o)) == 1]


def ensure_tuple(v, n=3):
    return tuple(v) if isinstance(v, (list, tuple)) else (v,) * n


def dense_patch_starts(size: Sequence[int], patch: Sequence[int], overlap: float):
    starts = []
    for s, p in zip(size, patch):
        step = max(int(p * (1 - overlap)), 1)
        n = max(-(-(s - p) // step), 0) + 1
        starts.append([min(i * step, s - p) for i in range(n)])
    return list(itertools.product(*starts))


def gaussian_importance(patch: Tuple[int, ...], sigma_scale=0.125) -> torch.Tensor:
    weight = torch.ones(patch)
    for dim, p in enumerate(patch):
        centre = (p - 1) / 2
        g = torch.exp(-0.5 * ((torch.arange(p, dtype=torch.float) - centre) / (p * sigma_scale)) ** 2)
        shape = [1] * len(patch)
        shape[dim] = p
        weight = weight * g.view(shape)
    return weight.clamp_(min=1e-3)


class TinyUNet(nn.Module):
    def __init__(self, cin=1, classes=2, width=4):
        super().__init__()
        self.enc = nn.Sequential(nn.Conv3d(cin, width, 3, padding=1), nn.InstanceNorm3d(width), nn.LeakyReLU(0.1))
        self.down = nn.Conv3d(width, 2 * width, 2, stride=2)
        self.up = nn.ConvTranspose3d(2 * width, width, 2, stride=2)
        self.head = nn.Conv3d(2 * width, classes, 1)

    def forward(self, x):
        skip = self.enc(x)
        y = self.up(F.leaky_relu(self.down(skip), 0.1))
        return self.head(torch.cat([skip, y], 1))


class Segmenter(nn.Module):
    def __init__(self, patch=(4, 4, 4), overlap=0.5, sw_batch=3, min_voxels=5):
        super().__init__()
        self.patch = ensure_tuple(patch)
        self.overlap = overlap
        self.sw_batch = sw_batch
        self.min_voxels = min_voxels
        self.net = TinyUNet()

    def infer(self, volume):
        pads = []
        for s, p in zip(reversed(volume.shape[2:]), reversed(self.patch)):
            diff = max(p - s, 0)
            pads += [diff // 2, diff - diff // 2]
        if any(pads):
            volume = F.pad(volume, pads, value=0.0)
        weight = gaussian_importance(self.patch)
        starts = dense_patch_starts(volume.shape[2:], self.patch, self.overlap)
        out, count = None, torch.zeros_like(volume)
        for i in range(0, len(starts), self.sw_batch):
            chunk = starts[i:i + self.sw_batch]
            slices = [tuple(slice(s, s + p) for s, p in zip(start, self.patch)) for start in chunk]
            batch = torch.cat([volume[(slice(None), slice(None)) + sl] for sl in slices])
            prob = self.net(batch).softmax(1)
            if out is None:
                out = volume.new_zeros((1, prob.size(1)) + tuple(volume.shape[2:]))
            for sl, p in zip(slices, prob):
                out[0][(slice(None),) + sl] += p * weight
                count[0][(slice(None),) + sl] += weight
        return out / count, pads

    def components(self, mask: torch.Tensor):
        D, H, W = mask.shape
        todo = set(map(tuple, mask.nonzero().tolist()))
        found = []
        for seed in sorted(todo):
            if seed not in todo:
                continue
            todo.discard(seed)
            queue, members = deque([seed]), []
            while queue:
                z, y, x = queue.popleft()
                members.append((z, y, x))
                for dz, dy, dx in NEIGHBOURS:
                    n = (z + dz, y + dy, x + dx)
                    if n in todo:
                        todo.remove(n)
                        queue.append(n)
            found.append(members)
        return sorted(found, key=len, reverse=True)

    @torch.inference_mode()
    def forward(self, volume: torch.Tensor, spacing: Tuple[float, float, float] = (1.0, 1.0, 1.0)):
        if volume.dim() == 3:
            volume = volume[None, None]
        prob, pads = self.infer(volume)
        mask = prob[0].argmax(0) == 1
        comps = [c for c in self.components(mask) if len(c) >= self.min_voxels]
        if not comps:
            return torch.zeros_like(mask), 0.0, None
        largest = torch.tensor(comps[0])
        keep = torch.zeros_like(mask)
        keep[largest[:, 0], largest[:, 1], largest[:, 2]] = True
        voxel = spacing[0] * spacing[1] * spacing[2]
        bbox = torch.stack([largest.amin(0), largest.amax(0) + 1])
        return keep, keep.sum().item() * voxel, bbox


def make_model():
    torch.manual_seed(2)
    model = Segmenter()
    with torch.no_grad():
        model.net.head.weight.mul_(6)
        model.net.head.bias.copy_(torch.tensor([0.6, 0.0]))
    return model.eval()


def make_inputs():
    torch.manual_seed(7)
    return [
        (torch.randn(1, 1, 6, 5, 4),),
        (torch.randn(1, 1, 3, 7, 4), (0.5, 1.0, 2.0)),
        (torch.full((1, 1, 4, 4, 5), 0.0),),
    ]
