"""Pointer network for routing with capacity: greedy or sampled, visited masks, 2-opt clean-up in Python."""
import torch
from torch import nn, Tensor
from typing import Set, List, Tuple

class Encoder(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.inp = nn.Linear(3, d)
        self.layers = nn.ModuleList(nn.TransformerEncoderLayer(d, 2, 32, dropout=0.0, batch_first=True) for _ in range(2))
    def forward(self, x):
        h = self.inp(x)
        for layer in self.layers:
            h = layer(h)
        return h

def tour_length(points: Tensor, tour: List[int]) -> float:
    total = 0.0
    for a, b in zip(tour, tour[1:] + tour[:1]):
        total += float((points[a] - points[b]).norm())
    return total

class Router(nn.Module):
    CLIP = 10.0

    def __init__(self, d=16):
        super().__init__()
        self.encoder = Encoder(d)
        self.query = nn.Linear(d * 2 + 1, d)
        self.key = nn.Linear(d, d, bias=False)
        self.d = d

    def step_logits(self, keys, ctx, mask):
        q = self.query(ctx)
        u = (keys @ q) / self.d ** 0.5
        u = self.CLIP * torch.tanh(u)
        return u.masked_fill(mask, float("-inf"))

    def two_opt(self, pts, route, max_rounds=3):
        best, improved, rounds = route[:], True, 0
        while improved and rounds < max_rounds:
            improved = False
            rounds += 1
            for i in range(1, len(best) - 2):
                for j in range(i + 1, len(best) - 1):
                    cand = best[:i] + best[i:j + 1][::-1] + best[j + 1:]
                    if tour_length(pts, cand) < tour_length(pts, best) - 1e-4:
                        best, improved = cand, True
        return best, rounds

    def forward(self, coords: Tensor, demand: Tensor, capacity: float, refine: bool = True):
        n = coords.size(0)
        h = self.encoder(torch.cat([coords, demand.unsqueeze(1)], dim=1).unsqueeze(0)).squeeze(0)
        keys = self.key(h)
        graph = h.mean(dim=0)
        visited: Set[int] = {0}
        left, cur = capacity, 0
        routes: List[List[int]] = [[0]]
        logp = torch.zeros(())
        guard = 0
        while len(visited) < n:
            guard += 1
            if guard > 4 * n:
                raise ValueError(f"no feasible route for {n - len(visited)} customers")
            mask = torch.tensor([i in visited or demand[i].item() > left for i in range(n)])
            mask[0] = cur == 0
            if mask.all():
                raise ValueError("stuck at depot")
            ctx = torch.cat([graph, h[cur], torch.tensor([left])])
            logits = self.step_logits(keys, ctx, mask)
            lp = torch.log_softmax(logits, dim=-1)
            nxt = int(lp.argmax())
            logp = logp + lp[nxt]
            if nxt == 0:
                left = capacity
                routes.append([0])
            else:
                visited.add(nxt)
                left -= demand[nxt].item()
                routes[-1].append(nxt)
            cur = nxt
        lengths = []
        for k, r in enumerate(routes):
            if refine and len(r) > 3:
                routes[k], _ = self.two_opt(coords, r)
            lengths.append(tour_length(coords, routes[k]))
        return routes, torch.tensor(lengths), logp

def make_model():
    torch.manual_seed(0)
    return Router().eval()

def make_inputs():
    g = torch.Generator().manual_seed(0)
    out = []
    for n, cap in ((5, 1.0), (6, 1.5), (4, 0.8), (5, 5.0)):
        out.append((torch.rand(n, 2, generator=g), torch.rand(n, generator=g) * 0.5 + 0.1, cap))
    out.append((torch.rand(5, 2, generator=g), torch.full((5,), 0.9), 0.5))
    out.append((*out[1][:2], 2.0, False))
    return out
