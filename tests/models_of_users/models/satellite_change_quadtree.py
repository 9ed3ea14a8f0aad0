"""Remote sensing: change detection with a quadtree that refines where two images differ, leaf descriptors, merging of neighbours, and a report by class."""
from collections import defaultdict
from dataclasses import dataclass, field
from enum import IntFlag, auto
from typing import Dict, Generator, List, Optional, Tuple

import torch
from torch import Tensor, nn


class Change(IntFlag):
    NONE = 0
    BRIGHTER = auto()
    DARKER = auto()
    TEXTURE = auto()


@dataclass
class Cell:
    top: int
    left: int
    height: int
    width: int
    depth: int = 0
    kind: Change = Change.NONE
    children: List["Cell"] = field(default_factory=list)

    @property
    def area(self) -> int:
        return self.height * self.width

    @property
    def is_leaf(self) -> bool:
        return not self.children

    def crop(self, img: Tensor) -> Tensor:
        return img[..., self.top:self.top + self.height, self.left:self.left + self.width]

    def split(self) -> List["Cell"]:
        h, w = self.height // 2, self.width // 2
        boxes = [(0, 0, h, w), (0, w, h, self.width - w), (h, 0, self.height - h, w), (h, w, self.height - h, self.width - w)]
        return [Cell(self.top + t, self.left + l, hh, ww, self.depth + 1) for t, l, hh, ww in boxes if hh > 0 and ww > 0]

    def leaves(self) -> List["Cell"]:
        if self.is_leaf:
            return [self]
        out: List["Cell"] = []
        for c in self.children:
            out.extend(c.leaves())
        return out

    def touches(self, other: "Cell") -> bool:
        rows = self.top <= other.top + other.height and other.top <= self.top + self.height
        cols = self.left <= other.left + other.width and other.left <= self.left + self.width
        return rows and cols


class ChangeNet(nn.Module):
    def __init__(self, bands: int = 2, max_depth: int = 3, min_side: int = 2):
        super().__init__()
        self.encode = nn.Sequential(nn.Conv2d(bands, 4, 3, padding=1), nn.LeakyReLU(0.1))
        self.score = nn.Linear(4, 1)
        self.max_depth, self.min_side = max_depth, min_side
        self.register_buffer("threshold", torch.tensor(0.15))

    def classify(self, a: Tensor, b: Tensor) -> Change:
        kind = Change.NONE
        delta = (b.mean() - a.mean()).item()
        if delta > 0.2:
            kind |= Change.BRIGHTER
        elif delta < -0.2:
            kind |= Change.DARKER
        if (b.var(unbiased=False) - a.var(unbiased=False)).abs() > 0.3:
            kind |= Change.TEXTURE
        return kind

    def refine(self, cell: Cell, before: Tensor, after: Tensor, diff: Tensor) -> int:
        level = cell.crop(diff).mean()
        if level < self.threshold or cell.depth == self.max_depth or min(cell.height, cell.width) <= self.min_side:
            if level >= self.threshold:
                cell.kind = self.classify(cell.crop(before), cell.crop(after))
            return 1
        cell.children = cell.split()
        return sum(self.refine(c, before, after, diff) for c in cell.children)

    def merge(self, cells: List[Cell]) -> List[List[int]]:
        parent = list(range(len(cells)))

        def find(i: int) -> int:
            while parent[i] != i:
                parent[i] = parent[parent[i]]
                i = parent[i]
            return i

        for i, a in enumerate(cells):
            for j in range(i):
                if a.kind == cells[j].kind and a.touches(cells[j]):
                    parent[find(i)] = find(j)
        groups: Dict[int, List[int]] = defaultdict(list)
        for i in range(len(cells)):
            groups[find(i)].append(i)
        return sorted(groups.values(), key=len, reverse=True)

    def forward(self, before: Tensor, after: Tensor):
        if before.shape != after.shape:
            raise ValueError(f"images differ: {tuple(before.shape)} and {tuple(after.shape)}")
        fa, fb = self.encode(before[None]), self.encode(after[None])
        diff = (fa - fb).abs().mean(1)[0]
        root = Cell(0, 0, *diff.shape)
        n = self.refine(root, before, after, diff)
        changed = [c for c in root.leaves() if c.kind != Change.NONE]
        regions = self.merge(changed)
        area: Dict[str, int] = {}
        for c in changed:
            for flag in (Change.BRIGHTER, Change.DARKER, Change.TEXTURE):
                if flag in c.kind:
                    area[flag.name] = area.get(flag.name, 0) + c.area
        feats = torch.stack([c.crop(fb).mean((0, 2, 3)) for c in changed]) if changed else fb.new_zeros((0, 4))
        scores = torch.sigmoid(self.score(feats)).squeeze(-1)
        boxes = torch.tensor([[c.top, c.left, c.height, c.width] for c in changed], dtype=torch.int64).reshape(-1, 4)
        biggest = regions[0] if regions else []
        return n, regions, area, scores, boxes, [int(changed[i].kind) for i in biggest]


def make_model():
    torch.manual_seed(5)
    return ChangeNet().eval()


def make_inputs():
    g = torch.Generator().manual_seed(0)
    a = torch.rand(2, 16, 16, generator=g)
    b = a.clone()
    b[:, :5, :7] += 1.0
    c = a.clone()
    c[:, 8:, 3:12] -= 0.8
    c[:, 10:14, 10:14] += 1.5 * torch.randn(2, 4, 4, generator=g)
    d = torch.rand(2, 11, 9, generator=g)
    return [(a, a), (a, b), (a, c), (d, d + torch.randn(2, 11, 9, generator=g)), (b, c), (a, d), (torch.zeros(2, 3, 2), torch.ones(2, 3, 2))]
