"""Methods and operators of `collections.Counter`, and `deque.rotate`."""

# mypy: ignore-errors
from __future__ import annotations

from collections import Counter


def most_common(counter, n=None):
    """`counter.most_common(n)`"""
    items = sorted(counter.items(), key=lambda item: item[1], reverse=True)
    if n is None:
        return items
    return items[: max(n, 0)]


def count(counter, items):
    """Adds one for each item."""
    for item in items:
        counter[item] = counter.get(item, 0) + 1


def add_counts(counter, other):
    """Adds the counts of a mapping."""
    for key, n in other.items():
        counter[key] = n + counter.get(key, 0)


def uncount(counter, items):
    """Takes one away for each item."""
    for item in items:
        counter[item] = counter.get(item, 0) - 1


def subtract_counts(counter, other):
    """Takes the counts of a mapping away."""
    for key, n in other.items():
        counter[key] = counter.get(key, 0) - n


def elements(counter):
    """`counter.elements()`"""
    for key, n in counter.items():
        for _ in range(n):
            yield key


def total(counter):
    """`counter.total()`"""
    return sum(counter.values())


def plus(a, b):
    """`a + b`"""
    result = Counter()
    for key, n in a.items():
        new = n + b[key]
        if new > 0:
            result[key] = new
    for key, n in b.items():
        if key not in a and n > 0:
            result[key] = n
    return result


def minus(a, b):
    """`a - b`"""
    result = Counter()
    for key, n in a.items():
        new = n - b[key]
        if new > 0:
            result[key] = new
    for key, n in b.items():
        if key not in a and n < 0:
            result[key] = 0 - n
    return result


def larger(a, b):
    """`a | b`"""
    result = Counter()
    for key, n in a.items():
        other = b[key]
        new = other if n < other else n
        if new > 0:
            result[key] = new
    for key, n in b.items():
        if key not in a and n > 0:
            result[key] = n
    return result


def smaller(a, b):
    """`a & b`"""
    result = Counter()
    for key, n in a.items():
        other = b[key]
        new = n if n < other else other
        if new > 0:
            result[key] = new
    return result


def same(a, b):
    """`a == b`: what is missing counts 0."""
    return all(a[key] == b[key] for key in a) and all(a[key] == b[key] for key in b)


def rotate(items, n=1):
    """`deque.rotate(n)`"""
    if len(items) > 1:
        for _ in range(n % len(items)):
            items.appendleft(items.pop())
