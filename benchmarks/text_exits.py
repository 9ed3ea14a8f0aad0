"""A text classifier that stops after the first block that is sure of its answer; texts of any length."""

from __future__ import annotations

import torch
from torch import nn

VOCABULARY = 4000


class Block(nn.Module):
    """Self-attention and a feed-forward layer, each after a norm."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.norm1 = nn.LayerNorm(width)
        self.attention = nn.MultiheadAttention(width, heads, batch_first=True)
        self.norm2 = nn.LayerNorm(width)
        self.feed = nn.Sequential(nn.Linear(width, 2 * width), nn.GELU(), nn.Linear(2 * width, width))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        h = self.norm1(x)
        x = x + self.attention(h, h, h, need_weights=False)[0]
        return x + self.feed(self.norm2(x))


class TextExits(nn.Module):
    """[1, length] token ids -> ([1, 8] logits, number of blocks run)."""

    def __init__(self, width: int = 192, depth: int = 6, threshold: float = 0.3) -> None:
        super().__init__()
        self.embed = nn.Embedding(VOCABULARY, width)
        self.position = nn.Embedding(512, width)
        self.blocks = nn.ModuleList(Block(width, 4) for _ in range(depth))
        self.heads = nn.ModuleList(nn.Linear(width, 8) for _ in range(depth))
        self.threshold = threshold

    def forward(self, ids: torch.Tensor) -> tuple[torch.Tensor, int]:
        x = self.embed(ids) + self.position(torch.arange(ids.shape[1]))
        logits, used = torch.zeros(1, 8), 0
        for block, head in zip(self.blocks, self.heads):
            x = block(x)
            used += 1
            logits = head(x.mean(1))
            if logits.softmax(-1).max().item() > self.threshold:
                return logits, used
        return logits, used


def make_model() -> nn.Module:
    torch.manual_seed(0)
    model = TextExits()
    with torch.no_grad():
        for head in model.heads:
            head.weight.mul_(5.0)
    return model.eval()


def requests(count: int, seed: int = 1) -> list[torch.Tensor]:
    """Texts of random lengths from 1 to 512."""
    generator = torch.Generator().manual_seed(seed)
    lengths = torch.randint(1, 513, (count,), generator=generator).tolist()
    return [torch.randint(0, VOCABULARY, (1, n), generator=generator) for n in lengths]


def make_inputs() -> list[tuple[torch.Tensor]]:
    return [(ids,) for ids in requests(12, seed=2)]
