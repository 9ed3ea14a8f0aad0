import torch
import torch.nn as nn
from torch import Tensor
from typing import Dict, List, Tuple


def banned(prefix: List[int], n: int) -> List[int]:
    seen: Dict[Tuple[int, ...], List[int]] = {}
    for gram in zip(*[prefix[i:] for i in range(n)]):
        key = tuple(gram[:-1])
        seen[key] = seen.get(key, []) + [gram[-1]]
    return seen.get(tuple(prefix[len(prefix) + 1 - n:]), [])


class Model(nn.Module):
    def __init__(self, vocab=9, d=8, eos=0, bos=1, max_len=14):
        super().__init__()
        self.emb = nn.Embedding(vocab, d, padding_idx=2)
        self.enc = nn.GRU(d, d, batch_first=True, bidirectional=True)
        self.bridge = nn.Linear(2 * d, d)
        self.dec = nn.GRUCell(d, d)
        self.out = nn.Linear(d, vocab)
        self.out.bias.data[eos] = -0.3
        self.vocab, self.eos, self.bos, self.max_len = vocab, eos, bos, max_len

    @torch.no_grad()
    def generate(self, src: Tensor, no_repeat: int = 0, min_len: int = 2, penalty: float = 1.0,
                 forced: Dict[int, int] = None, groups: int = 1, diversity: float = 0.5) -> Tuple[List[List[int]], List[float]]:
        if src.dim() != 2:
            raise ValueError(f"src has {src.dim()} dimensions, expected 2")
        lengths = src.ne(2).sum(1)
        memory, _ = self.enc(self.emb(src))
        h0 = torch.stack([m[n - 1] for m, n in zip(memory, lengths.tolist())])
        results, scores = [], []
        for row in range(src.size(0)):
            said_at: List[List[int]] = []
            best = None
            for group in range(groups):
                h = self.bridge(h0[row:row + 1])
                tokens, total = [self.bos], 0.0
                while tokens[-1] != self.eos and len(tokens) <= self.max_len:
                    step = len(tokens) - 1
                    h = self.dec(self.emb(torch.tensor(tokens[-1:])), h)
                    lp = self.out(h).log_softmax(-1).squeeze(0)
                    if step < min_len:
                        lp[self.eos] = -float("inf")
                    if penalty != 1.0:
                        for t in set(tokens):
                            lp[t] = lp[t] * penalty if lp[t] < 0 else lp[t] / penalty
                    if no_repeat and len(tokens) + 1 >= no_repeat:
                        for t in banned(tokens, no_repeat):
                            lp[t] = -float("inf")
                    if group:
                        for earlier in said_at[step] if step < len(said_at) else ():
                            lp[earlier] -= diversity
                    nxt = forced[step] if forced and step in forced else int(lp.argmax())
                    total += lp[nxt].item()
                    tokens.append(nxt)
                    if group == len(said_at) == 0 or step >= len(said_at):
                        said_at.append([nxt])
                    else:
                        said_at[step].append(nxt)
                mean = total / (len(tokens) - 1)
                if best is None or mean > best[0]:
                    best = (mean, tokens[1:-1] if tokens[-1] == self.eos else tokens[1:])
            results.append(best[1])
            scores.append(best[0])
        return results, scores


ENTRY = "generate"


def make_model():
    torch.manual_seed(4)
    return Model().eval()


def make_inputs():
    t = torch.tensor
    return [
        (t([[3, 4, 5, 2], [6, 7, 8, 3]]),),
        (t([[3, 4, 5, 6]]), 2),
        (t([[8, 8, 3, 2, 2]]), 3, 4, 1.3),
        (t([[5, 6, 2]]), 0, 2, 1.0, {0: 4, 3: 0}),
        (t([[5, 6, 7], [4, 2, 2]]), 2, 0, 0.8, None, 3),
        (t([1, 2, 3]),),
    ]
