import torch
import torch.nn as nn
import torch.nn.functional as F
from typing import List, NamedTuple, Optional


class Routed(NamedTuple):
    expert: int
    tokens: torch.Tensor
    weights: torch.Tensor

    @property
    def load(self) -> int:
        return int(self.tokens.numel())


class Expert(nn.Module):
    def __init__(self, d, mult, act):
        super().__init__()
        self.w1, self.w2 = nn.Linear(d, d * mult), nn.Linear(d * mult, d)
        self.act = act

    def forward(self, x):
        return self.w2(self.act(self.w1(x)))


class Router(nn.Module):
    def __init__(self, d, n, k, capacity_factor):
        super().__init__()
        self.gate = nn.Linear(d, n, bias=False)
        self.n, self.k, self.cf = n, k, capacity_factor
        self.register_buffer("usage", torch.zeros(n))

    def forward(self, x) -> List[Routed]:
        probs = self.gate(x).softmax(-1)
        w, idx = probs.topk(self.k, dim=-1)
        w = w / w.sum(-1, keepdim=True)
        cap = max(1, int(self.cf * x.shape[0] * self.k / self.n))
        out, spilled = [], []
        for e in range(self.n):
            rows, slot = (idx == e).nonzero(as_tuple=True)
            if rows.numel() > cap:
                order = w[rows, slot].argsort(descending=True, stable=True)
                keep, drop = order[:cap], order[cap:]
                spilled.append(rows[drop])
                rows, slot = rows[keep], slot[keep]
            self.usage[e] = 0.9 * self.usage[e] + 0.1 * rows.numel()
            if rows.numel():
                out.append(Routed(e, rows, w[rows, slot]))
        if spilled:
            rest = torch.cat(spilled).unique()
            room = {r.expert: cap - r.load for r in out if r.load < cap}
            for e in sorted(set(range(self.n)) - {r.expert for r in out}):
                room[e] = cap
            for e, free in sorted(room.items(), key=lambda kv: (-kv[1], kv[0])):
                if not rest.numel():
                    break
                take, rest = rest[:free], rest[free:]
                out.append(Routed(e, take, probs[take, e]))
        return out


class Model(nn.Module):
    def __init__(self, d=6, n=4, k=2, layers=2, cf=0.8):
        super().__init__()
        acts = [nn.GELU(), nn.ReLU(), nn.SiLU(), nn.Tanh()]
        self.routers = nn.ModuleList([Router(d, n, k, cf) for _ in range(layers)])
        self.experts = nn.ModuleList([nn.ModuleList([Expert(d, 1 + i % 2, a) for i, a in enumerate(acts)]) for _ in range(layers)])
        self.shared = nn.ModuleList([nn.Linear(d, d) if i else nn.Identity() for i in range(layers)])
        self.norm = nn.ModuleList([nn.LayerNorm(d) for _ in range(layers)])

    def forward(self, x, mask: Optional[torch.Tensor] = None, skip_layers=()):
        shape = x.shape
        flat = x.reshape(-1, shape[-1])
        live = mask.reshape(-1).nonzero().squeeze(1) if mask is not None else torch.arange(flat.size(0))
        stats = []
        for n, (router, experts, shared, norm) in enumerate(zip(self.routers, self.experts, self.shared, self.norm)):
            if n in skip_layers or live.numel() == 0:
                stats.append(None)
                continue
            h = norm(flat[live])
            y = shared(h)
            hit = {}
            for r in router(h):
                y = y.index_add(0, r.tokens, experts[r.expert](h[r.tokens]) * r.weights[:, None])
                hit[r.expert] = hit.get(r.expert, 0) + r.load
            flat = flat.index_add(0, live, y)
            stats.append([hit.get(e, 0) for e in range(len(experts))])
        return flat.view(shape), stats


STATEFUL = True


def make_model():
    torch.manual_seed(1)
    return Model().eval()


def make_inputs():
    g = torch.Generator().manual_seed(3)
    r = lambda *s: torch.randn(*s, generator=g)
    return [
        (r(2, 5, 6),),
        (r(1, 1, 6),),
        (r(2, 4, 6), torch.tensor([[1, 1, 0, 0], [1, 0, 0, 0]], dtype=torch.bool)),
        (r(1, 3, 6), torch.zeros(1, 3, dtype=torch.bool)),
        (r(3, 4, 6) * 3, None, (1,)),
        (r(1, 12, 6).expand(1, 12, 6) * 0 + 1,),
    ]
