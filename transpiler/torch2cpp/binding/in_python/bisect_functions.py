"""`bisect`: places in sorted lists."""

# mypy: ignore-errors
from __future__ import annotations


def bisect_left(a, x, lo=0, hi=None, *, key=None):
    """`bisect.bisect_left`"""
    if lo < 0:
        raise ValueError("lo must be non-negative")
    high = len(a) if hi is None else hi
    while lo < high:
        mid = (lo + high) // 2
        item = a[mid] if key is None else key(a[mid])
        if item < x:
            lo = mid + 1
        else:
            high = mid
    return lo


def bisect_right(a, x, lo=0, hi=None, *, key=None):
    """`bisect.bisect_right`"""
    if lo < 0:
        raise ValueError("lo must be non-negative")
    high = len(a) if hi is None else hi
    while lo < high:
        mid = (lo + high) // 2
        item = a[mid] if key is None else key(a[mid])
        if x < item:
            high = mid
        else:
            lo = mid + 1
    return lo


def insort_left(a, x, lo=0, hi=None, *, key=None):
    """`bisect.insort_left`"""
    a.insert(bisect_left(a, x if key is None else key(x), lo, hi, key=key), x)


def insort_right(a, x, lo=0, hi=None, *, key=None):
    """`bisect.insort_right`"""
    a.insert(bisect_right(a, x if key is None else key(x), lo, hi, key=key), x)
