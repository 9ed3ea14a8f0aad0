"""LLM serving: prompt look-up decoding. N-grams of the context propose drafts, one forward verifies them, the accepted prefix grows; cache trimmed; stop strings."""
import dataclasses
from typing import Dict, List, Optional, Tuple

import torch
import torch.nn as nn
import torch.nn.functional as F

KV = Tuple[torch.Tensor, torch.Tensor]


@dataclasses.dataclass
class GenerationConfig:
    max_new: int = 12
    eos: int = 0
    ngram: int = 3
    draft: int = 4
    temperature: float = 0.0


class NGramTable:
    """Where each n-gram was followed by what."""

    def __init__(self, max_n: int):
        self.max_n = max_n
        self.table: Dict[Tuple[int, ...], int] = {}
        self.seen = 0

    def extend(self, tokens: List[int]) -> None:
        for end in range(max(self.seen, 1), len(tokens)):
            for n in range(1, self.max_n + 1):
                if end - n < 0:
                    break
                self.table[tuple(tokens[end - n:end])] = end
        self.seen = len(tokens)

    def lookup(self, tokens: List[int], k: int) -> List[int]:
        for n in range(self.max_n, 0, -1):
            pos = self.table.get(tuple(tokens[-n:]))
            if pos is not None:
                return tokens[pos:pos + k]
        return []


class Block(nn.Module):
    def __init__(self, dim: int, heads: int):
        super().__init__()
        self.heads = heads
        self.qkv = nn.Linear(dim, 3 * dim)
        self.proj = nn.Linear(dim, dim)
        self.ln1, self.ln2 = nn.LayerNorm(dim), nn.LayerNorm(dim)
        self.mlp = nn.Sequential(nn.Linear(dim, 2 * dim), nn.SiLU(), nn.Linear(2 * dim, dim))

    def forward(self, x: torch.Tensor, past: Optional[KV]) -> Tuple[torch.Tensor, KV]:
        B, T, C = x.shape
        q, k, v = self.qkv(self.ln1(x)).view(B, T, 3, self.heads, C // self.heads).permute(2, 0, 3, 1, 4)
        if past is not None:
            k = torch.cat([past[0], k], dim=2)
            v = torch.cat([past[1], v], dim=2)
        S = k.size(2)
        mask = torch.ones(T, S, dtype=torch.bool).tril(S - T)
        att = F.scaled_dot_product_attention(q, k, v, attn_mask=mask)
        x = x + self.proj(att.transpose(1, 2).reshape(B, T, C))
        return x + self.mlp(self.ln2(x)), (k, v)


class PromptLookupLM(nn.Module):
    def __init__(self, vocab: int = 11, dim: int = 16, layers: int = 2, heads: int = 2, max_len: int = 64):
        super().__init__()
        self.tok, self.pos = nn.Embedding(vocab, dim), nn.Embedding(max_len, dim)
        self.blocks = nn.ModuleList(Block(dim, heads) for _ in range(layers))
        self.norm = nn.LayerNorm(dim)
        self.head = nn.Linear(dim, vocab, bias=False)
        self.head.weight = self.tok.weight
        self.max_len = max_len

    def step(self, ids: List[int], cache: Optional[List[KV]]) -> Tuple[torch.Tensor, List[KV]]:
        start = cache[0][0].shape[2] if cache is not None else 0
        if start + len(ids) > self.max_len:
            raise OverflowError(f"context of {start + len(ids)} tokens exceeds {self.max_len}")
        x = self.tok(torch.tensor([ids])) + self.pos(torch.arange(start, start + len(ids)))
        new = []
        for i, block in enumerate(self.blocks):
            x, kv = block(x, None if cache is None else cache[i])
            new.append(kv)
        return self.head(self.norm(x))[0], new

    @staticmethod
    def trim(cache: List[KV], length: int) -> List[KV]:
        return [(k[:, :, :length], v[:, :, :length]) for k, v in cache]

    @torch.inference_mode()
    def generate(self, prompt: torch.Tensor, max_new: int = 12, stop: Optional[List[List[int]]] = None):
        cfg = GenerationConfig(max_new=max_new)
        tokens: List[int] = prompt.tolist()
        assert tokens, "empty prompt"
        n0 = len(tokens)
        table = NGramTable(cfg.ngram)
        stats = {"forward": 0, "drafted": 0, "accepted": 0}
        cache: Optional[List[KV]] = None
        done = False
        reason = "length"
        while len(tokens) - n0 < cfg.max_new and not done:
            table.extend(tokens)
            draft = table.lookup(tokens, min(cfg.draft, cfg.max_new - (len(tokens) - n0) - 1))
            pending = tokens if cache is None else tokens[cache[0][0].shape[2]:]
            logits, cache = self.step(pending + draft, cache)
            stats["forward"] += 1
            stats["drafted"] += len(draft)
            preds = logits[len(pending) - 1:].argmax(-1).tolist()
            accepted = 0
            for guess, truth in zip(draft, preds):
                if guess != truth:
                    break
                accepted += 1
            stats["accepted"] += accepted
            new = draft[:accepted] + [preds[accepted]]
            cache = self.trim(cache, len(tokens) + accepted)
            for t in new:
                tokens.append(t)
                if t == cfg.eos:
                    done, reason = True, "eos"
                    break
                if stop is not None and any(tokens[-len(s):] == s for s in stop if len(tokens) - n0 >= len(s)):
                    done, reason = True, "stop"
                    break
        out = torch.tensor(tokens[n0:], dtype=torch.long)
        rate = stats["accepted"] / stats["drafted"] if stats["drafted"] else 0.0
        return out, reason, stats, round(rate, 4)


ENTRY = "generate"


def make_model():
    torch.manual_seed(11)
    return PromptLookupLM().eval()


def make_inputs():
    t = torch.tensor
    return [
        (t([3, 4, 5, 3, 4, 5, 3, 4]),),
        (t([7]), 5),
        (t([1, 2, 3, 9, 8, 1, 2, 3, 9]), 20),
        (t([6, 6, 6]), 8, [[6, 6]]),
        (t([2, 10, 4]), 10, [[4], [1, 2, 3]]),
        (torch.arange(11).repeat(5), 12),
        (torch.zeros(0, dtype=torch.long), 3),
    ]
