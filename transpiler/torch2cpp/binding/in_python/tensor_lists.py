"""Lists of tensors as operators take them."""

# mypy: ignore-errors
from __future__ import annotations


def without_none(tensors):
    """The list, of which every element must be a tensor."""
    out = []
    for i, tensor in enumerate(tensors):
        if tensor is None:
            raise TypeError(f"expected Tensor as element {i} in argument 0, but got NoneType")
        out.append(tensor)
    return out
