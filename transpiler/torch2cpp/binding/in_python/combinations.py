"""`itertools.product`, `combinations` and their like, one factor at a time.

Each function takes the tuples so far and makes longer ones, in the order of itertools.
"""

# mypy: ignore-errors
from __future__ import annotations


def ones(pool):
    """The tuples of one item."""
    for x in pool:
        yield (x,)


def with_each(tuples, pool):
    """`itertools.product`: each tuple with each item of one more factor."""
    right = list(pool)
    for t in tuples:
        for x in right:
            yield (*t, x)


def first_and_place(pool):
    """The tuples of one item, with its place."""
    for i in range(len(pool)):
        yield (pool[i],), i


def with_later(chosen, pool):
    """`itertools.combinations`: each with each item behind its last one."""
    for t, i in chosen:
        for j in range(i + 1, len(pool)):
            yield (*t, pool[j]), j


def with_same_or_later(chosen, pool):
    """`itertools.combinations_with_replacement`"""
    for t, i in chosen:
        for j in range(i, len(pool)):
            yield (*t, pool[j]), j


def first_and_places(pool):
    """The tuples of one item, with the places used."""
    for i in range(len(pool)):
        yield (pool[i],), (i,)


def with_unused(chosen, pool):
    """`itertools.permutations`: each with each item whose place is not used."""
    for t, places in chosen:
        for j in range(len(pool)):
            if j not in places:
                yield (*t, pool[j]), (*places, j)


def without_place(chosen):
    """The tuples alone."""
    for t, _ in chosen:
        yield t
