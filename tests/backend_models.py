"""A network with branches whose regions are of different kinds: what the backends are tested on."""

from __future__ import annotations

import torch
from torch import nn


class Routed(nn.Module):
    """Convolutions, then either a classifier or a recurrent layer, by what they say.

    `out` and `place` are names that the C++ of regions uses itself.
    """

    def __init__(self) -> None:
        super().__init__()
        self.conv = nn.Conv2d(3, 8, 3, stride=2, padding=1, bias=False)
        self.norm = nn.BatchNorm2d(8)
        self.fc = nn.Linear(8, 4)
        self.rnn = nn.GRU(8, 6)
        self.out = nn.Linear(6, 4)

    def forward(self, image: torch.Tensor, bias: torch.Tensor):  # type: ignore[no-untyped-def]
        out = torch.relu(self.norm(self.conv(image)))
        place = out.mean((2, 3))
        if (place.sum(1) + bias).sum() > 0:
            scores = torch.softmax(self.fc(place), -1)
            return scores, scores.argmax(-1)
        steps, _ = self.rnn(out.flatten(2).permute(2, 0, 1))
        scores = torch.log_softmax(torch.tanh(self.out(steps[-1])), -1)
        return scores, scores.argmax(-1)


def routed() -> Routed:
    """With statistics that its batch norm has to use."""
    torch.manual_seed(0)
    model = Routed().eval()
    model.norm.running_mean.uniform_(-0.2, 0.2)
    model.norm.running_var.uniform_(0.5, 2.0)
    return model


def routed_inputs() -> list[tuple[torch.Tensor, torch.Tensor]]:
    """Both ways, several sizes, a bias for each image or one for all, an empty batch."""
    generator = torch.Generator().manual_seed(1)

    def image(*sizes: int) -> torch.Tensor:
        return torch.randn(sizes, generator=generator)

    def bias(size: int, value: float) -> torch.Tensor:
        return torch.full((size,), value)

    return [
        (image(2, 3, 8, 8), bias(2, 100.0)),
        (image(2, 3, 8, 8), bias(2, -100.0)),
        (image(3, 3, 5, 6), bias(1, 100.0)),
        (image(1, 3, 5, 6), bias(1, -100.0)),
        (image(0, 3, 4, 4), bias(0, -100.0)),
    ]
