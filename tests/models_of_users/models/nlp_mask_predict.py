"""Mask-predict / Levenshtein editing: iterative refinement until nothing changes; deletions and insertions of tokens."""
import torch
import torch.nn as nn
import torch.nn.functional as F
from typing import List

MASK, PAD, BOS, EOS = 3, 0, 1, 2

class Editor(nn.Module):
    def __init__(self, vocab=16, d=16):
        super().__init__()
        self.tok = nn.Embedding(vocab, d, padding_idx=PAD)
        self.pos = nn.Embedding(64, d)
        enc = nn.TransformerEncoderLayer(d, 2, 32, dropout=0.1, batch_first=True)
        self.enc = nn.TransformerEncoder(enc, 2)
        self.word, self.delete, self.insert = nn.Linear(d, vocab), nn.Linear(d, 2), nn.Linear(2 * d, 3)
        self.bias = 0.0

    def hidden(self, ids: torch.Tensor):
        p = torch.arange(ids.size(1), device=ids.device).expand_as(ids)
        return self.enc(self.tok(ids) + self.pos(p))

    def mask_predict(self, ids, rounds):
        ids = ids.clone()
        scores = torch.ones(ids.shape)
        n = ids.shape[1]
        history: List[List[int]] = []
        for r in range(rounds):
            k = int(n * (1 - r / rounds))
            worst = scores.topk(k, dim=1, largest=False)[1] if r else torch.arange(n)[None]
            ids.scatter_(1, worst, MASK)
            lp = F.log_softmax(self.word(self.hidden(ids)), -1)
            lp[..., [PAD, MASK]] = -1e9
            v, best = lp.max(-1)
            was = ids == MASK
            ids = torch.where(was, best, ids)
            scores = torch.where(was, v.exp(), scores)
            now = ids[0].tolist()
            if now in history:
                break
            history.append(now)
        return ids, scores, len(history)

    def edit(self, ids):
        h = self.hidden(ids)
        keep = self.delete(h).argmax(-1)[0] == 0
        keep[0] = keep[-1] = True
        ids, h = ids[:, keep], h[:, keep]
        gaps = self.insert(torch.cat([h[:, :-1], h[:, 1:]], -1)).argmax(-1)[0]
        out: List[int] = []
        for i, t in enumerate(ids[0].tolist()):
            out.append(t)
            if i < len(gaps):
                out.extend([MASK] * int(gaps[i]))
        return torch.tensor([out]), int((~keep).sum()), int(gaps.sum())

    def forward(self, ids, rounds: int = 3, max_edits: int = 4, limit: int = 20):
        log = []
        for step in range(max_edits):
            before = ids
            ids, removed, added = self.edit(ids)
            if ids.size(1) > limit:
                ids = torch.cat([ids[:, : limit - 1], ids[:, -1:]], 1)
            if MASK in ids:
                ids, scores, n = self.mask_predict(ids, rounds)
                log.append((removed, added, n, round(scores.min().item(), 3)))
            else:
                log.append((removed, added, 0, 1.0))
            if before.shape == ids.shape and (before == ids).all():
                break
        return ids, log, step

def make_model():
    torch.manual_seed(7)
    return Editor().eval()

def make_inputs():
    g = torch.Generator().manual_seed(3)
    seqs = [torch.cat([torch.tensor([BOS]), torch.randint(4, 16, (n,), generator=g), torch.tensor([EOS])])[None] for n in (5, 1, 9, 0)]
    return [(seqs[0],), (seqs[1], 2), (seqs[2], 4, 2, 12), (seqs[3],)]
