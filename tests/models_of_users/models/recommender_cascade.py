"""Recommender: cheap scoring of all items, a costly ranker on the survivors, then rules on the final list."""
from collections import defaultdict

import torch
import torch.nn as nn


class Cascade(nn.Module):
    def __init__(self, n_items=60, n_cats=5, dim=12, per_category=2):
        super().__init__()
        self.per_category = per_category
        self.items = nn.Embedding(n_items, dim)
        self.default_user = nn.Parameter(torch.randn(dim))
        self.ranker = nn.Sequential(nn.Linear(3 * dim, 24), nn.ReLU(), nn.Linear(24, 1))
        self.register_buffer("category", torch.arange(n_items) % n_cats)

    def user_vector(self, history):
        if len(history) == 0:
            return self.default_user
        weights = torch.tensor([0.8 ** i for i in range(len(history))])
        vectors = self.items(torch.tensor(history[::-1]))
        return (weights.unsqueeze(1) * vectors).sum(0) / weights.sum()

    def forward(self, history, k=5, blocked=()):
        user = self.user_vector(history)
        scores = self.items.weight @ user
        seen = list(set(history) | set(blocked))
        if seen:
            scores[torch.tensor(sorted(seen))] = float("-inf")
        n = min(4 * k, int(torch.isfinite(scores).sum()))
        top = scores.topk(n).indices
        item = self.items(top)
        u = user.expand_as(item)
        rank = self.ranker(torch.cat([u, item, u * item], dim=1)).squeeze(1)
        chosen, counts = [], defaultdict(int)
        for i in rank.argsort(descending=True).tolist():
            cat = int(self.category[top[i]])
            if counts[cat] >= self.per_category:
                continue
            counts[cat] += 1
            chosen.append((int(top[i]), round(rank[i].item(), 4)))
            if len(chosen) == k:
                break
        return chosen, dict(counts)


def make_model():
    torch.manual_seed(0)
    return Cascade().eval()


def make_inputs():
    return [
        ([3, 17, 5],),
        ([],),
        ([1, 2, 3, 4, 5, 6, 7, 8, 9], 3),
        ([10, 20], 12),
        ([40], 5, (1, 2, 3)),
        ([7, 7, 7], 1),
    ]
