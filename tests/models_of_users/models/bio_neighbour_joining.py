"""Bioinformatics: distances from learned embeddings, neighbour joining to a tree of tuples and objects, bootstrap support by clades as frozensets, Newick text, midpoint height."""
from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from functools import total_ordering
from itertools import combinations
from typing import FrozenSet, Optional

import torch
from torch import Tensor, nn


@total_ordering
@dataclass(eq=False)
class Clade:
    name: str
    left: Optional[Clade] = None
    right: Optional[Clade] = None
    lengths: tuple[float, float] = (0.0, 0.0)
    size: int = 1

    def __lt__(self, other: Clade) -> bool:
        return (self.size, self.name) < (other.size, other.name)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Clade) and self.name == other.name and self.size == other.size

    def members(self) -> list[str]:
        if self.left is None or self.right is None:
            return [self.name]
        return self.left.members() + self.right.members()

    def newick(self) -> str:
        if self.left is None or self.right is None:
            return self.name
        a, b = self.lengths
        return f"({self.left.newick()}:{a:.3f},{self.right.newick()}:{b:.3f})"

    def height(self) -> float:
        if self.left is None or self.right is None:
            return 0.0
        return max(self.lengths[0] + self.left.height(), self.lengths[1] + self.right.height())

    def splits(self) -> list[tuple[str, ...]]:
        if self.left is None or self.right is None:
            return []
        return [tuple(sorted(self.members()))] + self.left.splits() + self.right.splits()


class Encoder(nn.Module):
    ALPHABET = "ACGT-"

    def __init__(self, dim: int = 6):
        super().__init__()
        self.emb = nn.Embedding(len(self.ALPHABET) + 1, dim, padding_idx=len(self.ALPHABET))
        self.conv = nn.Conv1d(dim, dim, 3, padding=1)

    def ids(self, seq: str) -> list[int]:
        return [self.ALPHABET.index(c) if c in self.ALPHABET else len(self.ALPHABET) for c in seq.upper()]

    def forward(self, seqs: list[str]) -> Tensor:
        longest = max(map(len, seqs))
        rows = [self.ids(s) + [len(self.ALPHABET)] * (longest - len(s)) for s in seqs]
        x = self.emb(torch.tensor(rows)).transpose(1, 2)
        return torch.tanh(self.conv(x)).mean(-1)


class Phylogeny(nn.Module):
    def __init__(self, replicates: int = 2):
        super().__init__()
        self.encoder = Encoder()
        self.replicates = replicates
        self.register_buffer("noise", torch.linspace(-0.02, 0.02, 5))

    def join(self, dist: Tensor, names: list[str]) -> Clade:
        nodes = [Clade(n) for n in names]
        d = dist.clone()
        while len(nodes) > 2:
            n = len(nodes)
            r = d.sum(1)
            q = (n - 2) * d - r[:, None] - r[None, :]
            q.fill_diagonal_(float("inf"))
            flat = int(q.argmin())
            i, j = sorted(divmod(flat, n))
            li = 0.5 * d[i, j] + (r[i] - r[j]) / (2 * (n - 2))
            li = li.clamp(min=0.0).item()
            lj = max(d[i, j].item() - li, 0.0)
            a, b = nodes[i], nodes[j]
            if b < a:
                a, b, li, lj = b, a, lj, li
            parent = Clade(f"{a.name}{b.name}", a, b, (li, lj), a.size + b.size)
            new = 0.5 * (d[i] + d[j] - d[i, j])
            keep = [k for k in range(n) if k not in (i, j)]
            d = torch.cat([torch.cat([d[keep][:, keep], new[keep, None]], 1), torch.cat([new[keep], new.new_zeros(1)])[None]], 0)
            nodes = [nodes[k] for k in keep] + [parent]
        if len(nodes) == 1:
            return nodes[0]
        half = d[0, 1].item() / 2
        first, second = sorted(nodes)
        return Clade("root", first, second, (half, half), first.size + second.size)

    @torch.no_grad()
    def forward(self, seqs: dict[str, str]):
        if len(set(seqs.values())) == 0:
            raise ValueError("no sequences")
        names = sorted(seqs)
        emb = self.encoder([seqs[n] for n in names])
        dist = torch.cdist(emb, emb)
        tree = self.join(dist, names)
        support: Counter = Counter()
        for k in range(self.replicates):
            shift = self.noise[(torch.arange(dist.numel()) * (k + 3)) % 5].view_as(dist)
            noisy = (dist + shift + shift.T).clamp(min=0).fill_diagonal_(0)
            support.update(sorted(set(self.join(noisy, names).splits())))
        report = {"".join(c): support[c] / self.replicates for c in tree.splits()}
        closest = min(combinations(range(len(names)), 2), key=lambda p: dist[p[0], p[1]].item(), default=None)
        return tree.newick(), tree.height(), report, None if closest is None else [names[i] for i in closest], tree.size


def make_model():
    torch.manual_seed(8)
    return Phylogeny().eval()


def make_inputs():
    return [
        ({"a": "ACGTACGT", "b": "ACGTACGA", "c": "TTGTACGA", "d": "TTGTCCC"},),
        ({"x": "ACGT", "y": "acgn"},),
        ({"q": "GGGG"},),
        ({"e": "AAAA", "d": "AAAT", "c": "AATT", "b": "ATTT", "a": "TTTT"},),
    ]
