"""Graph networks: message passing until node states settle; isolated nodes and empty graphs occur."""
from typing import NamedTuple, Optional

import torch
from torch import nn, Tensor


class GraphOut(NamedTuple):
    nodes: Tensor
    graph: Tensor
    rounds: int
    converged: bool


class Settle(nn.Module):
    def __init__(self, dim=8, max_rounds=12, tol=0.05):
        super().__init__()
        self.message = nn.Linear(2 * dim, dim)
        self.update = nn.GRUCell(dim, dim)
        self.readout = nn.Linear(dim, 3)
        self.max_rounds, self.tol = max_rounds, tol

    def forward(self, x: Tensor, edge_index: Tensor, edge_weight: Optional[Tensor] = None) -> GraphOut:
        n = x.size(0)
        if edge_index.numel() == 0:
            pooled = x.mean(0) if n > 0 else x.new_zeros(x.size(1))
            return GraphOut(x, self.readout(pooled), 0, True)
        src, dst = edge_index
        deg = torch.zeros(n).index_add_(0, dst, torch.ones(dst.numel())).clamp(min=1)
        converged = False
        for rounds in range(1, self.max_rounds + 1):
            m = torch.relu(self.message(torch.cat([x[src], x[dst]], dim=-1)))
            if edge_weight is not None:
                m = m * edge_weight.unsqueeze(-1)
            agg = torch.zeros_like(x).index_add_(0, dst, m) / deg.unsqueeze(-1)
            new = self.update(agg, x)
            change = (new - x).norm(dim=-1).max()
            x = new
            if change < self.tol:
                converged = True
                break
        return GraphOut(x, self.readout(x.mean(0)), rounds, converged)


def make_model():
    torch.manual_seed(0)
    return Settle().eval()


def make_inputs():
    ins = []
    for seed, n, e, w in [(0, 5, 8, False), (1, 10, 30, True), (2, 3, 0, False), (3, 1, 1, False), (4, 0, 0, False), (5, 7, 6, True)]:
        g = torch.Generator().manual_seed(seed)
        edges = torch.randint(0, max(n, 1), (2, e), generator=g)
        x = torch.randn(n, 8, generator=g) * (0.05 if seed == 3 else 1)
        ins.append((x, edges, torch.rand(e, generator=g)) if w else (x, edges))
    g = torch.Generator().manual_seed(9)
    ins.append((torch.randn(4, 8, generator=g) * 40, torch.tensor([[0, 1, 2, 3], [1, 2, 3, 0]]), torch.full((4,), 30.0)))
    return ins
