"""Grid planner with a learned cost and A* search; a value network decides when to replan."""
from __future__ import annotations

import heapq
import math
from collections import defaultdict
from dataclasses import dataclass, field
from typing import Optional

import torch
import torch.nn as nn
import torch.nn.functional as F


@dataclass(order=True)
class Entry:
    priority: float
    cell: tuple[int, int] = field(compare=False)
    steps: int = field(compare=False, default=0)


class CostNet(nn.Module):
    def __init__(self, channels: int = 8):
        super().__init__()
        self.stem = nn.Sequential(nn.Conv2d(2, channels, 3, padding=1), nn.ReLU(), nn.Conv2d(channels, 1, 1))

    def forward(self, grid: torch.Tensor) -> torch.Tensor:
        return F.softplus(self.stem(grid)).squeeze(1) + 0.1


class Planner(nn.Module):
    MOVES = [(0, 1), (1, 0), (0, -1), (-1, 0)]

    def __init__(self, max_expansions: int = 200):
        super().__init__()
        self.cost = CostNet()
        self.value = nn.Linear(3, 1)
        self.max_expansions = max_expansions
        self.replans = 0
        self._last_goal: Optional[tuple[int, int]] = None

    @staticmethod
    def heuristic(a: tuple[int, int], b: tuple[int, int]) -> float:
        return 0.1 * (abs(a[0] - b[0]) + abs(a[1] - b[1]))

    def neighbours(self, cell, h, w):
        for dy, dx in self.MOVES:
            y, x = cell[0] + dy, cell[1] + dx
            if 0 <= y < h and 0 <= x < w:
                yield (y, x)

    def search(self, costs: torch.Tensor, start, goal):
        h, w = costs.shape
        table = costs.tolist()
        open_list: list[Entry] = []
        heapq.heappush(open_list, Entry(self.heuristic(start, goal), start))
        best: dict[tuple[int, int], float] = defaultdict(lambda: math.inf)
        best[start] = 0.0
        came: dict[tuple[int, int], tuple[int, int]] = {}
        expanded = 0
        while open_list:
            entry = heapq.heappop(open_list)
            if entry.cell == goal:
                path = [goal]
                while path[-1] != start:
                    path.append(came[path[-1]])
                return path[::-1], best[goal], expanded
            expanded += 1
            if expanded > self.max_expansions:
                break
            for n in self.neighbours(entry.cell, h, w):
                g = best[entry.cell] + table[n[0]][n[1]]
                if g < best[n]:
                    best[n] = g
                    came[n] = entry.cell
                    heapq.heappush(open_list, Entry(g + self.heuristic(n, goal), n, entry.steps + 1))
        return [], math.inf, expanded

    def forward(self, grid: torch.Tensor, start: tuple[int, int], goal: tuple[int, int], tolerance: float = 0.5):
        if grid.dim() != 4 or grid.shape[1] != 2:
            raise ValueError(f"expected (1, 2, H, W), got {tuple(grid.shape)}")
        costs = self.cost(grid)[0]
        costs = costs + 5.0 * (grid[0, 1] > 0.8)
        path, total, expanded = self.search(costs, start, goal)
        if not path:
            return {"path": None, "cost": total, "expanded": expanded, "score": torch.zeros(1)}
        feats = torch.tensor([total, float(len(path)), float(expanded)])
        score = torch.sigmoid(self.value(feats / 10))
        if score.item() < tolerance and self._last_goal != goal:
            self.replans += 1
            path, total, more = self.search(costs * 0.5, start, goal)
            expanded += more
        self._last_goal = goal
        ys = torch.as_tensor([p[0] for p in path])
        xs = torch.as_tensor([p[1] for p in path])
        along = costs[ys, xs]
        return {"path": path, "cost": total, "expanded": expanded, "score": score, "along": along, "worst": along.max().item()}


def make_model():
    torch.manual_seed(3)
    return Planner().eval()


STATEFUL = True


def make_inputs():
    g = torch.Generator().manual_seed(0)
    out = []
    for h, w, s, e in [(4, 5, (0, 0), (3, 4)), (6, 6, (5, 0), (0, 5)), (3, 3, (1, 1), (1, 1)), (18, 18, (0, 0), (17, 17)), (4, 5, (0, 0), (3, 4))]:
        out.append((torch.rand(1, 2, h, w, generator=g), s, e))
    out.append((torch.rand(1, 2, 5, 5, generator=g), (0, 0), (4, 0), 0.0))
    out.append((torch.rand(1, 3, 5, 5, generator=g), (0, 0), (4, 0)))
    return out
