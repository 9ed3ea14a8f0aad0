"""How sets compare, over the members of one of them in some order."""

# mypy: ignore-errors
from __future__ import annotations


def within(members, other):
    """Whether all members are in the other set."""
    for x in members:
        if x not in other:
            return False
    return True


def smaller(members, other):
    """Whether all members are in the other set, which has more."""
    return len(members) < len(other) and within(members, other)


def apart(members, other):
    """Whether no member is in the other set."""
    for x in members:
        if x in other:
            return False
    return True


def union(first, others):
    """`first.union(*others)`"""
    out = first.copy()
    for i in range(len(others)):
        out.update(others[i])
    return out


def intersection(first, others):
    """`first.intersection(*others)`"""
    if len(others) == 0:
        return first.copy()
    out = first
    for i in range(len(others)):
        out = out & others[i]
    return out


def difference(first, others):
    """`first.difference(*others)`"""
    if len(others) == 0:
        return first.copy()
    out = first - others[0]
    for i in range(1, len(others)):
        out -= others[i]
    return out
