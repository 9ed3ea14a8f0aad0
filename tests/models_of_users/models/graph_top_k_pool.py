"""Graph classification with top-k pooling until few nodes are left, scatter_reduce, unique edges and set2set readout."""
import torch, math
from torch import nn
from torch.nn import functional as F

def scatter(src, index, n, how):
    out = src.new_zeros(n, src.size(1))
    if how == "mean":
        cnt = torch.bincount(index, minlength=n).clamp(min=1).unsqueeze(1)
        return out.index_add_(0, index, src) / cnt
    return out.scatter_reduce(0, index[:, None].expand_as(src), src, reduce="amax", include_self=False)

class Conv(nn.Module):
    def __init__(self, i, o, how):
        super().__init__()
        self.msg, self.upd, self.how = nn.Linear(2 * i, o), nn.Linear(i + o, o), how
    def forward(self, x, ei):
        if ei.size(1) == 0:
            return F.relu(self.upd(F.pad(x, (0, self.msg.out_features))))
        s, d = ei
        m = self.msg(torch.hstack([x[s], x[d]]))
        return F.relu(self.upd(torch.cat([x, scatter(m, d, len(x), self.how)], 1)))

class TopKPool(nn.Module):
    def __init__(self, d, ratio):
        super().__init__()
        self.p, self.ratio = nn.Parameter(torch.randn(d)), ratio
    def forward(self, x, ei):
        score = (x @ self.p) / self.p.norm()
        k = math.ceil(self.ratio * x.size(0))
        val, perm = score.topk(k)
        x = x[perm] * torch.tanh(val)[:, None]
        new = torch.full((score.numel(),), -1, dtype=torch.long)
        new[perm] = torch.arange(k)
        ei = new[ei]
        ei = ei[:, (ei >= 0).all(0)]
        if ei.numel():
            ei = torch.unique(ei, dim=1)
        return x, ei, perm

class Set2Set(nn.Module):
    def __init__(self, d, steps=3):
        super().__init__()
        self.lstm, self.steps, self.d = nn.LSTMCell(2 * d, d), steps, d
    def forward(self, x):
        q = x.new_zeros(1, 2 * self.d)
        h = (x.new_zeros(1, self.d), x.new_zeros(1, self.d))
        for _ in range(self.steps):
            h = self.lstm(q, h)
            a = torch.softmax(x @ h[0].squeeze(0), dim=0)
            q = torch.cat([h[0], (a.unsqueeze(1) * x).sum(0, keepdim=True)], dim=-1)
        return q

class Net(nn.Module):
    def __init__(self, f=5, d=8):
        super().__init__()
        self.convs = nn.ModuleList([Conv(f, d, "mean"), Conv(d, d, "max")])
        self.pool = TopKPool(d, 0.6)
        self.read = Set2Set(d)
        self.head = nn.Linear(2 * d, 3)
    def components(self, n, ei):
        parent = list(range(n))
        def find(a):
            while parent[a] != a:
                parent[a] = parent[parent[a]]
                a = parent[a]
            return a
        for a, b in ei.t().tolist():
            ra, rb = find(a), find(b)
            if ra != rb:
                parent[max(ra, rb)] = min(ra, rb)
        return len({find(i) for i in range(n)})
    def forward(self, x, edge_index, stop_at: int = 3):
        if edge_index.numel() and int(edge_index.max()) >= x.size(0):
            raise IndexError(f"edge to node {int(edge_index.max())} of {x.size(0)}")
        comps = [self.components(x.size(0), edge_index)]
        x = self.convs[0](x, edge_index)
        kept, level = [], 0
        while x.size(0) > stop_at:
            x = x + self.convs[1](x, edge_index)
            x, edge_index, perm = self.pool(x, edge_index)
            kept.append(perm)
            comps += [self.components(len(x), edge_index)]
            level += 1
        z = self.read(x)
        return self.head(z), comps, [p.tolist() for p in kept], level

def make_model():
    torch.manual_seed(1)
    return Net().eval()

def make_inputs():
    g = torch.Generator().manual_seed(0)
    out = []
    for n, e in ((6, 10), (12, 30), (2, 1), (5, 0), (20, 25)):
        out.append((torch.randn(n, 5, generator=g), torch.randint(0, n, (2, e), generator=g)))
    out.append((torch.randn(4, 5, generator=g), torch.tensor([[0, 9], [1, 2]])))
    out.append((*out[4], 2))
    return out
