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


def any_float(items):
    """Whether one of the numbers is a float, or there is none."""
    return len(items) == 0 or any(isinstance(x, float) for x in items)


def any_float_row(rows):
    """The same of lists of numbers."""
    return len(rows) == 0 or any(isinstance(x, float) for row in rows for x in row)


def floats(items):
    return [float(x) for x in items]


def rows_of_floats(rows):
    return [[float(x) for x in row] for row in rows]


def ints(items):
    return [int(x) for x in items]


def rows_of_ints(rows):
    return [[int(x) for x in row] for row in rows]
