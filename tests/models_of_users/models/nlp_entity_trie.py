"""Constrained decoding: an LSTM language model whose continuations must stay in a trie of entity names, with repetition penalty."""
from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from typing import Dict, Iterable, List, NamedTuple, Optional, Sequence, Set, Tuple

import torch
import torch.nn as nn
import torch.nn.functional as F

BOS, EOS, OPEN, CLOSE = 0, 1, 2, 3


class Trie:
    """Prefix tree over token sequences (as in GENRE)."""

    def __init__(self, sequences: Iterable[Sequence[int]] = ()):
        self.root: Dict[int, dict] = {}
        self.size = 0
        for s in sequences:
            self.add(s)

    def add(self, sequence):
        node = self.root
        for tok in sequence:
            node = node.setdefault(tok, {})
        node[CLOSE] = {}
        self.size += 1

    def get(self, prefix: List[int]) -> List[int]:
        node = self.root
        for tok in prefix:
            if tok not in node:
                return []
            node = node[tok]
        return list(node.keys())

    def __len__(self):
        return self.size


class Span(NamedTuple):
    start: int
    end: int
    tokens: Tuple[int, ...]
    score: float


@dataclass
class DecodeState:
    tokens: List[int] = field(default_factory=lambda: [BOS])
    entity_start: Optional[int] = None
    score: float = 0.0
    counts: Dict[int, int] = field(default_factory=lambda: defaultdict(int))

    @property
    def inside(self) -> bool:
        return self.entity_start is not None

    def push(self, tok: int, lp: float):
        self.tokens.append(tok)
        self.counts[tok] += 1
        self.score += lp


class EntityDecoder(nn.Module):
    def __init__(self, vocab=14, dim=12, max_len=18):
        super().__init__()
        self.embed = nn.Embedding(vocab, dim)
        self.lstm = nn.LSTMCell(dim, dim)
        self.proj = nn.Linear(dim, vocab)
        self.vocab, self.max_len = vocab, max_len
        self.trie = Trie([[5, 6, 7], [5, 6, 8], [9], [9, 10], [11, 12, 13, 4]])

    def allowed(self, state: DecodeState, pool: Set[int]) -> List[int]:
        if not state.inside:
            return sorted(pool | {EOS, OPEN})
        nxt = self.trie.get(state.tokens[state.entity_start + 1:])
        if not nxt:
            raise RuntimeError(f"dead end after {state.tokens[state.entity_start:]}")
        return nxt

    def penalise(self, logits: torch.Tensor, counts: Dict[int, int], penalty: float) -> torch.Tensor:
        if penalty == 1.0 or len(counts) == 0:
            return logits
        logits = logits.clone()
        for tok, n in counts.items():
            v = logits[tok]
            logits[tok] = torch.where(v > 0, v / penalty ** n, v * penalty ** n)
        return logits

    @torch.no_grad()
    def forward(self, context: torch.Tensor, source: List[int], penalty: float = 1.0):
        h = torch.tanh(context.mean(0, keepdim=True))
        c = torch.zeros_like(h)
        state = DecodeState()
        spans: List[Span] = []
        pool = {t for t in source if t > CLOSE}
        stop_reason = "length"
        while len(state.tokens) < self.max_len:
            x = self.embed(torch.tensor([state.tokens[-1]]))
            h, c = self.lstm(x, (h, c))
            logits = self.penalise(self.proj(h)[0], state.counts, penalty)
            options = self.allowed(state, pool)
            mask = torch.full((self.vocab,), float("-inf"))
            mask[options] = 0.0
            lp = F.log_softmax(logits + mask, dim=-1)
            best = int(lp.argmax())
            state.push(best, lp[best].item())
            if best == EOS:
                stop_reason = "eos"
                break
            elif best == OPEN:
                state.entity_start = len(state.tokens) - 1
            elif best == CLOSE:
                s, e = state.entity_start, len(state.tokens)
                spans.append(Span(s, e, tuple(state.tokens[s + 1:e - 1]), state.score / e))
                state.entity_start = None
                if len(spans) >= 3:
                    stop_reason = "enough"
                    break
        if state.inside:
            state.tokens = state.tokens[:state.entity_start]
            stop_reason += "-cut"
        best_span = max(spans, key=lambda s: s.score, default=None)
        return state.tokens, spans, best_span, stop_reason, dict(state.counts)


def make_model():
    torch.manual_seed(3)
    m = EntityDecoder().eval()
    with torch.no_grad():
        m.proj.weight.mul_(6)
        m.proj.bias[OPEN] += 1.0
    return m


def make_inputs():
    g = torch.Generator().manual_seed(1)
    r = lambda n, s: torch.randn(n, 12, generator=g) * s
    return [(r(3, 1.0), [4, 8, 9]), (r(5, 3.0), [], 1.4), (r(1, 2.0), [5, 6], 1.1), (r(2, 5.0), [10, 11, 13], 2.0), (r(4, 4.0), [1, 2])]
