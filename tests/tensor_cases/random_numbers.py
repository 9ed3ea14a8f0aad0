"""Random operators: the same numbers as eager after the same seed."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import nn

from tensor_cases.inputs import MATRICES


class RandomNumbers(nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.dropout = nn.Dropout(0.5)
        self.channels = nn.Dropout2d(0.5)
        self.alpha = nn.AlphaDropout(0.3)
        self.lstm = nn.LSTM(4, 3, 2, dropout=0.5)
        self.encoder = nn.TransformerEncoderLayer(4, 2, 8, dropout=0.3)
        self.attention = nn.MultiheadAttention(4, 2, dropout=0.3)
        self.norm = nn.BatchNorm1d(4)
        self.train()

    def rands(self, x, n):
        return (
            torch.rand(2, 3),
            torch.randn(x.shape[0]),
            torch.randint(0, 10, (n + 2,)),
            torch.randint(5, (2,)),
            torch.randn_like(x),
            torch.rand_like(x),
            torch.randperm(x.shape[0]),
            torch.bernoulli(x.sigmoid()),
            torch.multinomial(x.softmax(1), 2),
            torch.multinomial(x[0].softmax(0), 3, replacement=True),
            torch.normal(x, 1.0),
            torch.normal(0.0, 1.0, (2,)),
            x.clone().uniform_(),
            x.clone().normal_(1, 2),
            x.clone().bernoulli_(0.3),
            torch.poisson(x.abs()),
            x.clone().exponential_(),
            torch.randint_like(x, 5),
            torch.rand(n + 2),
            torch.empty(3).uniform_(-1, 1),
            torch.rand((2,)),
            torch.rand(2, dtype=torch.float64),
            torch.normal(torch.zeros(2), torch.ones(2)),
            x.clone().random_(5),
            torch.bernoulli(x.sigmoid(), 0.5),
            torch.empty(2).cauchy_(),
            torch.empty(2).geometric_(0.5),
            torch.empty(2).log_normal_(),
        )

    def drops(self, x, n):
        return (
            self.dropout(x),
            F.dropout(x, 0.3),
            F.dropout(x, 0.3, training=False),
            self.channels(x[None, None]),
            self.alpha(x),
            F.dropout(x, p=0.5, training=True),
            F.rrelu(x, training=True),
            F.gumbel_softmax(x),
            F.gumbel_softmax(x, hard=True),
            F.alpha_dropout(x, 0.2, True),
            F.feature_alpha_dropout(x[None], 0.2, True),
        )

    def trains(self, x, n):
        return (self.lstm(x[:, None]), self.encoder(x[:, None]), self.attention(x[:, None], x[:, None], x[:, None]))

    def rloop(self, x, n):
        out = []
        while len(out) < 5:
            t = torch.rand(1).item()
            if t > 0.7:
                break
            if t > 0.3:
                out.append(torch.randn(2) * t)
            else:
                out.append(x[0, :2])
        return (out, torch.rand(1))

    def bns(self, x, n):
        return self.norm(x) if x.shape[0] > 1 else x

    def cats(self, x, n):
        d = torch.distributions.Categorical(logits=x, validate_args=False)
        s = d.sample()
        return (s, d.log_prob(s), d.entropy(), d.probs)


INPUTS = dict.fromkeys(("rands", "drops", "trains", "rloop", "bns", "cats"), MATRICES)
