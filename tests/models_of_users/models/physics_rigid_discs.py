"""2-D rigid discs: broad phase by sorted sweep, impulses with restitution, sleeping bodies, islands by union-find, CCD substeps."""

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Dict, Generator, List, Tuple

import torch
from torch import Tensor, nn


@dataclass
class Body:
    index: int
    mass: float
    radius: float
    restitution: float = 0.5
    asleep: bool = False
    idle: int = 0

    @cached_property
    def inv_mass(self) -> float:
        return 0.0 if math.isinf(self.mass) else 1.0 / self.mass


class DisjointSet:
    def __init__(self, n):
        self.parent = list(range(n))
        self.rank = [0] * n

    def find(self, a: int) -> int:
        if self.parent[a] != a:
            self.parent[a] = self.find(self.parent[a])
        return self.parent[a]

    def union(self, a: int, b: int) -> bool:
        a, b = self.find(a), self.find(b)
        if a == b:
            return False
        if self.rank[a] < self.rank[b]:
            a, b = b, a
        self.parent[b] = a
        self.rank[a] += self.rank[a] == self.rank[b]
        return True

    def groups(self) -> Dict[int, List[int]]:
        out: Dict[int, List[int]] = {}
        for i in range(len(self.parent)):
            out.setdefault(self.find(i), []).append(i)
        return out


class World(nn.Module):
    def __init__(self, gravity=(0.0, -9.8), floor=0.0, iterations=4):
        super().__init__()
        self.register_buffer("gravity", torch.tensor(gravity))
        self.floor, self.iterations = floor, iterations
        self.drag = nn.Parameter(torch.tensor(0.02))

    def sweep(self, pos: Tensor, bodies: List[Body]) -> Generator[Tuple[int, int], None, None]:
        order = torch.argsort(pos[:, 0]).tolist()
        for a in range(len(order)):
            i = order[a]
            right = pos[i, 0].item() + bodies[i].radius
            for j in order[a + 1:]:
                if pos[j, 0].item() - bodies[j].radius > right:
                    break
                yield (i, j) if i < j else (j, i)

    def resolve(self, pos, vel, bodies, contacts):
        for i, j, normal, depth in contacts:
            bi, bj = bodies[i], bodies[j]
            inv = bi.inv_mass + bj.inv_mass
            if inv == 0:
                continue
            rel = torch.dot(vel[j] - vel[i], normal)
            if rel < 0:
                e = min(bi.restitution, bj.restitution) if rel < -0.5 else 0.0
                impulse = -(1 + e) * rel / inv
                vel[i] -= impulse * bi.inv_mass * normal
                vel[j] += impulse * bj.inv_mass * normal
            push = max(depth - 0.01, 0.0) / inv * 0.4
            pos[i] -= push * bi.inv_mass * normal
            pos[j] += push * bj.inv_mass * normal

    def substeps(self, vel: Tensor, bodies: List[Body], dt: float) -> int:
        fastest = vel.norm(dim=1).max().item() if len(bodies) else 0.0
        smallest = min((b.radius for b in bodies), default=1.0)
        return max(1, min(8, math.ceil(fastest * dt / (0.5 * smallest))))

    def forward(self, pos: Tensor, vel: Tensor, masses: List[float], radii: List[float], steps: int = 5, dt: float = 0.05):
        if not (len(masses) == len(radii) == pos.shape[0]):
            raise ValueError("%d masses, %d radii, %d positions" % (len(masses), len(radii), pos.shape[0]))
        pos, vel = pos.clone(), vel.clone()
        bodies = [Body(i, m, r) for i, (m, r) in enumerate(zip(masses, radii))]
        n_contacts, slept = 0, 0
        islands: List[List[int]] = []
        for step in range(steps):
            sub = self.substeps(vel, bodies, dt)
            h = dt / sub
            sets = DisjointSet(len(bodies))
            for _ in range(sub):
                for b in bodies:
                    if b.asleep or b.inv_mass == 0:
                        continue
                    vel[b.index] += h * self.gravity
                    vel[b.index] *= 1 - self.drag * h
                pos += h * vel
                contacts = []
                for i, j in self.sweep(pos, bodies):
                    d = pos[j] - pos[i]
                    dist = d.norm().item()
                    overlap = bodies[i].radius + bodies[j].radius - dist
                    if overlap > 0:
                        normal = d / dist if dist > 1e-9 else torch.tensor([0.0, 1.0])
                        contacts.append((i, j, normal, overlap))
                        sets.union(i, j)
                n_contacts += len(contacts)
                for _ in range(self.iterations if contacts else 0):
                    self.resolve(pos, vel, bodies, contacts)
                for b in bodies:
                    low = self.floor + b.radius
                    if pos[b.index, 1] < low:
                        pos[b.index, 1] = low
                        vel[b.index, 1] = -vel[b.index, 1] * b.restitution if vel[b.index, 1] < -0.3 else 0.0
            for b in bodies:
                b.idle = b.idle + 1 if vel[b.index].norm() < 0.05 else 0
                if b.idle >= 2 and not b.asleep:
                    b.asleep = True
                    slept += 1
                    vel[b.index] = 0
            islands = [g for g in sets.groups().values() if len(g) > 1]
        energy = sum(0.5 * b.mass * vel[b.index].pow(2).sum() for b in bodies if b.inv_mass)
        return pos, vel, energy, n_contacts, slept, islands


def make_model():
    return World().eval()


def make_inputs():
    inf = float("inf")
    return [
        (torch.tensor([[0.0, 1.0], [0.3, 1.6], [3.0, 0.5]]), torch.zeros(3, 2), [1.0, 2.0, 1.0], [0.4, 0.4, 0.5]),
        (torch.tensor([[0.0, 0.5], [2.0, 0.5]]), torch.tensor([[6.0, 0.0], [-6.0, 0.0]]), [1.0, 1.0], [0.5, 0.5], 6),
        (torch.tensor([[0.0, 0.5], [0.0, 1.45]]), torch.zeros(2, 2), [inf, 1.0], [0.5, 0.5], 8, 0.02),
        (torch.tensor([[1.0, 0.3]]), torch.zeros(1, 2), [1.0], [0.3], 4),
        (torch.tensor([[1.0, 0.3]]), torch.zeros(1, 2), [1.0, 2.0], [0.3]),
    ]
