"""Sequence to sequence with attention, decoded greedily until every row has ended.

The number of steps depends on the data: the loop runs until each row of the batch has
emitted the end token, or until the limit.
"""

import torch
import torch.nn as nn
import torch.nn.functional as F


class Attention(nn.Module):
    """Additive attention (Bahdanau et al., 2015)."""

    def __init__(self, query_dim, memory_dim, dim):
        super().__init__()
        self.query = nn.Linear(query_dim, dim, bias=False)
        self.key = nn.Linear(memory_dim, dim)
        self.score = nn.Linear(dim, 1, bias=False)

    def forward(self, hidden, memory, mask):
        energy = torch.tanh(self.query(hidden).unsqueeze(1) + self.key(memory))
        scores = self.score(energy).squeeze(-1).masked_fill(~mask, float("-inf"))
        weights = F.softmax(scores, dim=-1)
        context = torch.bmm(weights.unsqueeze(1), memory).squeeze(1)
        return context, weights


class GreedyDecoder(nn.Module):
    def __init__(self, vocab_size=24, dim=32, pad=0, bos=1, eos=2, limit=10):
        super().__init__()
        self.pad, self.bos, self.eos, self.limit = pad, bos, eos, limit
        self.embed = nn.Embedding(vocab_size, dim, padding_idx=pad)
        self.encoder = nn.GRU(dim, dim, batch_first=True, bidirectional=True)
        self.bridge = nn.Linear(2 * dim, dim)
        self.attend = Attention(dim, 2 * dim, dim)
        self.cell = nn.LSTMCell(3 * dim, dim)
        self.out = nn.Linear(3 * dim, vocab_size)

    def forward(self, src):
        mask = src != self.pad
        memory, last = self.encoder(self.embed(src))
        h = torch.tanh(self.bridge(torch.cat([last[0], last[1]], dim=-1)))
        c = torch.zeros_like(h)

        token = torch.full((src.size(0),), self.bos, dtype=torch.long, device=src.device)
        finished = torch.zeros(src.size(0), dtype=torch.bool, device=src.device)
        score = torch.zeros(src.size(0), device=src.device)
        tokens, alignments = [], []
        while True:
            context, weights = self.attend(h, memory, mask)
            h, c = self.cell(torch.cat([self.embed(token), context], dim=-1), (h, c))
            log_probs = F.log_softmax(self.out(torch.cat([h, context], dim=-1)), dim=-1)
            best, token = log_probs.max(dim=-1)
            score = torch.where(finished, score, score + best)
            token = token.masked_fill(finished, self.pad)
            tokens.append(token)
            alignments.append(weights)
            finished = finished | (token == self.eos)
            if finished.all():
                break
            if len(tokens) >= self.limit:
                break
        return torch.stack(tokens, dim=1), torch.stack(alignments, dim=1), score


def make_model():
    torch.manual_seed(2)
    model = GreedyDecoder()
    with torch.no_grad():
        model.embed.weight.mul_(3.0)
        model.cell.weight_hh.mul_(4.0)
        model.out.weight.mul_(4.0)
        model.out.bias[model.eos] += 2.0
    return model.eval()


def make_inputs():
    inputs = []
    for seed, batch, length in [
        (0, 1, 5),
        (1, 1, 9),
        (2, 1, 1),
        (3, 2, 7),
        (4, 3, 4),
        (5, 1, 12),
        (6, 5, 6),
        (7, 1, 3),
    ]:
        g = torch.Generator().manual_seed(seed)
        src = torch.randint(3, 24, (batch, length), generator=g)
        for row in range(1, batch):
            src[row, length - row :] = 0
        inputs.append((src,))
    return inputs
