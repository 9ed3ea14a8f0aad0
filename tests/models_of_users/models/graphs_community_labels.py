"""Graphs: community detection by label propagation with node features, adjacency as dict of sets, BFS components, modularity stops the rounds, a GNN reads out."""
from collections import Counter, defaultdict, deque
from dataclasses import dataclass, field
from typing import DefaultDict, Dict, List, Optional, Set, Tuple

import torch
import torch.nn as nn
from torch import Tensor


@dataclass
class Community:
    label: int
    members: Set[int] = field(default_factory=set)
    internal: int = 0
    degree: int = 0

    def add(self, node: int, deg: int) -> None:
        self.members.add(node)
        self.degree += deg

    def __len__(self) -> int:
        return len(self.members)


class Graph:
    def __init__(self, edges: List[Tuple[int, int]], n: int):
        self.n = n
        self.adj: DefaultDict[int, Set[int]] = defaultdict(set)
        for u, v in edges:
            if u == v:
                continue
            self.adj[u].add(v)
            self.adj[v].add(u)
        self.m = sum(len(s) for s in self.adj.values()) // 2

    def degree(self, u: int) -> int:
        return len(self.adj[u]) if u in self.adj else 0

    def components(self) -> List[List[int]]:
        seen: Set[int] = set()
        out = []
        for s in range(self.n):
            if s in seen:
                continue
            comp, queue = [], deque([s])
            seen.add(s)
            while queue:
                u = queue.popleft()
                comp.append(u)
                for v in self.adj.get(u, ()):
                    if v not in seen:
                        seen.add(v)
                        queue.append(v)
            out.append(comp)
        return out

    def common(self, u: int, v: int) -> int:
        return len(self.adj[u] & self.adj[v])


class Readout(nn.Module):
    def __init__(self, dim: int, out: int):
        super().__init__()
        self.msg = nn.Linear(2 * dim, dim)
        self.out = nn.Linear(dim, out)

    def forward(self, x: Tensor, edge_index: Tensor, groups: Tensor, k: int) -> Tensor:
        src, dst = edge_index
        m = torch.relu(self.msg(torch.cat([x[src], x[dst]], dim=-1)))
        h = x.index_add(0, dst, m)
        pooled = torch.zeros(k, h.size(1)).index_add_(0, groups, h)
        count = torch.bincount(groups, minlength=k).clamp(min=1).unsqueeze(1)
        return self.out(pooled / count)


class CommunityNet(nn.Module):
    def __init__(self, dim: int = 6, max_rounds: int = 8):
        super().__init__()
        self.embed = nn.Linear(3, dim)
        self.readout = Readout(dim, 2)
        self.max_rounds = max_rounds

    def modularity(self, g: Graph, labels: List[int]) -> float:
        if g.m == 0:
            return 0.0
        comms: Dict[int, Community] = {}
        for u in range(g.n):
            c = comms.setdefault(labels[u], Community(labels[u]))
            c.add(u, g.degree(u))
        for c in comms.values():
            c.internal = sum(1 for u in c.members for v in g.adj[u] if v in c.members) // 2
        return sum(c.internal / g.m - (c.degree / (2 * g.m)) ** 2 for c in comms.values())

    def propagate(self, g: Graph, sim: Tensor) -> Tuple[List[int], List[float]]:
        labels = list(range(g.n))
        history = [self.modularity(g, labels)]
        for _ in range(self.max_rounds):
            moved = 0
            for u in range(g.n):
                votes: Counter = Counter()
                for v in g.adj[u]:
                    votes[labels[v]] += 1 + g.common(u, v) + float(sim[u, v] > 0.5)
                if not votes:
                    continue
                best = min(votes, key=lambda l: (-votes[l], l))
                if votes[best] > votes[labels[u]]:
                    labels[u] = best
                    moved += 1
            history.append(self.modularity(g, labels))
            if not moved or history[-1] < history[-2] - 0.05:
                break
        return labels, history

    def forward(self, x: Tensor, edge_index: Tensor) -> Dict[str, object]:
        g = Graph([(int(a), int(b)) for a, b in edge_index.t()], x.size(0))
        h = torch.tanh(self.embed(x))
        sim = torch.cosine_similarity(h[:, None], h[None, :], dim=-1)
        labels, history = self.propagate(g, sim)
        names = {l: i for i, l in enumerate(sorted(set(labels)))}
        groups = torch.tensor([names[l] for l in labels], dtype=torch.long)
        out = self.readout(h, edge_index, groups, len(names))
        hubs: Optional[List[int]] = [max(c, key=g.degree) for c in g.components() if len(c) > 1] or None
        return {"groups": groups, "scores": out, "q": history[-1], "rounds": len(history) - 1, "hubs": hubs,
                "sizes": Counter(labels).most_common(2)}


def make_model():
    torch.manual_seed(0)
    return CommunityNet().eval()


def make_inputs():
    g = torch.Generator().manual_seed(5)
    x = lambda n: torch.randn(n, 3, generator=g)
    two = torch.tensor([[0, 1, 2, 0, 3, 4, 5, 3, 2, 6], [1, 2, 0, 3, 4, 5, 3, 5, 2, 7]])
    ring = torch.stack([torch.arange(9), (torch.arange(9) + 1) % 9])
    rand = torch.randint(0, 12, (2, 30), generator=g)
    return [(x(8), two), (x(9), ring), (x(12), rand), (x(4), torch.zeros(2, 0, dtype=torch.long)), (x(3), torch.tensor([[1], [1]]))]
