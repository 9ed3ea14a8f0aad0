"""NLP: byte-pair tokenizer with a cache, then an intent classifier with out-of-scope rejection and slot rules."""
import re
import unicodedata
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain
from typing import Dict, FrozenSet, List, NamedTuple, Optional, Set, Tuple

import torch
from torch import nn

STATEFUL = True

MERGES = """t h|e r|i n|th e|o n|a n|an d|b o|bo o|boo k|f l|fl i|fli g|flig h|fligh t|c a|ca n|can c|canc el"""
PUNCT = set(".,!?;:")


class Slot(NamedTuple):
    kind: str
    value: str


@dataclass
class Prediction:
    intent: str
    confidence: float
    slots: List[Slot]
    n_tokens: int


def get_pairs(word: Tuple[str, ...]) -> Set[Tuple[str, str]]:
    pairs = set()
    prev = word[0]
    for char in word[1:]:
        pairs.add((prev, char))
        prev = char
    return pairs


class BPE:
    def __init__(self, merges: str, size: int):
        rules = [tuple(m.split()) for m in merges.split("|")]
        self.ranks: Dict[Tuple[str, str], int] = dict(zip(rules, range(len(rules))))
        symbols = sorted(set(chain.from_iterable(a + b for a, b in rules)))
        self.vocab: Dict[str, int] = {s: i + 2 for i, s in enumerate(symbols)}
        for a, b in rules:
            self.vocab.setdefault(a + b, len(self.vocab) + 2)
        self.size = size
        self.cache: Dict[str, List[str]] = {}
        self.hits = 0

    def bpe(self, token: str) -> List[str]:
        if token in self.cache:
            self.hits += 1
            return self.cache[token]
        word = tuple(token)
        while len(word) > 1:
            pairs = get_pairs(word)
            best = min(sorted(pairs), key=lambda p: self.ranks.get(p, 10 ** 9))
            if best not in self.ranks:
                break
            first, second = best
            merged: List[str] = []
            i = 0
            while i < len(word):
                if i < len(word) - 1 and word[i] == first and word[i + 1] == second:
                    merged.append(first + second)
                    i += 2
                else:
                    merged.append(word[i])
                    i += 1
            word = tuple(merged)
        self.cache[token] = list(word)
        return self.cache[token]

    def encode(self, text: str) -> List[int]:
        ids: List[int] = []
        for token in text.lower().split():
            while token and token[-1] in PUNCT:
                token = token[:-1]
            if not token:
                continue
            ids.extend(self.vocab.get(piece, 1) for piece in self.bpe(token))
        return ids[: self.size]


class IntentModel(nn.Module):
    INTENTS = ["book", "cancel", "status", "chat"]

    def __init__(self, dim=10, max_len=12, threshold=0.4):
        super().__init__()
        self.tokenizer = BPE(MERGES, max_len)
        self.embed = nn.EmbeddingBag(64, dim, mode="sum", padding_idx=0)
        self.mlp = nn.Sequential(nn.Linear(dim, dim), nn.GELU(), nn.LayerNorm(dim))
        self.out = nn.Linear(dim, len(self.INTENTS))
        self.prototypes = nn.Parameter(torch.randn(len(self.INTENTS), dim))
        self.threshold = threshold
        self.history: List[str] = []

    def slots(self, text: str) -> List[Slot]:
        found: List[Slot] = []
        words = text.split()
        for i, w in enumerate(words):
            bare = w.strip(".,!?").lower()
            if bare.isdigit():
                found.append(Slot("number", bare))
            elif bare in ("to", "from") and i + 1 < len(words):
                found.append(Slot(f"{bare}_city", words[i + 1].strip(".,!?").capitalize()))
            elif len(bare) == 5 and bare[2] == ":" and (bare[:2] + bare[3:]).isdigit():
                hours, _, minutes = bare.partition(":")
                if int(hours) < 24 and int(minutes) < 60:
                    found.append(Slot("time", bare))
        return found

    def forward(self, texts: List[str], context: bool = True) -> List[Prediction]:
        encoded = [self.tokenizer.encode(t) for t in texts]
        if not any(encoded):
            return [Prediction("empty", 0.0, [], 0) for _ in texts]
        width = max(len(e) for e in encoded)
        ids = torch.tensor([e + [0] * (width - len(e)) for e in encoded])
        h = self.mlp(self.embed(ids))
        logits = self.out(h) - 0.1 * torch.cdist(h, self.prototypes)
        probs = logits.softmax(-1)
        results: List[Prediction] = []
        for text, tokens, p in zip(texts, encoded, probs):
            conf, k = p.max(0)
            intent = self.INTENTS[int(k)]
            if conf.item() < self.threshold:
                intent = "out_of_scope"
                if context and self.history and self.history[-1] != "out_of_scope":
                    intent = f"follow_up:{self.history[-1]}"
            self.history.append(intent.split(":")[0])
            if len(self.history) > 4:
                del self.history[0]
            results.append(Prediction(intent, round(conf.item(), 3), self.slots(text), len(tokens)))
        return results


def make_model():
    torch.manual_seed(2)
    m = IntentModel()
    with torch.no_grad():
        m.out.weight.mul_(2)
    return m.eval()


def make_inputs():
    return [
        (["Book the flight to paris at 09:30!", "cancel it"],),
        (["can I cancel the booking from oslo, 2 persons"],),
        (["", "..."],),
        (["hmm", "the the the", "flight 42 ?"], False),
        ([],),
        (["and the 25:99 one", "to"],),
    ]
