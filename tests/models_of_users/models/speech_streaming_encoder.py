"""Streaming conformer encoder: caches in a dataclass, chunk masks, look-ahead buffer, CTC prefix output with timestamps, flush."""
from dataclasses import dataclass, field, replace
from typing import Dict, List, Optional, Tuple
import torch
import torch.nn as nn
import torch.nn.functional as F

@dataclass
class Cache:
    left: torch.Tensor
    conv: torch.Tensor
    offset: int = 0

@dataclass
class Hypothesis:
    tokens: List[int] = field(default_factory=list)
    times: List[int] = field(default_factory=list)
    blank_run: int = 0
    def text(self, table="_abcdefgh"):
        return "".join(table[t] for t in self.tokens)

class ConvModule(nn.Module):
    def __init__(self, d, k=5):
        super().__init__()
        self.k = k
        self.pw = nn.Linear(d, 2 * d)
        self.dw = nn.Conv1d(d, d, k, groups=d)
        self.bn = nn.LayerNorm(d)
        self.out = nn.Linear(d, d)
    def forward(self, x, cache):
        x = F.glu(self.pw(x), dim=-1).transpose(1, 2)
        x = torch.cat([cache, x], dim=2)
        new = x[:, :, -(self.k - 1):]
        return self.out(F.silu(self.bn(self.dw(x).transpose(1, 2)))), new

class Block(nn.Module):
    def __init__(self, d=12, h=3, left=6):
        super().__init__()
        self.left = left
        self.attn = nn.MultiheadAttention(d, h, batch_first=True)
        self.conv = ConvModule(d)
        self.ff = nn.Sequential(nn.LayerNorm(d), nn.Linear(d, 2 * d), nn.SiLU(), nn.Linear(2 * d, d))
        self.n1, self.n2, self.n3 = nn.LayerNorm(d), nn.LayerNorm(d), nn.LayerNorm(d)
    def forward(self, x, cache: Cache) -> Tuple[torch.Tensor, Cache]:
        x = x + 0.5 * self.ff(x)
        y = self.n1(x)
        kv = torch.cat([cache.left, y], 1)
        a, _ = self.attn(y, kv, kv, need_weights=False)
        x = x + a
        c, conv = self.conv(self.n2(x), cache.conv)
        x = self.n3(x + c)
        return x, replace(cache, left=kv[:, -self.left:], conv=conv, offset=cache.offset + x.size(1))

class Streaming(nn.Module):
    def __init__(self, feat=8, d=12, layers=2, chunk=4):
        super().__init__()
        self.sub = nn.Conv1d(feat, d, 3, stride=2, padding=1)
        self.blocks = nn.ModuleList(Block(d) for _ in range(layers))
        self.ctc = nn.Linear(d, 9)
        self.chunk, self.d = chunk, d
        self.caches: Optional[List[Cache]] = None
        self.pending: Optional[torch.Tensor] = None
        self.hyp = Hypothesis()
        self.last = 0
    def start(self):
        z = lambda *s: torch.zeros(1, *s)
        self.caches = [Cache(z(0, self.d), z(self.d, b.conv.k - 1)) for b in self.blocks]
        self.pending = None
        self.hyp = Hypothesis()
        self.last = 0
    def run_chunk(self, feats):
        x = self.sub(feats.transpose(1, 2)).transpose(1, 2)
        new = []
        for b, c in zip(self.blocks, self.caches):
            x, c = b(x, c)
            new.append(c)
        self.caches = new
        return self.ctc(x).log_softmax(-1)[0]
    def emit(self, lp):
        added = ""
        base = self.caches[0].offset - lp.size(0)
        for t, (score, tok) in enumerate(zip(*lp.max(-1))):
            tok = tok.item()
            if tok == 0:
                self.hyp.blank_run += 1
            else:
                if tok != self.last:
                    self.hyp.tokens.append(tok)
                    self.hyp.times.append(base + t)
                    added += "_abcdefgh"[tok]
                self.hyp.blank_run = 0
            self.last = tok
        return added
    def forward(self, feats, final: bool = False):
        if self.caches is None:
            self.start()
        buf = feats if self.pending is None else torch.cat([self.pending, feats], 1)
        added = []
        while buf.size(1) >= self.chunk:
            added.append(self.emit(self.run_chunk(buf[:, : self.chunk])))
            buf = buf[:, self.chunk:]
        self.pending = buf if buf.size(1) else None
        endpoint = self.hyp.blank_run >= 6
        if final or endpoint:
            if self.pending is not None:
                tail = F.pad(self.pending, (0, 0, 0, self.chunk - self.pending.size(1)))
                added.append(self.emit(self.run_chunk(tail)))
            text, times = self.hyp.text(), list(self.hyp.times)
            self.start()
            return "|".join(added), text, times, "final" if final else "endpoint"
        return "|".join(added), self.hyp.text(), self.hyp.times[-3:], "partial"

STATEFUL = True
def make_model():
    torch.manual_seed(8)
    m = Streaming().eval()
    with torch.no_grad():
        m.ctc.weight.mul_(4)
        m.ctc.bias[0] += 0.5
    return m

def make_inputs():
    g = torch.Generator().manual_seed(0)
    r = lambda t, s=1.0: torch.randn(1, t, 8, generator=g) * s
    return [(r(5),), (r(2),), (r(9, 2.0),), (r(1), True), (r(8, 0.1),), (r(16, 0.05),), (r(3),), (r(0), True)]
