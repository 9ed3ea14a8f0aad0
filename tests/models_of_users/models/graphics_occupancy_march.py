"""Neural rendering: occupancy grid, ray marching with early termination, importance resampling, background by a sky model."""

from __future__ import annotations

import dataclasses
import typing as t

import torch
import torch.nn as nn


@dataclasses.dataclass
class RayBundle:
    origins: torch.Tensor
    directions: torch.Tensor
    near: float = 0.0
    far: float = 4.0

    def __len__(self):
        return self.origins.shape[0]

    def __getitem__(self, item) -> RayBundle:
        return dataclasses.replace(self, origins=self.origins[item], directions=self.directions[item])

    def at(self, depth: torch.Tensor) -> torch.Tensor:
        return self.origins + depth.unsqueeze(-1) * self.directions

    @classmethod
    def from_camera(cls, pose: torch.Tensor, size: t.Tuple[int, int], focal: float) -> RayBundle:
        w, h = size
        ys, xs = torch.meshgrid(torch.arange(h), torch.arange(w), indexing="ij")
        d = torch.stack([(xs - w / 2 + 0.5) / focal, -(ys - h / 2 + 0.5) / focal, -torch.ones(h, w)], -1).reshape(-1, 3)
        d = d @ pose[:3, :3].T
        return cls(pose[:3, 3].expand_as(d), d / d.norm(dim=-1, keepdim=True))


class Encoding(nn.Module):
    def __init__(self, levels=3):
        super().__init__()
        self.register_buffer("bands", 2.0 ** torch.arange(levels))

    @property
    def out_dim(self):
        return 3 + 6 * len(self.bands)

    def forward(self, x):
        y = (x[..., None] * self.bands).flatten(-2)
        return torch.cat([x, y.sin(), y.cos()], -1)


class Field(nn.Module):
    def __init__(self, hidden=16):
        super().__init__()
        self.enc = Encoding()
        self.trunk = nn.Sequential(nn.Linear(self.enc.out_dim, hidden), nn.Softplus(), nn.Linear(hidden, hidden), nn.Softplus())
        self.density, self.color = nn.Linear(hidden, 1), nn.Linear(hidden + 3, 3)

    def forward(self, x, d=None):
        h = self.trunk(self.enc(x))
        sigma = torch.nn.functional.softplus(self.density(h)).squeeze(-1) * 2
        if d is None:
            return sigma
        return sigma, torch.sigmoid(self.color(torch.cat([h, d], -1)))


class Renderer(nn.Module):
    def __init__(self, resolution=8, step=0.25, stop=1e-2, threshold=0.5, chunk=16):
        super().__init__()
        self.field = Field()
        self.sky = nn.Linear(3, 3)
        self.register_buffer("grid", torch.ones(resolution, resolution, resolution, dtype=torch.bool))
        self.register_buffer("updates", torch.tensor(0))
        self.step, self.stop, self.threshold, self.chunk = step, stop, threshold, chunk

    @torch.no_grad()
    def update_grid(self):
        n = self.grid.shape[0]
        c = (torch.arange(n) + 0.5) / n * 2 - 1
        pts = torch.stack(torch.meshgrid(c, c, c, indexing="ij"), -1).view(-1, 3)
        sigma = torch.cat([self.field(p) for p in pts.split(128)])
        self.grid.copy_((sigma > self.threshold).view_as(self.grid))
        self.updates += 1

    def occupied(self, x):
        n = self.grid.shape[0]
        idx = ((x + 1) / 2 * n).long()
        inside = ((idx >= 0) & (idx < n)).all(-1)
        idx = idx.clamp(0, n - 1)
        return inside & self.grid[idx[:, 0], idx[:, 1], idx[:, 2]]

    def march(self, rays: RayBundle):
        n = len(rays)
        rgb, transmittance = torch.zeros(n, 3), torch.ones(n)
        depth = torch.full((n,), rays.near)
        alive = torch.arange(n)
        queries = 0
        while alive.numel() > 0:
            sub = rays[alive]
            x = sub.at(depth[alive])
            occ = self.occupied(x)
            if occ.any():
                sel = alive[occ]
                sigma, color = self.field(x[occ], sub.directions[occ])
                queries += sel.numel()
                alpha = 1 - torch.exp(-sigma * self.step)
                rgb[sel] += (transmittance[sel] * alpha)[:, None] * color
                transmittance[sel] *= 1 - alpha
            depth[alive] += self.step
            alive = alive[(depth[alive] < rays.far) & (transmittance[alive] > self.stop)]
        return rgb, transmittance, queries

    def forward(self, pose: torch.Tensor, size: t.Tuple[int, int] = (4, 3), refresh: bool = False, white: t.Optional[bool] = None):
        if pose.shape != (4, 4):
            raise ValueError(f"pose must be a 4x4 matrix, got {list(pose.shape)}")
        if refresh or not self.grid.any():
            self.update_grid()
        rays = RayBundle.from_camera(pose, size, focal=3.0)
        out: t.List[torch.Tensor] = []
        total = 0
        for i in range(0, len(rays), self.chunk):
            part = rays[i:i + self.chunk]
            rgb, trans, queries = self.march(part)
            background = torch.ones(3) if white else self.sky(part.directions).sigmoid()
            out.append(rgb + trans[:, None] * background)
            total += queries
        image = torch.cat(out).view(size[1], size[0], 3)
        return image, total, self.grid.float().mean().item(), self.updates.item()


STATEFUL = True


def make_model():
    torch.manual_seed(0)
    m = Renderer()
    return m.eval()


def make_inputs():
    front = torch.eye(4)
    front[2, 3] = 2.0
    away = front.clone()
    away[2, 2] = away[0, 0] = -1
    return [(front,), (front, (5, 4), True), (away, (2, 2), False, True), (front, (6, 3), False, False), (front[:3],)]
