"""Tabular: missing values, a gate that sends easy rows to a linear model and hard ones down neural decision trees."""
import torch
from torch import nn


class Node(nn.Module):
    def __init__(self, dim, depth, classes):
        super().__init__()
        self.leaf = depth == 0
        if self.leaf:
            self.value = nn.Parameter(torch.randn(classes))
        else:
            self.split = nn.Linear(dim, 1)
            self.left = Node(dim, depth - 1, classes)
            self.right = Node(dim, depth - 1, classes)

    def forward(self, row):
        if self.leaf:
            return self.value, []
        p = torch.sigmoid(self.split(row))
        go_left = p.item() > 0.5
        value, path = (self.left if go_left else self.right)(row)
        return value * (p if go_left else 1 - p), ["L" if go_left else "R"] + path


class SoftTrees(nn.Module):
    def __init__(self, dim=6, trees=3, depth=3, classes=4):
        super().__init__()
        self.register_buffer("mean", torch.linspace(-1, 1, dim))
        self.register_buffer("std", torch.linspace(0.5, 2, dim))
        self.easy = nn.Linear(dim, classes)
        self.trees = nn.ModuleList([Node(dim, depth, classes) for _ in range(trees)])

    def forward(self, rows):
        missing = torch.isnan(rows)
        rows = torch.where(missing, self.mean.expand_as(rows), rows)
        rows = (rows - self.mean) / self.std
        easy = self.easy(rows).softmax(-1)
        out, paths = [], {}
        for i, row in enumerate(rows):
            if missing[i].sum() > 3:
                out.append(torch.full_like(easy[i], 1 / easy.shape[1]))
                continue
            if easy[i].max() > 0.75:
                out.append(easy[i])
                continue
            total = 0
            for t, tree in enumerate(self.trees):
                value, path = tree(row)
                total = total + value
                paths[(i, t)] = "".join(path)
            out.append(torch.softmax(total, -1))
        return torch.stack(out), paths


def make_model():
    torch.manual_seed(0)
    m = SoftTrees()
    with torch.no_grad():
        m.easy.weight.mul_(3)
    return m.eval()


def make_inputs():
    ins = []
    for seed, n in [(0, 1), (1, 5), (2, 3), (3, 8)]:
        g = torch.Generator().manual_seed(seed)
        rows = torch.randn(n, 6, generator=g) * 2
        rows[torch.rand(n, 6, generator=g) < 0.2] = float("nan")
        if seed == 3:
            rows[0, :4] = float("nan")
        ins.append((rows,))
    return ins
