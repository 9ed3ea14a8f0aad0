"""NeRF rendering: occupancy from hash-like grid, proposal resampling, early ray termination, background handling, camera objects."""
import math
from dataclasses import dataclass
from typing import Callable, Dict, Optional, Tuple
import torch
import torch.nn as nn
import torch.nn.functional as F


@dataclass
class RaySamples:
    t: torch.Tensor
    deltas: torch.Tensor

    def __len__(self):
        return self.t.shape[-1]

    @classmethod
    def from_edges(cls, edges):
        return cls(0.5 * (edges[..., 1:] + edges[..., :-1]), edges[..., 1:] - edges[..., :-1])


class Camera:
    def __init__(self, width, height, focal):
        self.width, self.height, self.focal = width, height, focal

    def rays(self, pose):
        j, i = torch.meshgrid(torch.arange(self.height), torch.arange(self.width), indexing="ij")
        d = torch.stack([(i - self.width / 2) / self.focal, (j - self.height / 2) / self.focal, torch.ones_like(i, dtype=torch.float)], -1)
        d = F.normalize(d.reshape(-1, 3) @ pose[:3, :3].T, dim=-1)
        return pose[:3, 3].expand_as(d), d


def sample_pdf(edges, weights, n):
    w = weights + 1e-3
    cdf = torch.cat([torch.zeros_like(w[..., :1]), torch.cumsum(w / w.sum(-1, keepdim=True), -1)], -1)
    u = torch.linspace(0.5 / n, 1 - 0.5 / n, n).expand(*cdf.shape[:-1], n).contiguous()
    idx = torch.searchsorted(cdf.contiguous(), u, right=True)
    lo, hi = (idx - 1).clamp(min=0), idx.clamp(max=cdf.shape[-1] - 1)
    c0, c1 = cdf.gather(-1, lo), cdf.gather(-1, hi)
    e0, e1 = edges.gather(-1, lo), edges.gather(-1, hi)
    span = torch.where(c1 - c0 < 1e-5, torch.ones_like(c0), c1 - c0)
    return e0 + (u - c0) / span * (e1 - e0)


class Field(nn.Module):
    def __init__(self, levels=3, feat=2, table=32, hidden=16):
        super().__init__()
        self.tables = nn.ParameterList([nn.Parameter(torch.randn(table, feat)) for _ in range(levels)])
        self.primes = (1, 2654435761 % 1009, 805459861 % 1013)
        self.resolutions = [2 ** (l + 1) for l in range(levels)]
        self.net = nn.Sequential(nn.Linear(levels * feat, hidden), nn.ReLU(), nn.Linear(hidden, 4))

    def hash(self, ijk, size):
        h = ijk[..., 0] * self.primes[0]
        for d in (1, 2):
            h = torch.bitwise_xor(h, ijk[..., d] * self.primes[d])
        return h % size

    def forward(self, x):
        feats = []
        for table, res in zip(self.tables, self.resolutions):
            ijk = torch.floor((x * 0.5 + 0.5) * res).long()
            feats.append(table[self.hash(ijk, table.shape[0])])
        raw = self.net(torch.cat(feats, -1))
        return F.softplus(raw[..., 0]), torch.sigmoid(raw[..., 1:])


