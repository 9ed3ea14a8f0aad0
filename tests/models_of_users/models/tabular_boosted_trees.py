"""Gradient boosted oblivious/regular trees over learned features: nodes as objects, missing values, early stop by margin, path explanation."""
from collections import Counter
from dataclasses import dataclass
from typing import Dict, Iterator, List, Optional, Tuple, Union

import torch
from torch import nn


@dataclass
class Leaf:
    value: torch.Tensor
    count: int


@dataclass
class Split:
    feature: int
    threshold: float
    left: "Node"
    right: "Node"
    default_left: bool = True

    def goes_left(self, x: float) -> bool:
        if x != x:
            return self.default_left
        return x <= self.threshold


Node = Union[Leaf, Split]


def build(depth: int, gen: torch.Generator, features: int, out: int) -> Node:
    if depth == 0 or (depth < 3 and torch.rand((), generator=gen) < 0.25):
        return Leaf(torch.randn(out, generator=gen) * 0.4, int(torch.randint(1, 50, (), generator=gen)))
    f = int(torch.randint(0, features, (), generator=gen))
    thr = float(torch.randn((), generator=gen) * 0.5)
    return Split(f, thr, build(depth - 1, gen, features, out), build(depth - 1, gen, features, out), f % 2 == 0)


class Tree(nn.Module):
    def __init__(self, root: Node):
        super().__init__()
        self.root = root

    def forward(self, row: List[float]) -> Tuple[torch.Tensor, List[Tuple[int, str]], int]:
        node, path = self.root, []
        while isinstance(node, Split):
            left = node.goes_left(row[node.feature])
            path.append((node.feature, "<=" if left else ">"))
            node = node.left if left else node.right
        return node.value, path, node.count


class Boosted(nn.Module):
    def __init__(self, features=5, classes=3, trees=6):
        super().__init__()
        gen = torch.Generator().manual_seed(7)
        self.norm = nn.BatchNorm1d(features)
        self.trees = nn.ModuleList(Tree(build(3, gen, features, classes)) for _ in range(trees))
        self.register_buffer("prior", torch.tensor([0.1, 0.0, -0.1]))
        self.lr = 0.5
        self.labels = ("low", "mid", "high")

    def impute(self, x):
        mask = torch.isnan(x)
        filled = torch.where(mask, torch.zeros_like(x), x)
        z = self.norm(filled)
        return torch.where(mask, torch.full_like(z, float("nan")), z), int(mask.sum())

    def forward(self, x: torch.Tensor, margin: float = 1.5):
        z, missing = self.impute(x)
        outputs, used, importance = [], [], Counter()
        for row in z.tolist():
            score = self.prior.clone()
            n = 0
            for n, tree in enumerate(self.trees, start=1):
                value, path, count = tree(row)
                shrink = count / (count + 5)
                score = score + self.lr * shrink * value
                importance.update(f for f, _ in path)
                top = torch.topk(score, 2).values
                if (top[0] - top[1]).item() > margin:
                    break
            outputs.append(score)
            used.append(n)
        if not outputs:
            return {"labels": [], "missing": missing}
        probs = torch.softmax(torch.stack(outputs), dim=1)
        labels = [self.labels[i] for i in probs.argmax(1).tolist()]
        top_features = importance.most_common(2)
        return {"labels": labels, "probs": probs, "used": used, "missing": missing, "top": top_features, "total": sum(importance.values())}


def make_model():
    torch.manual_seed(0)
    m = Boosted()
    m.norm.running_mean.uniform_(-0.2, 0.2)
    return m.eval()


def make_inputs():
    g = torch.Generator().manual_seed(2)
    nan = float("nan")
    a = torch.randn(4, 5, generator=g)
    a[1, 2] = nan
    a[3, :] = nan
    return [(a,), (torch.randn(1, 5, generator=g) * 3, 0.2), (torch.zeros(0, 5),), (torch.randn(6, 5, generator=g), 0.6)]
