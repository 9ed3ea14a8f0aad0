"""Inputs for which eager's result is not one that other code can be held to.

For some, ATen's kernels read memory that is not theirs, or that nobody wrote, instead of raising. For others the result
is one of several: equal numbers have no order, and a sort that is not stable brings them into one of its own, which
differs between processors.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch

_aten = torch.ops.aten


def check_defined(overload: torch._ops.OpOverload, args: Sequence[Any]) -> None:
    """Raises RuntimeError where the operator's result for `args`, its positional arguments, is undefined."""
    check = _CHECKS.get(overload.overloadpacket)
    if check is not None:
        check(*args[:3])


def check_order(overload: torch._ops.OpOverload, args: Sequence[Any], kwargs: Mapping[str, Any]) -> None:
    """Raises RuntimeError where the operator orders numbers that are equal, and need not keep their order."""
    if overload.overloadpacket not in _ORDERING:
        return
    given = dict(zip((a.name for a in overload._schema.arguments), args)) | dict(kwargs)
    x, dim = given["self"], given.get("dim", -1)
    if x.dim() == 0 or given.get("stable"):
        return
    if bool((x.sort(dim).values.diff(dim=dim) == 0).any()):
        raise RuntimeError(f"{overload} over equal numbers")


def _attention(query: torch.Tensor, key: torch.Tensor, value: torch.Tensor) -> None:
    """As many keys as values, of the queries' width."""
    if key.shape[-2] != value.shape[-2] or query.shape[-1] != key.shape[-1]:
        raise RuntimeError(f"attention over {list(key.shape)} keys and {list(value.shape)} values")


def _bags(weight: torch.Tensor, indices: torch.Tensor, offsets: torch.Tensor) -> None:
    """Each bag begins where the one before it does, or behind."""
    if bool((offsets[1:] < offsets[:-1]).any()):
        raise RuntimeError(f"bags that begin at {offsets.tolist()}")


#: Operators whose results follow from an order of numbers.
_ORDERING = frozenset({_aten.sort, _aten.argsort, _aten.topk, _aten.kthvalue, _aten.median, _aten.nanmedian})
#: Operators with their checks, which take the first three arguments.
_CHECKS: dict[Any, Callable[..., None]] = {
    _aten.scaled_dot_product_attention: _attention,
    _aten.embedding_bag: _bags,
    _aten._embedding_bag: _bags,
    _aten._embedding_bag_forward_only: _bags,
}
