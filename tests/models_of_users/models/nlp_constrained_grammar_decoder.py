"""LLM serving: constrained decoding with a finite automaton compiled from a small grammar; token masks cached per state; backtracking on dead ends; nucleus sampling by fixed uniforms."""
from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Mapping, MutableMapping, Sequence

import torch
import torch.nn.functional as F
from torch import nn

VOCAB: tuple[str, ...] = ("<eos>", "{", "}", "\"a\"", "\"b\"", ":", ",", "1", "2", "[", "]")


class DeadEnd(Exception):
    pass


@dataclass
class Automaton:
    transitions: dict[int, dict[str, int]]
    accepting: set[int]
    start: int = 0

    @classmethod
    def json_like(cls) -> Automaton:
        t: dict[int, dict[str, int]] = {
            0: {"{": 1, "[": 6},
            1: {'"a"': 2, '"b"': 2, "}": 5},
            2: {":": 3},
            3: {"1": 4, "2": 4, "[": 8},
            4: {",": 9, "}": 5},
            5: {},
            6: {"1": 7, "2": 7, "]": 5},
            7: {",": 10, "]": 5},
            8: {"1": 11, "2": 11},
            9: {'"a"': 2, '"b"': 2},
            10: {"1": 7, "2": 7},
            11: {"]": 4, ",": 8},
        }
        return cls(t, {5})

    def allowed(self, state: int) -> list[int]:
        ids = [VOCAB.index(tok) for tok in self.transitions[state]]
        if state in self.accepting:
            ids.append(0)
        return sorted(ids)

    def step(self, state: int, token: int) -> int:
        try:
            return self.transitions[state][VOCAB[token]]
        except KeyError:
            raise DeadEnd(f"{VOCAB[token]} not allowed in state {state}")

    def distance_to_accept(self) -> list[int]:
        n = len(self.transitions)
        dist = [n + 1] * n
        queue = deque(sorted(self.accepting))
        for s in self.accepting:
            dist[s] = 0
        reverse: dict[int, list[int]] = {}
        for s, edges in self.transitions.items():
            for d in edges.values():
                reverse.setdefault(d, []).append(s)
        while queue:
            s = queue.popleft()
            for p in reverse.get(s, []):
                if dist[p] > dist[s] + 1:
                    dist[p] = dist[s] + 1
                    queue.append(p)
        return dist


@dataclass
class Hypothesis:
    tokens: list[int] = field(default_factory=list)
    states: list[int] = field(default_factory=lambda: [0])
    banned: list[set[int]] = field(default_factory=lambda: [set()])
    logp: float = 0.0

    def push(self, token: int, state: int, lp: float) -> None:
        self.tokens.append(token)
        self.states.append(state)
        self.banned.append(set())
        self.logp += lp

    def backtrack(self) -> bool:
        if not self.tokens:
            return False
        bad = self.tokens.pop()
        self.states.pop()
        self.banned.pop()
        self.banned[-1].add(bad)
        return True


class GrammarDecoder(nn.Module):
    def __init__(self, dim: int = 12, top_p: float = 0.9):
        super().__init__()
        self.automaton = Automaton.json_like()
        self.dist = self.automaton.distance_to_accept()
        self.embed = nn.Embedding(len(VOCAB), dim)
        self.cell = nn.GRUCell(dim, dim)
        self.out = nn.Linear(dim, len(VOCAB))
        self.top_p = top_p
        self._masks: dict[int, torch.Tensor] = {}

    def mask(self, state: int) -> torch.Tensor:
        if state not in self._masks:
            m = torch.full((len(VOCAB),), float("-inf"))
            m[self.automaton.allowed(state)] = 0.0
            self._masks[state] = m
        return self._masks[state]

    def nucleus(self, logits: torch.Tensor, u: float) -> int:
        probs = logits.softmax(-1)
        sorted_probs, order = probs.sort(descending=True)
        cum = sorted_probs.cumsum(0)
        keep = cum - sorted_probs < self.top_p
        kept = sorted_probs * keep
        target = u * kept.sum()
        at = torch.searchsorted(kept.cumsum(0), target).clamp(max=len(VOCAB) - 1)
        return int(order[at])

    def logits(self, tokens: Sequence[int], h: torch.Tensor) -> torch.Tensor:
        for t in tokens:
            h = self.cell(self.embed.weight[t], h)
        return self.out(h)

    @torch.no_grad()
    def forward(self, context: torch.Tensor, noise: torch.Tensor, max_len: int = 10):
        hyp = Hypothesis()
        uniforms = noise.tolist()
        dead_ends = steps = 0
        finished = False
        while steps < len(uniforms):
            state = hyp.states[-1]
            room = max_len - len(hyp.tokens)
            logits = self.logits(hyp.tokens, context) + self.mask(state)
            for b in hyp.banned[-1]:
                logits[b] = float("-inf")
            if not torch.isfinite(logits).any():
                dead_ends += 1
                if not hyp.backtrack():
                    break
                continue
            token = self.nucleus(logits, uniforms[steps])
            steps += 1
            if token == 0:
                finished = True
                break
            try:
                nxt = self.automaton.step(state, token)
                if self.dist[nxt] > room - 1:
                    raise DeadEnd(f"cannot finish from {nxt}")
            except DeadEnd as e:
                dead_ends += 1
                hyp.banned[-1].add(token)
                if "cannot" not in str(e) and not hyp.backtrack():
                    break
                continue
            hyp.push(token, nxt, F.log_softmax(logits, -1)[token].item())
        text = "".join(VOCAB[t] for t in hyp.tokens)
        return {"text": text, "finished": finished, "logp": hyp.logp, "dead_ends": dead_ends, "states": hyp.states,
                "cached": len(self._masks)}


STATEFUL = True


def make_model():
    torch.manual_seed(10)
    return GrammarDecoder().eval()


def make_inputs():
    g = torch.Generator().manual_seed(1)
    r = lambda n: torch.rand(n, generator=g)
    return [(torch.randn(12, generator=g), r(14)), (torch.randn(12, generator=g) * 3, r(14)), (torch.zeros(12), r(14), 4), (torch.ones(12), r(6), 2),
            (torch.randn(12, generator=g), r(0)), (-torch.ones(12), r(20), 1)]
