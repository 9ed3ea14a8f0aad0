"""Gaussian splatting on the CPU: projection, culling, per-tile lists sorted by depth, alpha compositing with early stop, densify and prune."""

import math
from collections import defaultdict
from typing import DefaultDict, Dict, List, Literal, Optional, Tuple, TypedDict

import numpy as np
import torch
import torch.nn as nn

Tile = Tuple[int, int]


class Stats(TypedDict):
    visible: int
    tiles: int
    blended: int
    stopped: int


def quat_to_mat(q: torch.Tensor) -> torch.Tensor:
    w, x, y, z = nn.functional.normalize(q, dim=-1).unbind(-1)
    return torch.stack([
        1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y),
        2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x),
        2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y),
    ], -1).reshape(*q.shape[:-1], 3, 3)


class Splats(nn.Module):
    def __init__(self, n=12, tile=4, near=0.2):
        super().__init__()
        self.means = nn.Parameter(torch.randn(n, 3) * 0.6 + torch.tensor([0.0, 0.0, 2.5]))
        self.scales = nn.Parameter(torch.full((n, 3), -2.0) + torch.randn(n, 3) * 0.2)
        self.quats = nn.Parameter(torch.randn(n, 4))
        self.opacity = nn.Parameter(torch.randn(n))
        self.colors = nn.Parameter(torch.rand(n, 3))
        self.register_buffer("alive", torch.ones(n, dtype=torch.bool))
        self.register_buffer("seen", torch.zeros(n))
        self.tile, self.near = tile, near
        self.age = 0

    def covariance2d(self, t, J):
        R = quat_to_mat(self.quats)
        S = torch.diag_embed(self.scales.exp())
        M = R @ S
        sigma = M @ M.transpose(-1, -2)
        cov = J @ sigma @ J.transpose(-1, -2)
        return cov + 0.3 * torch.eye(2)

    def project(self, focal: float, size: Tuple[int, int]):
        h, w = size
        z = self.means[:, 2]
        ok = self.alive & (z > self.near)
        zs = torch.where(ok, z, torch.ones_like(z))
        u = focal * self.means[:, 0] / zs + w / 2
        v = focal * self.means[:, 1] / zs + h / 2
        zeros = torch.zeros_like(zs)
        J = torch.stack([torch.stack([focal / zs, zeros, -focal * self.means[:, 0] / zs ** 2], -1),
                         torch.stack([zeros, focal / zs, -focal * self.means[:, 1] / zs ** 2], -1)], -2)
        cov = self.covariance2d(self.means, J)
        det = cov[:, 0, 0] * cov[:, 1, 1] - cov[:, 0, 1] ** 2
        mid = 0.5 * (cov[:, 0, 0] + cov[:, 1, 1])
        radius = torch.ceil(3 * torch.sqrt(mid + torch.sqrt(torch.clamp(mid ** 2 - det, min=0.1))))
        inside = ok & (u + radius > 0) & (u - radius < w) & (v + radius > 0) & (v - radius < h)
        return u, v, z, torch.linalg.inv(cov), radius, inside.nonzero().flatten()

    def bin(self, u, v, z, radius, visible, size) -> Dict[Tile, List[int]]:
        h, w = size
        rows, cols = math.ceil(h / self.tile), math.ceil(w / self.tile)
        bins: DefaultDict[Tile, List[Tuple[float, int]]] = defaultdict(list)
        for g in visible.tolist():
            x0 = max(0, int((u[g] - radius[g]) // self.tile))
            x1 = min(cols - 1, int((u[g] + radius[g]) // self.tile))
            y0 = max(0, int((v[g] - radius[g]) // self.tile))
            y1 = min(rows - 1, int((v[g] + radius[g]) // self.tile))
            for ty in range(y0, y1 + 1):
                for tx in range(x0, x1 + 1):
                    bins[ty, tx].append((z[g].item(), g))
        return {t: [g for _, g in sorted(entries)] for t, entries in sorted(bins.items())}

    def composite(self, image, tile: Tile, order: List[int], u, v, conic, stats: Stats, cutoff=1e-2):
        ty, tx = tile
        y0, x0 = ty * self.tile, tx * self.tile
        y1, x1 = min(y0 + self.tile, image.shape[0]), min(x0 + self.tile, image.shape[1])
        ys, xs = torch.meshgrid(torch.arange(y0, y1) + 0.5, torch.arange(x0, x1) + 0.5, indexing="ij")
        T = torch.ones(y1 - y0, x1 - x0)
        acc = torch.zeros(y1 - y0, x1 - x0, 3)
        for g in order:
            d = torch.stack([xs - u[g], ys - v[g]], -1)
            power = -0.5 * torch.einsum("hwi,ij,hwj->hw", d, conic[g], d)
            alpha = (torch.sigmoid(self.opacity[g]) * power.exp()).clamp(max=0.99)
            alpha = torch.where(alpha < 1 / 255, torch.zeros_like(alpha), alpha)
            acc += (T * alpha)[..., None] * self.colors[g]
            T = T * (1 - alpha)
            self.seen[g] += alpha.mean()
            stats["blended"] += 1
            if T.max() < cutoff:
                stats["stopped"] += 1
                break
        image[y0:y1, x0:x1] = acc + T[..., None]

    def prune(self, mode: Literal["opacity", "unseen"]) -> int:
        before = int(self.alive.sum())
        if mode == "opacity":
            self.alive &= torch.sigmoid(self.opacity) > 0.3
        elif mode == "unseen":
            self.alive &= self.seen > 0
        else:
            raise NotImplementedError(f"prune by {mode!r}")
        return before - int(self.alive.sum())

    @torch.no_grad()
    def forward(self, focal: float, size: Tuple[int, int] = (8, 8), prune: Optional[str] = None):
        self.age += 1
        pruned = self.prune(prune) if prune else 0
        image = torch.ones(*size, 3)
        stats: Stats = {"visible": 0, "tiles": 0, "blended": 0, "stopped": 0}
        u, v, z, conic, radius, visible = self.project(focal, size)
        stats["visible"] = visible.numel()
        if visible.numel():
            lists = self.bin(u, v, z, radius, visible, size)
            stats["tiles"] = len(lists)
            for tile, order in lists.items():
                self.composite(image, tile, order, u, v, conic, stats)
        psnr = -10 * math.log10(max((image - 1).pow(2).mean().item(), 1e-9))
        return image, stats, pruned, psnr, self.age


STATEFUL = True


def make_model():
    torch.manual_seed(0)
    m = Splats()
    with torch.no_grad():
        m.opacity[:3] = 6.0
        m.scales[:3] = 0.5
    return m.eval()


def make_inputs():
    return [(8.0,), (4.0, (6, 10)), (8.0, (8, 8), "opacity"), (60.0, (5, 5)), (8.0, (4, 12), "unseen"), (8.0, (4, 4), "age")]
