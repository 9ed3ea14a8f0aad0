"""CTC prefix beam search with a character n-gram LM, hot words, and word timings; streaming state kept between chunks."""
from __future__ import annotations
import math
from collections import defaultdict
from dataclasses import dataclass, field
from typing import DefaultDict, Dict, List, Optional, Tuple

import torch
from torch import Tensor, nn

NEG = -float("inf")


def logaddexp(*xs: float) -> float:
    m = max(xs)
    if m == NEG:
        return NEG
    return m + math.log(sum(math.exp(x - m) for x in xs))


@dataclass
class Beam:
    text: str = ""
    blank: float = 0.0
    nonblank: float = NEG
    lm: float = 0.0
    frames: List[int] = field(default_factory=list)

    @property
    def total(self) -> float:
        return logaddexp(self.blank, self.nonblank)

    def score(self, alpha: float, beta: float) -> float:
        return self.total + alpha * self.lm + beta * self.text.count(" ")


class BigramLM:
    def __init__(self, corpus: List[str]):
        self.counts: Dict[Tuple[str, str], int] = {}
        self.totals: Dict[str, int] = {}
        for line in corpus:
            for a, b in zip(" " + line, line):
                self.counts[(a, b)] = self.counts.get((a, b), 0) + 1
                self.totals[a] = self.totals.get(a, 0) + 1

    def logp(self, prev: str, nxt: str) -> float:
        return math.log((self.counts.get((prev, nxt), 0) + 0.1) / (self.totals.get(prev, 0) + 1.0))


class CTCDecoder(nn.Module):
    def __init__(self, alphabet="_ abcd", feat=5, width=4):
        super().__init__()
        self.alphabet = alphabet
        self.conv = nn.Conv1d(feat, 8, 3, padding=1)
        self.out = nn.Linear(8, len(alphabet))
        self.lm = BigramLM(["ab cd", "bad cab", "a dab"])
        self.width, self.alpha, self.beta = width, 0.4, 0.2
        self.hotwords = {"bad": 1.5, "cab": 1.0}
        self.beams: Optional[List[Beam]] = None
        self.frame = 0

    def extend(self, beams: List[Beam], lp: List[float]) -> List[Beam]:
        nxt: Dict[str, Beam] = {}

        def slot(text: str, like: Beam, new_frame: bool) -> Beam:
            if text not in nxt:
                frames = like.frames + [self.frame] if new_frame else list(like.frames)
                nxt[text] = Beam(text, NEG, NEG, like.lm, frames)
            return nxt[text]

        for b in beams:
            for c, p in zip(self.alphabet, lp):
                if p < -6.0:
                    continue
                if c == "_":
                    s = slot(b.text, b, False)
                    s.blank = logaddexp(s.blank, b.total + p)
                elif b.text.endswith(c):
                    s = slot(b.text, b, False)
                    s.nonblank = logaddexp(s.nonblank, b.nonblank + p)
                    t = slot(b.text + c, b, True)
                    t.nonblank = logaddexp(t.nonblank, b.blank + p)
                    t.lm = b.lm + self.lm.logp(c, c)
                else:
                    t = slot(b.text + c, b, True)
                    t.nonblank = logaddexp(t.nonblank, b.total + p)
                    t.lm = b.lm + self.lm.logp(b.text[-1] if b.text else " ", c)
        return sorted(nxt.values(), key=self.rank, reverse=True)[: self.width]

    def rank(self, b: Beam) -> float:
        bonus = sum(w for word, w in self.hotwords.items() if word in b.text.split())
        return b.score(self.alpha, self.beta) + bonus

    def words(self, b: Beam) -> List[Tuple[str, int, int]]:
        out, start = [], None
        for i, ch in enumerate(b.text + " "):
            if ch == " ":
                if start is not None:
                    out.append((b.text[start:i], b.frames[start], b.frames[i - 1]))
                start = None
            elif start is None:
                start = i
        return out

    def forward(self, feats: Tensor, final: bool = False):
        if self.beams is None:
            self.beams = [Beam()]
            self.frame = 0
        lps = self.out(torch.relu(self.conv(feats.t().unsqueeze(0))).squeeze(0).t()).log_softmax(-1)
        for row in lps.tolist():
            self.beams = self.extend(self.beams, row)
            self.frame += 1
            if not self.beams:
                self.beams = None
                return "", [], NEG
        best = self.beams[0]
        result = best.text.strip(), self.words(best), best.score(self.alpha, self.beta)
        if final:
            self.beams = None
        return result


STATEFUL = True


def make_model():
    torch.manual_seed(2)
    m = CTCDecoder().eval()
    with torch.no_grad():
        m.out.weight.mul_(4)
    return m


def make_inputs():
    g = torch.Generator().manual_seed(5)
    r = lambda n: torch.randn(n, 5, generator=g)
    return [(r(4),), (r(3), True), (r(6),), (r(1),), (r(2), True), (r(0), True)]
