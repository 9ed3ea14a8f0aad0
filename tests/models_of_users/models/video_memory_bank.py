"""Video object segmentation with a memory bank: working and long-term memory, usage counts, eviction, top-k affinity."""
import math
import torch
from torch import nn, Tensor
import torch.nn.functional as F
from typing import Dict, List, Optional

class MemoryBank:
    def __init__(self, max_working: int, max_long: int, top_k: int):
        self.max_working, self.max_long, self.top_k = max_working, max_long, top_k
        self.keys: Optional[Tensor] = None
        self.values: Optional[Tensor] = None
        self.usage: Optional[Tensor] = None
        self.long_keys: List[Tensor] = []
        self.long_values: List[Tensor] = []
        self.stats: Dict[str, int] = {"reads": 0, "writes": 0, "evictions": 0}

    @property
    def engaged(self):
        return self.keys is not None

    @property
    def size(self) -> int:
        return 0 if self.keys is None else self.keys.shape[-1]

    def write(self, k: Tensor, v: Tensor):
        self.stats["writes"] += 1
        if self.keys is None:
            self.keys, self.values = k, v
            self.usage = torch.zeros(k.shape[-1])
        else:
            self.keys = torch.cat([self.keys, k], -1)
            self.values = torch.cat([self.values, v], -1)
            self.usage = torch.cat([self.usage, torch.zeros(k.shape[-1])])
        if self.size > self.max_working:
            self.compress()

    def compress(self):
        keep_n = self.max_working // 2
        _, order = self.usage.sort(descending=True, stable=True)
        keep, drop = order[:keep_n].sort().values, order[keep_n:]
        proto = drop[: max(1, len(drop) // 4)]
        self.long_keys.append(self.keys[:, proto])
        self.long_values.append(self.values[:, proto])
        while sum(k.shape[-1] for k in self.long_keys) > self.max_long:
            self.long_keys.pop(0)
            self.long_values.pop(0)
            self.stats["evictions"] += 1
        self.keys, self.values, self.usage = self.keys[:, keep], self.values[:, keep], self.usage[keep] * 0.5

    def read(self, q: Tensor) -> Tensor:
        self.stats["reads"] += 1
        k = torch.cat([self.keys, *self.long_keys], -1)
        v = torch.cat([self.values, *self.long_values], -1)
        sim = -(k.pow(2).sum(0)[:, None] - 2 * k.t() @ q) / math.sqrt(k.shape[0])
        n = min(self.top_k, sim.shape[0])
        vals, idx = sim.topk(n, dim=0)
        w = vals.softmax(0)
        aff = torch.zeros_like(sim).scatter_(0, idx, w)
        self.usage += aff[: self.size].sum(1)
        return v @ aff

class VOS(nn.Module):
    def __init__(self, c=6, every=2):
        super().__init__()
        self.key = nn.Conv2d(3, c, 3, stride=2, padding=1)
        self.val = nn.Conv2d(4, c, 3, stride=2, padding=1)
        self.dec = nn.ConvTranspose2d(2 * c, 1, 4, stride=2, padding=1)
        self.every = every

    def forward(self, frames: Tensor, first_mask: Tensor, scene_cut: float = 2.0):
        bank = MemoryBank(max_working=40, max_long=12, top_k=8)
        masks, log = [first_mask], []
        prev = frames[0]
        last_write = 0
        for t, frame in enumerate(frames):
            k = self.key(frame[None])[0]
            if t == 0:
                v = self.val(torch.cat([frame, first_mask])[None])[0]
                bank.write(k.flatten(1), v.flatten(1))
                continue
            change = (frame - prev).abs().mean().item()
            if change > scene_cut:
                log.append(f"cut@{t}")
                bank = MemoryBank(40, 12, 8)
                masks.append(torch.zeros_like(first_mask))
                v = self.val(torch.cat([frame, masks[-1]])[None])[0]
                bank.write(k.flatten(1), v.flatten(1))
                prev, last_write = frame, t
                continue
            r = bank.read(k.flatten(1)).view_as(k)
            logit = self.dec(torch.cat([r, k])[None])[0]
            m = logit.sigmoid()
            masks.append(m)
            if t - last_write >= self.every and m.max() > 0.5:
                v = self.val(torch.cat([frame, m])[None])[0]
                bank.write(k.flatten(1), v.flatten(1))
                last_write = t
            prev = frame
        return torch.stack(masks), bank.stats, log, bank.size, len(bank.long_keys)

def make_model():
    torch.manual_seed(2)
    return VOS().eval()

def make_inputs():
    g = torch.Generator().manual_seed(0)
    vid = lambda t, s: torch.randn(1, 3, s, s, generator=g).repeat(t, 1, 1, 1) + 0.2 * torch.randn(t, 3, s, s, generator=g)
    cut = torch.cat([vid(3, 8), vid(3, 8) + 4])
    m = lambda s: (torch.rand(1, s, s, generator=g) > 0.5).float()
    return [(vid(4, 8), m(8)), (vid(9, 8), m(8)), (cut, m(8)), (vid(1, 8), m(8)), (vid(12, 8), m(8), 0.1)]
