"""NeRF-like ray marching through an occupancy grid, hash encoded, with early termination."""
from __future__ import annotations
import math
from typing import Dict, List, NamedTuple, Optional, Tuple
import torch
import torch.nn as nn
import torch.nn.functional as F

PRIMES = (1, 2654435761, 805459861)

class Samples(NamedTuple):
    rgb: torch.Tensor
    depth: torch.Tensor
    n_steps: int
    alive: torch.Tensor

class HashGrid(nn.Module):
    def __init__(self, n_levels=4, n_features=2, log2_size=8, base=4, scale=1.6):
        super().__init__()
        self.size = 2 ** log2_size
        self.resolutions = [int(math.floor(base * scale ** l)) for l in range(n_levels)]
        self.tables = nn.ParameterList([nn.Parameter(torch.randn(self.size, n_features) * 0.1) for _ in range(n_levels)])
        self.register_buffer("corners", torch.tensor([[i, j, k] for i in (0, 1) for j in (0, 1) for k in (0, 1)]))

    @property
    def out_dim(self):
        return len(self.tables) * self.tables[0].shape[1]

    def hash(self, coords):
        h = torch.zeros_like(coords[..., 0])
        for d, p in enumerate(PRIMES):
            h ^= coords[..., d] * p
        return h & (self.size - 1)

    def forward(self, x):
        feats = []
        for res, table in zip(self.resolutions, self.tables):
            xs = x * res
            lo = torch.floor(xs).long()
            w = xs - lo
            c = lo.unsqueeze(1) + self.corners
            weights = torch.where(self.corners.bool(), w.unsqueeze(1), 1 - w.unsqueeze(1)).prod(-1)
            feats.append((table[self.hash(c)] * weights.unsqueeze(-1)).sum(1))
        return torch.cat(feats, dim=-1)

class Field(nn.Module):
    def __init__(self):
        super().__init__()
        self.enc = HashGrid()
        self.sigma = nn.Sequential(nn.Linear(self.enc.out_dim, 16), nn.ReLU(), nn.Linear(16, 1 + 7))
        self.color = nn.Sequential(nn.Linear(7 + 3, 16), nn.ReLU(True), nn.Linear(16, 3), nn.Sigmoid())

    def density(self, x):
        h = self.sigma(self.enc(x))
        return F.softplus(h[:, 0] * 20), h[:, 1:]

    def forward(self, x, d):
        s, geo = self.density(x)
        return s, self.color(torch.cat([geo, d], -1))

class Renderer(nn.Module):
    def __init__(self, grid_res=8, max_steps=64, threshold=0.05):
        super().__init__()
        self.field = Field()
        self.grid_res, self.max_steps, self.T_min = grid_res, max_steps, threshold
        self.register_buffer("occ", torch.zeros(grid_res ** 3, dtype=torch.bool))
        self.bg = nn.Parameter(torch.tensor([0.2, 0.3, 0.4]))

    @torch.no_grad()
    def update_grid(self):
        r = self.grid_res
        g = torch.stack(torch.meshgrid(*[torch.arange(r)] * 3, indexing="ij"), -1).reshape(-1, 3)
        s, _ = self.field.density((g + 0.5) / r)
        self.occ.copy_(s > s.median())

    def occupied(self, x):
        i = (x * self.grid_res).long().clamp(0, self.grid_res - 1)
        flat = (i[:, 0] * self.grid_res + i[:, 1]) * self.grid_res + i[:, 2]
        return self.occ[flat]

    def aabb(self, o, d) -> Tuple[torch.Tensor, torch.Tensor]:
        inv = 1.0 / torch.where(d.abs() < 1e-6, torch.full_like(d, 1e-6), d)
        t0, t1 = (0 - o) * inv, (1 - o) * inv
        near = torch.minimum(t0, t1).amax(-1).clamp_min(0)
        far = torch.maximum(t0, t1).amin(-1)
        return near, far

    def forward(self, rays_o, rays_d, dt: float = 0.05, stats: Optional[Dict[str, int]] = None):
        n = rays_o.shape[0]
        rays_d = F.normalize(rays_d, dim=-1)
        near, far = self.aabb(rays_o, rays_d)
        rgb = torch.zeros(n, 3)
        depth = torch.zeros(n)
        T = torch.ones(n)
        t = near.clone()
        alive = torch.nonzero(near < far).squeeze(-1)
        steps = 0
        evals: List[int] = []
        while alive.numel() > 0 and steps < self.max_steps:
            steps += 1
            ta = t[alive]
            x = rays_o[alive] + ta[:, None] * rays_d[alive]
            mask = self.occupied(x)
            if mask.any():
                hit = alive[mask]
                sigma, c = self.field(x[mask], rays_d[hit])
                alpha = 1 - torch.exp(-sigma * dt)
                w = alpha * T[hit]
                rgb[hit] += w[:, None] * c
                depth[hit] += w * t[hit]
                T[hit] *= 1 - alpha
                evals.append(int(mask.sum()))
            t[alive] += dt
            alive = alive[(t[alive] < far[alive]) & (T[alive] > self.T_min)]
        rgb = rgb + T[:, None] * self.bg
        if not evals:
            return Samples(rgb, depth, 0, alive), {"mean_batch": 0.0, "evals": 0}
        return Samples(rgb, depth, steps, alive), {"mean_batch": sum(evals) / len(evals), "evals": sum(evals)}

def make_model():
    torch.manual_seed(0)
    m = Renderer().eval()
    m.update_grid()
    return m

def make_inputs():
    g = torch.Generator().manual_seed(1)
    out = []
    for n, away in ((5, False), (1, False), (7, True), (3, False)):
        o = torch.rand(n, 3, generator=g) * 0.2 - 0.3
        d = torch.rand(n, 3, generator=g) + 0.2
        if away:
            d = -d
        out.append((o, d))
    out.append((torch.rand(4, 3, generator=g) - 0.6, torch.rand(4, 3, generator=g) + 0.1, 0.1))
    return out
