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
