"""Temporal graph network: event stream updates node memory, last neighbours, time encoding, message aggregation per node."""
from __future__ import annotations
import bisect
from collections import defaultdict
from itertools import groupby
from typing import DefaultDict, List, NamedTuple, Tuple
import numpy as np
import torch
from torch import nn

STATEFUL = True


class Event(NamedTuple):
    src: int
    dst: int
    t: float


class TimeEncode(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.w = nn.Linear(1, dim)
        self.w.weight = nn.Parameter(torch.from_numpy(1 / 10 ** np.linspace(0, 3, dim, dtype=np.float32)).reshape(dim, -1))
        self.w.bias = nn.Parameter(torch.zeros(dim))

    def forward(self, t):
        return torch.cos(self.w(t.unsqueeze(-1)))


class NeighborFinder:
    """Neighbours of each node in order of time."""

    def __init__(self):
        self.adj: DefaultDict[int, List[Tuple[float, int, int]]] = defaultdict(list)
        self.count = 0

    def add(self, e: Event):
        self.adj[e.src].append((e.t, e.dst, self.count))
        self.adj[e.dst].append((e.t, e.src, self.count))
        self.count += 1

    def before(self, node: int, t: float, n: int):
        times = [x[0] for x in self.adj[node]]
        i = bisect.bisect_left(times, t)
        return self.adj[node][max(0, i - n):i]


class TGN(nn.Module):
    def __init__(self, num_nodes=8, dim=10, time_dim=6, neighbors=3):
        super().__init__()
        self.register_buffer("memory", torch.zeros(num_nodes, dim))
        self.register_buffer("last_update", torch.zeros(num_nodes))
        self.num_nodes, self.neighbors = num_nodes, neighbors
        self.time = TimeEncode(time_dim)
        self.message = nn.Linear(2 * dim + time_dim, dim)
        self.updater = nn.GRUCell(dim, dim)
        self.attn = nn.MultiheadAttention(dim, 2, kdim=dim + time_dim, vdim=dim + time_dim, batch_first=True)
        self.affinity = nn.Sequential(nn.Linear(2 * dim, dim), nn.ReLU(), nn.Linear(dim, 1))
        self.finder = NeighborFinder()
        self.pending: dict[int, list[tuple[torch.Tensor, float]]] = {}

    def flush(self, nodes):
        todo = [n for n in nodes if n in self.pending]
        if not todo:
            return 0
        msgs = torch.stack([torch.stack([m for m, _ in self.pending[n]]).mean(0) for n in todo])
        idx = torch.LongTensor(todo)
        self.memory[idx] = self.updater(msgs, self.memory[idx])
        for n in todo:
            self.last_update[n] = max(t for _, t in self.pending.pop(n))
        return len(todo)

    def embed(self, node: int, t: float):
        near = self.finder.before(node, t, self.neighbors)
        me = self.memory[node]
        if len(near) == 0:
            return me
        ids = torch.tensor([n for _, n, _ in near])
        dt = t - torch.tensor([s for s, *_ in near])
        kv = torch.cat([self.memory[ids], self.time(dt)], dim=-1)[None]
        out, w = self.attn(me.view(1, 1, -1), kv, kv)
        return me + out[0, 0] if w.max() < 0.9 else 0.5 * (me + out[0, 0])

    def raw_message(self, a, b, t):
        dt = torch.tensor(t) - self.last_update[a]
        return self.message(torch.cat([self.memory[a], self.memory[b], self.time(dt)]))

    @torch.no_grad()
    def forward(self, events: List[Tuple[int, int, float]], threshold: float = 0.5):
        batch = [Event(*e) for e in events]
        for prev, cur in zip(batch, batch[1:]):
            if cur.t < prev.t:
                raise ValueError(f"events out of order: {prev.t} then {cur.t}")
        scores, surprising = [], []
        touched = sorted({n for e in batch for n in (e.src, e.dst)})
        updated = self.flush(touched)
        for t, group in groupby(batch, key=lambda e: e.t):
            group = list(group)
            for e in group:
                pair = torch.cat([self.embed(e.src, t), self.embed(e.dst, t)])
                p = torch.sigmoid(self.affinity(pair))[0]
                scores.append(p)
                if p < threshold and e.src != e.dst:
                    surprising.append(e)
            for e in group:
                self.finder.add(e)
                for a, b in ((e.src, e.dst), (e.dst, e.src)):
                    self.pending.setdefault(a, []).append((self.raw_message(a, b, t), t))
        if len(surprising) * 2 > len(batch):
            self.memory.mul_(0.9)
        norms = self.memory.norm(dim=1)
        return torch.stack(scores) if scores else None, [e._asdict() for e in surprising], updated, norms, sorted(self.pending)


def make_model():
    torch.manual_seed(13)
    return TGN().eval()


def make_inputs():
    return [
        ([(0, 1, 1.0), (1, 2, 1.0), (0, 3, 2.5)],),
        ([(1, 2, 3.0)], 0.1),
        ([],),
        ([(4, 4, 3.5), (0, 1, 4.0), (5, 0, 4.0), (0, 2, 6.0)], 0.9),
        ([(2, 0, 9.0), (3, 1, 8.0)],),
        ([(0, 1, 10.0), (1, 0, 11.0), (0, 4, 30.0)], 0.48),
    ]
