"""Robotics: A* on a cost map that a small net predicts; shortcuts are then taken while the line of sight is free."""
import heapq
import math
from collections import namedtuple
from enum import IntEnum
from typing import Dict, List, Optional, Tuple

import torch
import torch.nn as nn

Cell = Tuple[int, int]
PlanResult = namedtuple("PlanResult", ["status", "path", "cost", "expanded"])


class Status(IntEnum):
    OK = 0
    NO_PATH = 1
    BLOCKED = 2


class PriorityQueue:
    def __init__(self):
        self._heap: List[Tuple[float, int, Cell]] = []
        self._count = 0

    def push(self, priority: float, item: Cell) -> None:
        heapq.heappush(self._heap, (priority, self._count, item))
        self._count += 1

    def pop(self) -> Cell:
        return heapq.heappop(self._heap)[2]

    def __bool__(self):
        return len(self._heap) > 0

    def __len__(self):
        return len(self._heap)


def octile(a: Cell, b: Cell) -> float:
    dx, dy = abs(a[0] - b[0]), abs(a[1] - b[1])
    return max(dx, dy) + (math.sqrt(2) - 1) * min(dx, dy)


def bresenham(a: Cell, b: Cell):
    (x0, y0), (x1, y1) = a, b
    dx, dy = abs(x1 - x0), -abs(y1 - y0)
    sx, sy = 1 if x0 < x1 else -1, 1 if y0 < y1 else -1
    err = dx + dy
    cells = []
    while True:
        cells.append((x0, y0))
        if x0 == x1 and y0 == y1:
            return cells
        e2 = 2 * err
        if e2 >= dy:
            err += dy
            x0 += sx
        if e2 <= dx:
            err += dx
            y0 += sy


class CostMap(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Conv2d(2, 6, 3, padding=1), nn.ReLU(), nn.Conv2d(6, 1, 1), nn.Softplus())

    def forward(self, occupancy, goal):
        h, w = occupancy.shape
        gy, gx = goal
        ys = torch.arange(h).view(-1, 1).expand(h, w)
        xs = torch.arange(w).view(1, -1).expand(h, w)
        dist = ((ys - gy) ** 2 + (xs - gx) ** 2).float().sqrt() / max(h, w)
        return self.net(torch.stack([occupancy, dist])[None])[0, 0]


class NeuralAStar(nn.Module):
    moves = [(-1, 0), (1, 0), (0, -1), (0, 1), (-1, -1), (-1, 1), (1, -1), (1, 1)]

    def __init__(self, diagonal=True, weight=1.0):
        super().__init__()
        self.cost_map = CostMap()
        self.diagonal = diagonal
        self.weight = weight

    def neighbours(self, cell: Cell, occ: List[List[float]]):
        h, w = len(occ), len(occ[0])
        for dy, dx in self.moves if self.diagonal else self.moves[:4]:
            y, x = cell[0] + dy, cell[1] + dx
            if 0 <= y < h and 0 <= x < w and occ[y][x] < 0.5:
                yield (y, x), math.hypot(dy, dx)

    def reconstruct(self, came_from: Dict[Cell, Optional[Cell]], goal: Cell) -> List[Cell]:
        path, current = [], goal
        while current is not None:
            path.append(current)
            current = came_from[current]
        return path[::-1]

    def smooth(self, path: List[Cell], occ) -> List[Cell]:
        if len(path) <= 2:
            return path
        out, anchor = [path[0]], 0
        for i in range(2, len(path)):
            if any(occ[y][x] >= 0.5 for y, x in bresenham(path[anchor], path[i])):
                out.append(path[i - 1])
                anchor = i - 1
        out.append(path[-1])
        return out

    def forward(self, occupancy: torch.Tensor, start: Cell, goal: Cell, budget: int = 200):
        occ = occupancy.tolist()
        if occ[start[0]][start[1]] >= 0.5 or occ[goal[0]][goal[1]] >= 0.5:
            return PlanResult(Status.BLOCKED.name, [], math.inf, 0), torch.zeros_like(occupancy)
        costs = self.cost_map(occupancy, goal)
        table = costs.tolist()
        frontier = PriorityQueue()
        frontier.push(0.0, start)
        came_from: Dict[Cell, Optional[Cell]] = {start: None}
        cost_so_far: Dict[Cell, float] = {start: 0.0}
        visited = torch.zeros_like(occupancy)
        expanded, status = 0, Status.NO_PATH
        while frontier:
            current = frontier.pop()
            if visited[current[0], current[1]]:
                continue
            visited[current[0], current[1]] = 1.0
            expanded += 1
            if current == goal:
                status = Status.OK
                break
            if expanded >= budget:
                break
            for nxt, step in self.neighbours(current, occ):
                new_cost = cost_so_far[current] + step * (1 + table[nxt[0]][nxt[1]])
                if nxt not in cost_so_far or new_cost < cost_so_far[nxt]:
                    cost_so_far[nxt] = new_cost
                    frontier.push(new_cost + self.weight * octile(nxt, goal), nxt)
                    came_from[nxt] = current
        if status != Status.OK:
            return PlanResult(status.name, [], math.inf, expanded), visited
        path = self.smooth(self.reconstruct(came_from, goal), occ)
        ys, xs = torch.tensor(path).unbind(1)
        return PlanResult(status.name, path, cost_so_far[goal] + costs[ys, xs].sum().item(), expanded), visited


def make_model():
    torch.manual_seed(0)
    return NeuralAStar().eval()


def make_inputs():
    g = torch.Generator().manual_seed(3)
    free = torch.zeros(5, 6)
    wall = torch.zeros(6, 6)
    wall[1:6, 3] = 1.0
    closed = torch.zeros(5, 5)
    closed[:, 2] = 1.0
    noisy = (torch.rand(7, 5, generator=g) > 0.75).float()
    noisy[0, 0] = noisy[6, 4] = 0.0
    return [
        (free, (0, 0), (4, 5)),
        (wall, (5, 0), (5, 5)),
        (closed, (0, 0), (0, 4)),
        (noisy, (0, 0), (6, 4)),
        (wall, (5, 3), (0, 0)),
        (free, (2, 2), (2, 2)),
        (free, (0, 0), (4, 5), 3),
    ]
