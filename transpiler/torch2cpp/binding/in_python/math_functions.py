"""`math` functions over several numbers, and `pow` with three arguments."""

# mypy: ignore-errors
from __future__ import annotations

import math


def prod(iterable, *, start=1):
    """`math.prod`"""
    total = start
    for x in iterable:
        total = total * x
    return total


def isclose(a, b, *, rel_tol=1e-09, abs_tol=0.0):
    """`math.isclose`"""
    if rel_tol < 0.0 or abs_tol < 0.0:
        raise ValueError("tolerances must be non-negative")
    if a == b:
        return True
    if math.isinf(a) or math.isinf(b):
        return False
    diff = math.fabs(float(b) - float(a))
    return diff <= math.fabs(rel_tol * b) or diff <= math.fabs(rel_tol * a) or diff <= abs_tol


def modf(x):
    """`math.modf`"""
    if math.isinf(x):
        return math.copysign(0.0, x), float(x)
    if math.isnan(x):
        return float(x), float(x)
    fraction = math.copysign(math.fmod(x, 1.0), x)
    return fraction, math.copysign(float(x) - fraction, x)
