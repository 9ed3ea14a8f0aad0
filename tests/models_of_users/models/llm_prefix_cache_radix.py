"""LLM serving: a radix tree of cached prefixes with reference counts and LRU eviction; requests matched to the longest prefix, blocks of keys reused, hit statistics."""
from __future__ import annotations

import itertools
from dataclasses import dataclass, field
from typing import Optional

import torch
import torch.nn.functional as F
from torch import Tensor, nn


@dataclass
class RadixNode:
    tokens: tuple[int, ...] = ()
    keys: Optional[Tensor] = None
    children: dict[int, "RadixNode"] = field(default_factory=dict)
    parent: Optional["RadixNode"] = None
    last_used: int = 0
    refs: int = 0

    @property
    def size(self) -> int:
        return len(self.tokens)

    def is_leaf(self) -> bool:
        return not self.children


def common_prefix(a: tuple[int, ...], b: list[int]) -> int:
    n = 0
    for x, y in zip(a, b):
        if x != y:
            break
        n += 1
    return n


class RadixCache:
    def __init__(self, capacity: int):
        self.root = RadixNode()
        self.capacity = capacity
        self.clock = itertools.count(1)
        self.stored = 0
        self.evicted = 0

    def match(self, tokens: list[int]) -> tuple[RadixNode, int, list[Tensor]]:
        node, done, parts = self.root, 0, []
        now = next(self.clock)
        while done < len(tokens):
            child = node.children.get(tokens[done])
            if child is None:
                break
            n = common_prefix(child.tokens, tokens[done:])
            if n < child.size:
                child = self.split(child, n)
            child.last_used = now
            parts.append(child.keys)
            node, done = child, done + n
        return node, done, parts

    def split(self, node: RadixNode, at: int) -> RadixNode:
        head = RadixNode(node.tokens[:at], node.keys[:at], {}, node.parent, node.last_used)
        node.parent.children[head.tokens[0]] = head
        node.tokens, node.keys, node.parent = node.tokens[at:], node.keys[at:], head
        head.children[node.tokens[0]] = node
        return head

    def insert(self, node: RadixNode, tokens: list[int], keys: Tensor) -> RadixNode:
        if not tokens:
            return node
        leaf = RadixNode(tuple(tokens), keys, parent=node, last_used=next(self.clock))
        node.children[tokens[0]] = leaf
        self.stored += len(tokens)
        return leaf

    def leaves(self, node: RadixNode) -> list[RadixNode]:
        if node.is_leaf():
            return [] if node is self.root else [node]
        return [leaf for c in node.children.values() for leaf in self.leaves(c)]

    def evict(self) -> None:
        while self.stored > self.capacity:
            free = [n for n in self.leaves(self.root) if n.refs == 0]
            if not free:
                break
            victim = min(free, key=lambda n: n.last_used)
            del victim.parent.children[victim.tokens[0]]
            self.stored -= victim.size
            self.evicted += 1


class Server(nn.Module):
    def __init__(self, vocab: int = 16, dim: int = 8, capacity: int = 14):
        super().__init__()
        self.emb = nn.Embedding(vocab, dim)
        self.key, self.query = nn.Linear(dim, dim), nn.Linear(dim, dim)
        self.out = nn.Linear(dim, vocab)
        self.capacity = capacity

    def encode(self, tokens: list[int], offset: int) -> Tensor:
        x = self.emb(torch.tensor(tokens, dtype=torch.long))
        pos = torch.arange(offset, offset + len(tokens)).unsqueeze(1) * 0.1
        return self.key(x) + torch.sin(pos)

    @torch.no_grad()
    def forward(self, requests: list[list[int]], new_tokens: int = 2):
        cache = RadixCache(self.capacity)
        outputs, hits = [], []
        for req in requests:
            node, done, parts = cache.match(req)
            rest = req[done:]
            if rest:
                fresh = self.encode(rest, done)
                parts.append(fresh)
                node = cache.insert(node, rest, fresh)
            node.refs += 1
            hits.append(done / len(req) if req else 0.0)
            generated: list[int] = []
            keys = torch.cat(parts) if parts else torch.zeros(1, self.emb.embedding_dim)
            last = req[-1] if req else 0
            for _ in range(new_tokens):
                q = self.query(self.emb.weight[last])
                att = F.softmax(keys @ q, dim=0)
                last = int(self.out(att @ keys).argmax())
                generated.append(last)
                keys = torch.cat([keys, self.encode([last], keys.shape[0])])
            outputs.append(generated)
            node.refs -= 1
            cache.evict()
        alive = sorted(n.tokens for n in cache.leaves(cache.root))
        return torch.tensor(outputs).reshape(-1, new_tokens), hits, cache.stored, cache.evicted, alive


def make_model():
    torch.manual_seed(2)
    return Server().eval()


def make_inputs():
    return [
        ([[1, 2, 3, 4], [1, 2, 3, 9], [1, 2], [5, 6], [1, 2, 3, 4, 7]],),
        ([[1, 2, 3, 4, 5, 6, 7], [8, 9, 10, 11, 12, 13], [1, 2, 3, 1, 1], [8, 9]], 1),
        ([[3], [3], [3, 4]], 3),
        ([[]], 2),
    ]
