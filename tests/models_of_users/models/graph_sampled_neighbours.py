"""Message passing over neighbourhoods sampled by breadth-first search."""
from collections import defaultdict, deque, OrderedDict
from typing import Dict, Iterator, List, Sequence, Set, Tuple
import torch
import torch.nn as nn


class Adjacency:
    def __init__(self, edges: torch.Tensor, weight: torch.Tensor):
        self._out: Dict[int, List[Tuple[int, float]]] = defaultdict(list)
        for (s, d), w in zip(edges.t().tolist(), weight.tolist()):
            self._out[s].append((d, w))
        for node in self._out:
            self._out[node].sort(key=lambda e: (-e[1], e[0]))

    def neighbours(self, node: int, fanout: int) -> Iterator[Tuple[int, float]]:
        for rank, (other, w) in enumerate(self._out.get(node, ())):
            if rank >= fanout:
                return
            yield other, w

    def __contains__(self, node: int) -> bool:
        return node in self._out


def bfs(adj: Adjacency, seeds: Sequence[int], depth: int, fanout: int):
    order: "OrderedDict[int, int]" = OrderedDict((s, 0) for s in seeds)
    queue = deque((s, 0) for s in seeds)
    used: Set[Tuple[int, int]] = set()
    edges: List[Tuple[int, int, float]] = []
    while queue:
        node, d = queue.popleft()
        if d == depth or node not in adj:
            continue
        for other, w in adj.neighbours(node, fanout):
            if (node, other) in used or w <= 0.1:
                continue
            used.add((node, other))
            edges.append((other, node, w))
            if other not in order:
                order[other] = d + 1
                queue.append((other, d + 1))
    return order, edges


class GatedConv(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.msg = nn.Linear(d, d)
        self.gru = nn.GRUCell(d, d)

    def forward(self, h, src, dst, w):
        m = torch.zeros_like(h)
        m.index_add_(0, dst, self.msg(h[src]) * w[:, None])
        deg = torch.bincount(dst, minlength=len(h)).clamp(min=1)
        return self.gru(m / deg[:, None], h)


class Sampler(nn.Module):
    def __init__(self, n_types=5, d=12, layers=2):
        super().__init__()
        self.emb = nn.Embedding(n_types, d)
        self.convs = nn.ModuleList(GatedConv(d) for _ in range(layers))
        self.out = nn.Linear(d, 3)

    def forward(self, types, edges, weight, seeds: List[int], fanout: int = 2):
        if not seeds:
            return torch.zeros(0, 3), {}
        n = types.numel()
        bad = [s for s in seeds if not 0 <= s < n]
        if bad:
            raise IndexError(f"seeds {bad} out of range for {n} nodes")
        adj = Adjacency(edges, weight)
        order, found = bfs(adj, list(dict.fromkeys(seeds)), len(self.convs), fanout)
        local = {node: i for i, node in enumerate(order)}
        depth = torch.tensor(list(order.values()))
        h = self.emb(types[torch.tensor(list(order))])
        for hop, conv in enumerate(reversed(self.convs)):
            if not found:
                break
            src = torch.tensor([local[s] for s, _, _ in found])
            dst = torch.tensor([local[d] for _, d, _ in found])
            w = torch.tensor([w for *_, w in found])
            keep = depth[dst] < len(self.convs) - hop
            if not keep.any():
                continue
            h = conv(h, src[keep], dst[keep], w[keep])
        logits = self.out(h[: len(set(seeds))])
        by_depth: Dict[int, List[int]] = {}
        for node, d in order.items():
            by_depth.setdefault(d, []).append(node)
        return logits, {k: sorted(v) for k, v in sorted(by_depth.items(), reverse=True)}


def make_model():
    torch.manual_seed(9)
    return Sampler().eval()


def make_inputs():
    g = torch.Generator().manual_seed(10)
    def graph(n, e):
        return torch.randint(0, 5, (n,), generator=g), torch.randint(0, n, (2, e), generator=g), torch.rand(e, generator=g)
    return [
        (*graph(10, 30), [0, 3, 0]),
        (*graph(6, 4), [5], 1),
        (*graph(4, 0), [1, 2]),
        (*graph(8, 20), []),
        (*graph(8, 20), [3, 9, -1]),
        (*graph(12, 60), [1, 7], 4),
    ]
