"""numpy's functions of Python numbers and of lists of them: what numpy gives, to the last bit."""

# mypy: ignore-errors
from __future__ import annotations

import math

_BIG = 4503599627370496.0  # floats of this size have no fraction


def sqrt(x):
    """`np.sqrt`: NaN where `math.sqrt` raises."""
    return math.nan if x < 0 else math.sqrt(x)


def exp(x):
    """`np.exp`"""
    return math.inf if x > 709.782712893384 else math.exp(x)


def log(x):
    """`np.log`"""
    return math.nan if x < 0 else -math.inf if x == 0 else math.log(x)


def log2(x):
    """`np.log2`"""
    return math.nan if x < 0 else -math.inf if x == 0 else math.log2(x)


def log10(x):
    """`np.log10`"""
    return math.nan if x < 0 else -math.inf if x == 0 else math.log10(x)


def sin(x):
    """`np.sin`"""
    return math.nan if math.isinf(x) else math.sin(x)


def cos(x):
    """`np.cos`"""
    return math.nan if math.isinf(x) else math.cos(x)


def tan(x):
    """`np.tan`"""
    return math.nan if math.isinf(x) else math.tan(x)


def hypot(x, y):
    """`np.hypot`"""
    return math.hypot(x, y)


def arctan2(y, x):
    """`np.arctan2`"""
    return math.atan2(y, x)


def arctan(x):
    """`np.arctan`"""
    return math.atan(x)


def log1p(x):
    """`np.log1p`"""
    return math.nan if x < -1 else -math.inf if x == -1 else math.log1p(x)


def expm1(x):
    """`np.expm1`"""
    return math.inf if x > 709.782712893384 else math.expm1(x)


def radians(x):
    """`np.radians`"""
    return math.radians(x)


def degrees(x):
    """`np.degrees`"""
    return math.degrees(x)


deg2rad, rad2deg = radians, degrees


def rint(x):
    """`np.rint` of a float."""
    if not math.isfinite(x) or math.fabs(x) >= _BIG:
        return x
    return math.copysign(float(round(x)), x)


def floor(x):
    """`np.floor`"""
    if isinstance(x, int):
        return x
    if not math.isfinite(x) or math.fabs(x) >= _BIG:
        return x
    y = float(math.floor(x))
    return math.copysign(y, x) if y == 0.0 else y


def ceil(x):
    """`np.ceil`"""
    if isinstance(x, int):
        return x
    if not math.isfinite(x) or math.fabs(x) >= _BIG:
        return x
    y = float(math.ceil(x))
    return math.copysign(y, x) if y == 0.0 else y


def round_(x, decimals=0):
    """`np.round`"""
    if isinstance(x, int):
        return round(x, decimals)
    if decimals == 0:
        return rint(x)
    power = 10.0**decimals
    return rint(x * power) / power


def sign(x):
    """`np.sign`"""
    if isinstance(x, int):
        return 1 if x > 0 else -1 if x < 0 else 0
    return 1.0 if x > 0 else -1.0 if x < 0 else x if x != x else 0.0


def maximum(a, b):
    """`np.maximum`: NaN if either is."""
    if isinstance(a, float) or isinstance(b, float):
        a, b = float(a), float(b)
        if a != a or b != b:
            return math.nan
    return a if a >= b else b


def minimum(a, b):
    """`np.minimum`: NaN if either is."""
    if isinstance(a, float) or isinstance(b, float):
        a, b = float(a), float(b)
        if a != a or b != b:
            return math.nan
    return a if a <= b else b


def clip(a, a_min=None, a_max=None):
    """`np.clip`"""
    if a_min is not None:
        a = maximum(a, a_min)
    if a_max is not None:
        a = minimum(a, a_max)
        if isinstance(a_min, float):
            a = float(a)
    return a


def pairwise(xs, start, n):
    """The sum of `n` floats from `start` on, added in numpy's order."""
    if n < 8:
        total = -0.0
        for i in range(n):
            total = total + xs[start + i]
        return total
    if n > 128:
        half = n // 2
        half = half - half % 8
        return pairwise(xs, start, half) + pairwise(xs, start + half, n - half)
    a, b, c, d = xs[start], xs[start + 1], xs[start + 2], xs[start + 3]
    e, f, g, h = xs[start + 4], xs[start + 5], xs[start + 6], xs[start + 7]
    i = start + 8
    end = start + n
    while i + 8 <= end:
        a, b, c, d = a + xs[i], b + xs[i + 1], c + xs[i + 2], d + xs[i + 3]
        e, f, g, h = e + xs[i + 4], f + xs[i + 5], g + xs[i + 6], h + xs[i + 7]
        i = i + 8
    total = ((a + b) + (c + d)) + ((e + f) + (g + h))
    while i < end:
        total = total + xs[i]
        i = i + 1
    return total


def sum_of_floats(xs):
    """`np.sum` of floats."""
    return 0.0 + pairwise(xs, 0, len(xs))


def mean(xs):
    """`np.mean` of floats."""
    if not xs:
        return math.nan
    return sum_of_floats(xs) / len(xs)


def var(xs, ddof=0):
    """`np.var` of floats."""
    if not xs:
        return math.nan
    middle = mean(xs)
    squares = [(x - middle) * (x - middle) for x in xs]
    left = max(len(xs) - ddof, 0)
    total = sum_of_floats(squares)
    if left == 0:
        return math.nan if total == 0 else math.inf
    return total / left


def std(xs, ddof=0):
    """`np.std` of floats."""
    return math.sqrt(var(xs, ddof))


def median(xs):
    """`np.median` of floats."""
    if not xs:
        return math.nan
    for x in xs:
        if x != x:
            return math.nan
    ordered = sorted(xs)
    half = len(ordered) // 2
    if len(ordered) % 2 == 1:
        return ordered[half]
    return (0.0 + (ordered[half - 1] + ordered[half])) / 2


def prod(xs):
    """`np.prod`"""
    total = xs[0] if xs else 1.0
    for x in xs[1:]:
        total = total * x
    return total


def amax(xs):
    """`np.max`: NaN if any is."""
    if not xs:
        raise ValueError("zero-size array to reduction operation maximum which has no identity")
    best = xs[0]
    for x in xs:
        if x != x:
            return x
        if x > best:
            best = x
    return best


def amin(xs):
    """`np.min`: NaN if any is."""
    if not xs:
        raise ValueError("zero-size array to reduction operation minimum which has no identity")
    best = xs[0]
    for x in xs:
        if x != x:
            return x
        if x < best:
            best = x
    return best


def argmax(xs):
    """`np.argmax`: the first NaN, or the first of the largest."""
    if not xs:
        raise ValueError("attempt to get argmax of an empty sequence")
    best = 0
    for i in range(len(xs)):
        if xs[i] != xs[i]:
            return i
        if xs[i] > xs[best]:
            best = i
    return best


def argmin(xs):
    """`np.argmin`: the first NaN, or the first of the smallest."""
    if not xs:
        raise ValueError("attempt to get argmin of an empty sequence")
    best = 0
    for i in range(len(xs)):
        if xs[i] != xs[i]:
            return i
        if xs[i] < xs[best]:
            best = i
    return best
