"""Neural PCFG: inside algorithm over a chart of lists of tensors, CKY back pointers, tree as nested tuples and bracket text."""
import torch
import torch.nn as nn
from typing import List, Tuple, Union, Optional

Tree = Union[Tuple[int, "Tree", "Tree"], Tuple[int, str]]

class PCFG(nn.Module):
    def __init__(self, vocab=("a", "b", "c", "d"), nt=3, pt=4):
        super().__init__()
        self.vocab = {w: i for i, w in enumerate(vocab)}
        self.nt, self.pt = nt, pt
        self.root = nn.Parameter(torch.randn(nt))
        self.rules = nn.Parameter(torch.randn(nt, nt + pt, nt + pt))
        self.emit = nn.Linear(len(vocab), pt)

    def params(self, words):
        one = torch.zeros(len(words), len(self.vocab))
        for i, w in enumerate(words):
            if w not in self.vocab:
                raise KeyError(w)
            one[i, self.vocab[w]] = 1.0
        unary = self.emit(one).log_softmax(-1)
        rules = self.rules.flatten(1).log_softmax(-1).view_as(self.rules)
        return self.root.log_softmax(0), rules, unary

    def forward(self, sentence: str):
        words = sentence.split()
        n = len(words)
        if n == 0:
            return None, torch.tensor(0.0), "()"
        root, rules, unary = self.params(words)
        s = self.nt + self.pt
        neg = -1e9
        inside = [[None] * (n + 1) for _ in range(n + 1)]
        best = [[None] * (n + 1) for _ in range(n + 1)]
        back = {}
        for i in range(n):
            cell = torch.full((s,), neg)
            cell[self.nt:] = unary[i]
            inside[i][i + 1] = cell
            best[i][i + 1] = cell
        for width in range(2, n + 1):
            for i in range(n - width + 1):
                k = i + width
                sums, maxes, args = [], [], []
                for j in range(i + 1, k):
                    left, right = inside[i][j], inside[j][k]
                    t = rules + left[None, :, None] + right[None, None, :]
                    sums.append(t.flatten(1).logsumexp(1))
                    b = rules + best[i][j][None, :, None] + best[j][k][None, None, :]
                    m, a = b.flatten(1).max(1)
                    maxes.append(m)
                    args.append(a)
                cell = torch.full((s,), neg)
                cell[: self.nt] = torch.stack(sums).logsumexp(0)
                inside[i][k] = cell
                m, split = torch.stack(maxes).max(0)
                cell = torch.full((s,), neg)
                cell[: self.nt] = m
                best[i][k] = cell
                for x in range(self.nt):
                    sp = int(split[x])
                    back[i, k, x] = (i + 1 + sp, *divmod(int(args[sp][x]), s))
        if n == 1:
            return None, unary.logsumexp(1)[0], f"({words[0]})"
        total = (root + inside[0][n][: self.nt]).logsumexp(0)
        start = int((root + best[0][n][: self.nt]).argmax())

        def build(i, k, x):
            if k - i == 1:
                return words[i]
            j, l, r = back[(i, k, x)]
            return f"({build(i, j, l)} {build(j, k, r)})"

        return start, total, build(0, n, start)

def make_model():
    torch.manual_seed(0)
    return PCFG().eval()

def make_inputs():
    return [("a b c",), ("d a",), ("c",), ("a a b d c",), ("",), ("a z",)]
