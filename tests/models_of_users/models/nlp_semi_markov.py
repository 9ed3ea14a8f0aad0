"""Semi-Markov Viterbi with back pointers, dynamic vocabulary, n-best via heap, explicit tuples as dict keys."""
import heapq
import itertools
import math
import torch
import torch.nn as nn

class SemiMarkov(nn.Module):
    def __init__(self, n_feat=6, n_labels=3, max_len=3):
        super().__init__()
        self.emit = nn.Conv1d(n_feat, n_labels, 3, padding=1)
        self.trans = nn.Parameter(torch.randn(n_labels, n_labels))
        self.length_bias = nn.Parameter(torch.randn(max_len, n_labels) * 0.3)
        self.n_labels, self.max_len = n_labels, max_len

    def segment_scores(self, x):
        e = self.emit(x.t().unsqueeze(0))[0].t()
        csum = torch.cat([torch.zeros(1, self.n_labels), e.cumsum(0)])
        return csum

    def forward(self, x, n_best: int = 1):
        csum = self.segment_scores(x)
        T = x.size(0)
        if n_best > 1:
            return self.n_best(csum, T, n_best)
        alpha = torch.full((T + 1, self.n_labels), -math.inf)
        alpha[0] = 0
        back = {}
        for t in range(1, T + 1):
            for y in range(self.n_labels):
                best, arg = -math.inf, None
                for d in range(1, min(self.max_len, t) + 1):
                    seg = csum[t, y] - csum[t - d, y] + self.length_bias[d - 1, y]
                    prev = alpha[t - d] + (self.trans[:, y] if t - d > 0 else 0)
                    v, yp = prev.max(0)
                    score = (v + seg).item()
                    if score > best:
                        best, arg = score, (t - d, yp.item())
                alpha[t, y] = best
                back[t, y] = arg
        t, y = T, int(alpha[T].argmax())
        score = alpha[T, y]
        path = []
        while t > 0:
            s, yp = back[(t, y)]
            path.append((s, t, y))
            t, y = s, yp
        path.reverse()
        return path, score

    def n_best(self, csum, T, n):
        counter = itertools.count()
        beams = {0: [(0.0, next(counter), ())]}
        for t in range(1, T + 1):
            cands = []
            for d in range(1, min(self.max_len, t) + 1):
                for score, _, path in beams[t - d]:
                    for y in range(self.n_labels):
                        if path and path[-1][2] == y:
                            continue
                        s = score + (csum[t, y] - csum[t - d, y] + self.length_bias[d - 1, y]).item()
                        if path:
                            s += self.trans[path[-1][2], y].item()
                        cands.append((s, next(counter), path + ((t - d, t, y),)))
            beams[t] = heapq.nlargest(n, cands)
        return [(list(p), s) for s, _, p in beams[T]], csum[-1]

def make_model():
    torch.manual_seed(0)
    return SemiMarkov().eval()

def make_inputs():
    g = torch.Generator().manual_seed(0)
    return [(torch.randn(n, 6, generator=g),) for n in (5, 1, 7)] + [(torch.randn(4, 6, generator=g), 3), (torch.randn(2, 6, generator=g), 2)]