class Renderer(nn.Module):
    def __init__(self, near=0.2, far=3.0):
        super().__init__()
        self.field, self.proposal = Field(), Field(levels=2, hidden=8)
        self.near, self.far = near, far
        self.backgrounds: Dict[str, Callable] = {"white": torch.ones_like, "black": torch.zeros_like}

    @staticmethod
    def weights(density, deltas):
        alpha = 1 - torch.exp(-density * deltas)
        trans = torch.cumprod(torch.cat([torch.ones_like(alpha[..., :1]), 1 - alpha + 1e-10], -1), -1)[..., :-1]
        return alpha * trans

    def intersect(self, o, d):
        inv = 1.0 / torch.where(d.abs() < 1e-6, torch.full_like(d, 1e-6), d)
        t0, t1 = (-1 - o) * inv, (1 - o) * inv
        tmin = torch.minimum(t0, t1).amax(-1).clamp(min=self.near)
        tmax = torch.maximum(t0, t1).amin(-1).clamp(max=self.far)
        return tmin, tmax, tmax > tmin

    def march(self, o, d, samples, stop, block=4):
        """Shades block by block; rays that are opaque leave."""
        n = o.shape[0]
        color, trans, depth = torch.zeros(n, 3), torch.ones(n), torch.zeros(n)
        alive, evaluated = torch.arange(n), 0
        for start in range(0, len(samples), block):
            t, dt = samples.t[alive, start:start + block], samples.deltas[alive, start:start + block]
            sigma, rgb = self.field(o[alive, None] + d[alive, None] * t[..., None])
            evaluated += sigma.numel()
            w = self.weights(sigma, dt) * trans[alive, None]
            color.index_add_(0, alive, (w[..., None] * rgb).sum(1))
            depth[alive] += (w * t).sum(1)
            trans[alive] *= torch.exp(-(sigma * dt).sum(1))
            alive = alive[trans[alive] > stop]
            if not len(alive):
                break
        return color, trans, depth, evaluated

    @torch.no_grad()
    def forward(self, pose, size: Tuple[int, int] = (4, 3), background: str = "white", n: int = 8, stop: float = 0.05, chunk: int = 8):
        if background not in self.backgrounds and not background.startswith("#"):
            raise ValueError(f"background '{background}'")
        o, d = Camera(*size, focal=max(size)).rays(pose)
        colors, depths, stats = [], [], {"rays": len(o), "hit": 0, "evaluated": 0}
        for o_, d_ in zip(o.split(chunk), d.split(chunk)):
            tmin, tmax, hit = self.intersect(o_, d_)
            rgb = torch.zeros_like(o_)
            trans, depth = torch.ones(len(o_)), torch.full((len(o_),), math.inf)
            if hit.any():
                oh, dh = o_[hit], d_[hit]
                edges = tmin[hit, None] + (tmax - tmin)[hit, None] * torch.linspace(0, 1, n + 1)
                coarse = RaySamples.from_edges(edges)
                sigma, _ = self.proposal(oh[:, None] + dh[:, None] * coarse.t[..., None])
                fine = RaySamples.from_edges(sample_pdf(edges, self.weights(sigma, coarse.deltas), n + 1).sort(-1).values)
                rgb[hit], trans[hit], depth[hit], count = self.march(oh, dh, fine, stop)
                stats["hit"] += int(hit.sum())
                stats["evaluated"] += count
            if background.startswith("#"):
                bg = torch.tensor([int(background[i:i + 2], 16) / 255 for i in (1, 3, 5)]).expand_as(rgb)
            else:
                bg = self.backgrounds[background](rgb)
            colors.append(rgb + trans[:, None] * bg)
            depths.append(depth)
        stats["saved"] = round(1 - stats["evaluated"] / max(1, stats["hit"] * n), 3)
        return torch.cat(colors).view(size[1], size[0], 3), torch.cat(depths).view(size[1], size[0]), stats


def make_model():
    torch.manual_seed(2)
    m = Renderer()
    m.field.net[2].bias.data[0] = 1.5
    return m.eval()


def make_inputs():
    def pose(x, y, z):
        p = torch.eye(4)
        p[:3, 3] = torch.tensor([x, y, z])
        return p
    return [(pose(0.0, 0.0, -2.0),), (pose(0.1, 0.2, 0.0), (3, 3), "black", 12, 0.3), (pose(9.0, 9.0, 9.0), (2, 2)), (pose(0.5, 0.0, -1.5), (5, 4), "#ff8000", 6, 0.5, 7), (pose(0.0, 0.0, 0.0), (2, 1), "red"), (pose(-0.5, 0.3, -1.2), (1, 1), "white", 8, 0.9, 1)]
