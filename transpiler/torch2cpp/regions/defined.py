"""Inputs for which ATen's kernels read memory that is not theirs, or that nobody wrote, instead of raising.

What they give then means nothing, so that no compiled code can be held to it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch

_aten = torch.ops.aten


def check_defined(overload: torch._ops.OpOverload, args: Sequence[Any]) -> None:
    """Raises RuntimeError where the operator's result for `args`, its positional arguments, is undefined."""
    check = _CHECKS.get(overload.overloadpacket)
    if check is not None:
        check(*args[:3])


def _attention(query: torch.Tensor, key: torch.Tensor, value: torch.Tensor) -> None:
    """As many keys as values, of the queries' width."""
    if key.shape[-2] != value.shape[-2] or query.shape[-1] != key.shape[-1]:
        raise RuntimeError(f"attention over {list(key.shape)} keys and {list(value.shape)} values")


def _bags(weight: torch.Tensor, indices: torch.Tensor, offsets: torch.Tensor) -> None:
    """Each bag begins where the one before it does, or behind."""
    if bool((offsets[1:] < offsets[:-1]).any()):
        raise RuntimeError(f"bags that begin at {offsets.tolist()}")


#: Operators with their checks, which take the first three arguments.
_CHECKS: dict[Any, Callable[..., None]] = {
    _aten.scaled_dot_product_attention: _attention,
    _aten.embedding_bag: _bags,
    _aten._embedding_bag: _bags,
    _aten._embedding_bag_forward_only: _bags,
}
