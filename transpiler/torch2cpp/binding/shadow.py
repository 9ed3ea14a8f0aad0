"""Shadows: the values of small integer tensors in the sample worlds.

Sizes are often computed from integer inputs (lengths, grids, counts). Following those values through
the operations gives the sample worlds sizes that belong together. A shadow is only ever a hint.
"""

from __future__ import annotations

from typing import Any

import torch

from torch2cpp.binding.meta import DEFAULT_HINTS
from torch2cpp.binding.values import WORLDS, Host, Meta, Rt, Tensor
from torch2cpp.hostir.ops import leaves, map_leaves

#: Larger tensors are not followed.
MAX_ELEMENTS = 4096


def shadow_of(op: Any, args: Any, kwargs: Any, out: Meta) -> tuple[torch.Tensor, ...] | None:
    """The values an operator gives in the sample worlds, None where they are not known."""
    if out.dtype.is_floating_point or out.dtype.is_complex:
        return None
    found = list(leaves((args, kwargs)))
    if any(isinstance(x, Rt) or (isinstance(x, Tensor) and x.shadow is None) for x in found):
        return None
    results = []
    for w in range(WORLDS):

        def concrete(leaf: Any, w: int = w) -> Any:
            if isinstance(leaf, Tensor):
                assert leaf.shadow is not None
                return leaf.shadow[w]
            if isinstance(leaf, Host):
                return (leaf.hints or DEFAULT_HINTS)[w] if leaf.type.kind == "int" else 0.5
            return leaf

        a, k = map_leaves((list(args), kwargs), concrete)
        try:
            with torch.no_grad():
                value = op(*a, **k)
        except Exception:  # the sample does not take this path
            return None
        if not isinstance(value, torch.Tensor) or value.numel() > MAX_ELEMENTS:
            return None
        results.append(value.clone())
    return tuple(results)


def item_hints(t: Tensor) -> tuple[int, ...] | None:
    """`t.item()` in the sample worlds."""
    if t.shadow is None or any(s.numel() != 1 for s in t.shadow):
        return None
    return tuple(int(s.item()) for s in t.shadow)


def count_hints(t: Tensor) -> tuple[int, ...] | None:
    """How many elements are non-zero in the sample worlds."""
    if t.shadow is None:
        return None
    return tuple(int(s.count_nonzero()) for s in t.shadow)
