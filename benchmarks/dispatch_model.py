"""Programs that do next to nothing, so that what is between the regions shows."""

from __future__ import annotations

import torch
from torch import nn

ENTRIES = ("calls", "decisions", "tensor_decisions", "counting")


class Steps(nn.Module):
    """Loops with one small region, with decisions on numbers and on a tensor, and with neither."""

    def calls(self, x: torch.Tensor, n: int) -> torch.Tensor:
        for _ in range(n):
            x = (x * 0.5 + 1.0).sin()
        return x

    def decisions(self, k: int, n: int) -> int:
        for i in range(n):
            if k % 3 == 0:
                k += i
            else:
                k -= 1
        return k

    def tensor_decisions(self, flag: torch.Tensor, k: int, n: int) -> int:
        for i in range(n):
            if flag:
                k += i % 3
            else:
                k -= 1
        return k

    def counting(self, k: int, n: int) -> int:
        for i in range(n):
            k += i % 3
        return k


def make_model() -> nn.Module:
    return Steps().eval()


def make_inputs() -> dict[str, list[tuple[object, ...]]]:
    return {
        "calls": [(torch.zeros(16), 3), (torch.ones(16), 0)],
        "decisions": [(3, 5)],
        "tensor_decisions": [(torch.tensor(True), 1, 5), (torch.tensor(False), 1, 5)],
        "counting": [(0, 5)],
    }
