"""Selective state space model: prefill by chunks, then one-token steps with conv and state caches; early stop on confidence."""
import math
import torch
import torch.nn as nn
import torch.nn.functional as F
from typing import Dict, Optional

class InferenceParams:
    def __init__(self, max_len):
        self.max_len = max_len
        self.seqlen_offset = 0
        self.cache: Dict[int, tuple] = {}

class Mixer(nn.Module):
    def __init__(self, d, n=4, k=3, expand=2, layer_idx=0):
        super().__init__()
        self.di, self.n, self.k, self.idx = d * expand, n, k, layer_idx
        self.in_proj = nn.Linear(d, 2 * self.di, bias=False)
        self.conv = nn.Conv1d(self.di, self.di, k, groups=self.di, padding=k - 1)
        self.x_proj = nn.Linear(self.di, 2 * n + 1, bias=False)
        self.dt = nn.Linear(1, self.di)
        self.A_log = nn.Parameter(torch.log(torch.arange(1, n + 1).float()).repeat(self.di, 1))
        self.D = nn.Parameter(torch.ones(self.di))
        self.out = nn.Linear(self.di, d, bias=False)

    def states(self, batch, params):
        if self.idx not in params.cache:
            params.cache[self.idx] = (torch.zeros(batch, self.di, self.k), torch.zeros(batch, self.di, self.n))
        return params.cache[self.idx]

    def ssm(self, x, state):
        A = -torch.exp(self.A_log)
        dt, B, C = self.x_proj(x).split([1, self.n, self.n], dim=-1)
        dt = F.softplus(self.dt(dt))
        ys = []
        for t in range(x.shape[1]):
            dA = torch.exp(dt[:, t, :, None] * A)
            dB = dt[:, t, :, None] * B[:, t, None, :]
            state = dA * state + dB * x[:, t, :, None]
            ys.append((state * C[:, t, None, :]).sum(-1) + self.D * x[:, t])
        return torch.stack(ys, 1), state

    def forward(self, u, params: Optional[InferenceParams] = None):
        b, t, _ = u.shape
        conv_state, state = (None, None) if params is None else self.states(b, params)
        x, z = self.in_proj(u).chunk(2, -1)
        if params is not None and params.seqlen_offset > 0:
            assert t == 1, "only one token at a time"
            conv_state = torch.roll(conv_state, -1, -1)
            conv_state[:, :, -1] = x[:, 0]
            x = (conv_state * self.conv.weight.squeeze(1)).sum(-1) + self.conv.bias
            x = F.silu(x)[:, None]
        else:
            xt = x.transpose(1, 2)
            if conv_state is not None:
                conv_state.copy_(F.pad(xt, (self.k - t, 0)))
            x = F.silu(self.conv(xt)[..., :t]).transpose(1, 2)
        if state is None:
            state = torch.zeros(b, self.di, self.n)
        y, state = self.ssm(x, state)
        if params is not None:
            params.cache[self.idx] = (conv_state, state)
        return self.out(y * F.silu(z))

class LM(nn.Module):
    def __init__(self, vocab=15, d=8, layers=2):
        super().__init__()
        self.emb = nn.Embedding(vocab, d)
        self.layers = nn.ModuleList([Mixer(d, layer_idx=i) for i in range(layers)])
        self.norms = nn.ModuleList([nn.LayerNorm(d) for _ in range(layers)])
        self.head = nn.Linear(d, vocab)

    def logits(self, ids, params=None):
        x = self.emb(ids)
        for n, l in zip(self.norms, self.layers):
            x = x + l(n(x), params)
        return self.head(x[:, -1])

    def forward(self, ids, max_new: int = 6, stop_entropy: Optional[float] = None, use_cache: bool = True):
        params = InferenceParams(ids.shape[1] + max_new) if use_cache else None
        entropies = []
        cur = ids
        while ids.shape[1] < params.max_len if params is not None else len(entropies) < max_new:
            lg = self.logits(cur, params)
            p = lg.softmax(-1)
            e = -(p * p.clamp_min(1e-9).log()).sum(-1).mean().item()
            entropies.append(e)
            nxt = lg.argmax(-1, keepdim=True)
            ids = torch.cat((ids, nxt), 1)
            if params is not None:
                params.seqlen_offset += cur.shape[1]
                cur = nxt
            else:
                cur = ids
            if stop_entropy is not None and e < stop_entropy:
                break
            if (nxt == 0).all():
                break
        return ids, entropies, params.seqlen_offset if params else -1

def make_model():
    torch.manual_seed(0)
    m = LM().eval()
    with torch.no_grad():
        m.head.weight.mul_(3)
    return m

def make_inputs():
    g = torch.Generator().manual_seed(0)
    r = lambda *s: torch.randint(1, 15, s, generator=g)
    return [(r(1, 4),), (r(2, 3), 4), (r(1, 1), 5, 2.0), (r(1, 6), 3, None, False), (r(3, 2), 8, 1.2)]
