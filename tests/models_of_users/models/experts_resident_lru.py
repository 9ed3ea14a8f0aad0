"""Sparse mixture of experts with shared experts, capacity drops, an expert cache that is offloaded (LRU) and hooks into stats."""

from collections import Counter, OrderedDict, defaultdict
from dataclasses import dataclass, asdict

import torch
import torch.nn as nn
import torch.nn.functional as F


@dataclass
class RouterStats:
    hits: int = 0
    misses: int = 0
    dropped: int = 0

    def __add__(self, other: "RouterStats") -> "RouterStats":
        return RouterStats(self.hits + other.hits, self.misses + other.misses, self.dropped + other.dropped)


class LRUSet:
    """Remembers which experts are resident."""

    def __init__(self, capacity):
        self.capacity = capacity
        self._items: "OrderedDict[int, int]" = OrderedDict()

    def __contains__(self, key):
        return key in self._items

    def __len__(self):
        return len(self._items)

    def touch(self, key: int) -> bool:
        if key in self._items:
            self._items.move_to_end(key)
            self._items[key] += 1
            return True
        if len(self._items) >= self.capacity:
            self._items.popitem(last=False)
        self._items[key] = 1
        return False

    def keys(self):
        return list(self._items.keys())


class Expert(nn.Module):
    def __init__(self, dim, hidden):
        super().__init__()
        self.w1, self.w2, self.w3 = (nn.Linear(a, b, bias=False) for a, b in ((dim, hidden), (hidden, dim), (dim, hidden)))

    def forward(self, x):
        return self.w2(F.silu(self.w1(x)) * self.w3(x))


class SparseMoE(nn.Module):
    def __init__(self, dim=12, hidden=20, num_experts=6, top_k=2, capacity_factor=1.25, resident=3):
        super().__init__()
        self.gate = nn.Linear(dim, num_experts, bias=False)
        self.experts = nn.ModuleList(Expert(dim, hidden) for _ in range(num_experts))
        self.shared = Expert(dim, hidden)
        self.num_experts, self.top_k = num_experts, top_k
        self.capacity_factor = capacity_factor
        self.resident = LRUSet(resident)
        self.total = RouterStats()
        self.register_buffer("load", torch.zeros(num_experts))

    def forward(self, hidden_states: torch.Tensor, threshold: float = 0.0):
        *lead, dim = hidden_states.shape
        x = hidden_states.reshape(-1, dim)
        tokens = x.shape[0]
        weights = F.softmax(self.gate(x), dim=1, dtype=torch.float)
        weights, selected = torch.topk(weights, self.top_k, dim=-1)
        weights = weights / weights.sum(dim=-1, keepdim=True)
        weights = torch.where(weights < threshold, torch.zeros_like(weights), weights)
        capacity = max(1, int(self.capacity_factor * tokens * self.top_k / self.num_experts))
        out = torch.zeros_like(x)
        stats = RouterStats()
        usage = Counter()
        by_slot = defaultdict(list)
        mask = F.one_hot(selected, num_classes=self.num_experts).permute(2, 1, 0)
        mask = mask * (weights.t() > 0)
        hit = torch.nonzero(mask.sum(dim=(-1, -2)) > 0, as_tuple=False).flatten()
        for expert_idx in hit.tolist():
            slot, token = torch.where(mask[expert_idx])
            if token.numel() > capacity:
                keep = weights[token, slot].topk(capacity).indices
                stats.dropped += token.numel() - capacity
                slot, token = slot[keep], token[keep]
            if self.resident.touch(expert_idx):
                stats.hits += 1
            else:
                stats.misses += 1
            expert = self.experts[expert_idx]
            y = expert(x[token]) * weights[token, slot, None]
            out.index_add_(0, token, y.to(out.dtype))
            usage[expert_idx] += len(token)
            for s in sorted(set(slot.tolist())):
                by_slot[s].append(expert_idx)
        self.load.mul_(0.9).add_(torch.bincount(selected.flatten(), minlength=self.num_experts).float(), alpha=0.1)
        self.total = self.total + stats
        out = out + self.shared(x)
        top = usage.most_common(1)
        busiest = top[0][0] if top else -1
        return out.view(*lead, dim), asdict(stats), busiest, {k: sorted(v) for k, v in by_slot.items()}, self.resident.keys(), len(self.resident)


STATEFUL = True


def make_model():
    torch.manual_seed(0)
    return SparseMoE().eval()


def make_inputs():
    torch.manual_seed(1)
    return [
        (torch.randn(2, 5, 12) * 2,),
        (torch.randn(1, 3, 12) * 2, 0.45),
        (torch.randn(1, 1, 12), 0.999),
        (torch.randn(1, 1, 12).repeat(3, 3, 1),),
    ]
