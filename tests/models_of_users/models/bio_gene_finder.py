"""Gene finding: a neural HMM (profile with insert/delete/match), log-space forward, Viterbi with back pointers, posterior decoding, ORF checks."""
import math
from enum import Enum
from typing import Dict, Iterator, List, Optional, Tuple
import torch
import torch.nn as nn
import torch.nn.functional as F

CODONS = {"TAA": "*", "TAG": "*", "TGA": "*", "ATG": "M"}


class State(Enum):
    INTERGENIC = "N"
    START = "S"
    CODING = "C"
    STOP = "E"

    def can_follow(self, other: "State") -> bool:
        return self in TRANSITIONS[other]


TRANSITIONS = {
    State.INTERGENIC: (State.INTERGENIC, State.START),
    State.START: (State.CODING,),
    State.CODING: (State.CODING, State.STOP),
    State.STOP: (State.INTERGENIC,),
}
STATES = list(State)


class GeneFinder(nn.Module):
    def __init__(self, dim=8):
        super().__init__()
        self.embed = nn.Embedding(4, dim)
        self.conv = nn.Conv1d(dim, dim, 5, padding=2)
        self.emit = nn.Linear(dim, len(STATES))
        self.trans = nn.Parameter(torch.randn(len(STATES), len(STATES)) * 0.5)
        mask = torch.tensor([[b.can_follow(a) for b in STATES] for a in STATES])
        self.register_buffer("mask", mask)

    def encode(self, seq: str) -> torch.Tensor:
        idx = ["ACGT".find(c) for c in seq]
        if -1 in idx:
            raise ValueError(f"bad base {seq[idx.index(-1)]!r}")
        x = self.embed(torch.tensor(idx, dtype=torch.long))
        return F.relu(self.conv(x.T[None]))[0].T

    def log_transitions(self):
        return self.trans.masked_fill(~self.mask, -1e4).log_softmax(1)

    def viterbi(self, e: torch.Tensor) -> Tuple[List[int], float]:
        T = self.log_transitions()
        score = e[0] + torch.tensor([0.0, -1.0, -1e4, -1e4])
        back: List[torch.Tensor] = []
        for t in range(1, e.shape[0]):
            cand = score[:, None] + T
            best, ptr = cand.max(0)
            back.append(ptr)
            score = best + e[t]
        state = int(score.argmax())
        path = [state]
        for ptr in reversed(back):
            state = int(ptr[state])
            path.append(state)
        path.reverse()
        return path, score.max().item()

    def forward_backward(self, e: torch.Tensor) -> torch.Tensor:
        T = self.log_transitions()
        n = e.shape[0]
        alpha = torch.empty_like(e)
        alpha[0] = e[0]
        for t in range(1, n):
            alpha[t] = torch.logsumexp(alpha[t - 1][:, None] + T, 0) + e[t]
        beta = torch.zeros_like(e)
        for t in range(n - 2, -1, -1):
            beta[t] = torch.logsumexp(T + (e[t + 1] + beta[t + 1])[None], 1)
        return (alpha + beta).softmax(-1)

    def segments(self, path: List[int]) -> Iterator[Tuple[State, int, int]]:
        start = 0
        for i in range(1, len(path) + 1):
            if i == len(path) or path[i] != path[start]:
                yield STATES[path[start]], start, i
                start = i

    def orf(self, seq: str, start: int) -> Optional[int]:
        for i in range(start, len(seq) - 2, 3):
            if CODONS.get(seq[i:i + 3]) == "*":
                return i + 3
        return None

    def forward(self, seq: str, posterior: bool = False):
        seq = seq.strip().upper().replace("U", "T")
        if len(seq) < 3:
            return [], "", None
        e = self.emit(self.encode(seq)).log_softmax(-1)
        path, score = self.viterbi(e)
        genes = []
        for state, s, t in self.segments(path):
            if state is State.CODING and t - s >= 2:
                stop = self.orf(seq, s)
                genes.append((s, t, stop if stop is not None else -1, seq[s:t]))
        labels = "".join(STATES[i].value for i in path)
        if posterior:
            p = self.forward_backward(e)
            conf = p.gather(1, torch.tensor(path)[:, None]).squeeze(1)
            return genes, labels, conf
        return genes, labels, torch.tensor(score)


def make_model():
    torch.manual_seed(10)
    m = GeneFinder().eval()
    with torch.no_grad():
        m.emit.weight.mul_(3)
    return m


def make_inputs():
    return [("ATGGCGTAAACG",), ("acgu" * 5, True), ("AC",), ("ATGNNN",), ("  TTTATGCCCGGGTGATTTACGATG ", True), ("GGG",)]
