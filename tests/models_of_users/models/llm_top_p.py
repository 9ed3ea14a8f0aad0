"""Sampling decode: top-k, top-p, repetition penalty, bad words, min length, stop sequences, seeded multinomial."""
import torch, torch.nn as nn, torch.nn.functional as F
from functools import partial, reduce
from typing import Optional, List, Callable, Union
import operator

class LM(nn.Module):
    def __init__(self, vocab, d):
        super().__init__()
        self.emb = nn.Embedding(vocab, d)
        self.rnn = nn.LSTM(d, d, num_layers=2, batch_first=True)
        self.out = nn.Linear(d, vocab)
    def forward(self, ids, state=None):
        y, state = self.rnn(self.emb(ids), state)
        return self.out(y[:, -1]), state

def top_k_filter(logits, ids, k: int):
    if k <= 0:
        return logits
    kth = logits.topk(min(k, logits.size(-1))).values[..., -1, None]
    return torch.where(logits < kth, torch.full_like(logits, -float("inf")), logits)

def top_p_filter(logits, ids, p: float):
    if p >= 1:
        return logits
    s, i = logits.sort(descending=True)
    cum = s.softmax(-1).cumsum(-1)
    drop = cum - s.softmax(-1) > p
    return logits.masked_fill(drop.scatter(-1, i, drop), -float("inf"))

def repetition(logits, ids, penalty: float):
    score = logits.gather(1, ids)
    score = torch.where(score < 0, score * penalty, score / penalty)
    return logits.scatter(1, ids, score)

class Sampler(nn.Module):
    def __init__(self, vocab=20, d=16, eos=1):
        super().__init__()
        self.lm = LM(vocab, d)
        self.eos = eos
        self.processors: List[Callable] = [partial(repetition, penalty=1.3), partial(top_k_filter, k=8), partial(top_p_filter, p=0.9)]

    @torch.inference_mode()
    def forward(self, prompt, max_new: int = 10, temperature: Optional[float] = 1.0, stop: Optional[List[List[int]]] = None, min_new=0):

        ids = prompt
        state = None
        generated: List[int] = []
        reason = "length"
        for step in range(max_new):
            logits, state = self.lm(ids if state is None else ids[:, -1:], state)
            logits = reduce(lambda acc, f: f(acc, ids), self.processors, logits)
            if step < min_new:
                logits[:, self.eos] = -float("inf")
            if temperature is None or temperature == 0:
                nxt = logits.argmax(-1, keepdim=True)
            else:
                nxt = torch.multinomial(F.softmax(logits / temperature, dim=-1), 1)
            ids = torch.cat([ids, nxt], dim=1)
            token = nxt.item()
            generated.append(token)
            if token == self.eos:
                reason = "eos"
                break
            if stop and any(generated[-len(s):] == s for s in stop):
                reason = "stop:" + ",".join(map(str, generated[-2:]))
                break
        else:
            reason += f"({max_new})"
        return ids, generated, reason

def make_model():
    torch.manual_seed(8)
    return Sampler().eval()

def make_inputs():
    g = torch.Generator().manual_seed(0)
    p = [torch.randint(2, 20, (1, n), generator=g) for n in (3, 1, 6)]
    return [(p[0],), (p[1], 25), (p[2], 12, None), (p[0], 15, 0.7, [[3], [4, 5], [7, 2]]), (p[1], 8, 2.0, [], 8), (p[2], 30, 0.0, [[12, 12]])]
