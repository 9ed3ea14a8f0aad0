"""Searching and sorting lists of objects that have `==` or `<` of their own."""

from __future__ import annotations

from typing import Any


def position(items: Any, wanted: Any) -> int:
    """Index of the first item that is or equals `wanted`, -1 if there is none."""
    for i in range(len(items)):
        if items[i] is wanted or items[i] == wanted:
            return i
    return -1


def contains(items: Any, wanted: Any) -> bool:
    return position(items, wanted) >= 0


def contains_as_int(items: Any, wanted: float) -> bool:
    """Whether a dict or set of ints has the int that equals a float; no int of 64 bits equals another float."""
    return -(2.0**63) <= wanted < 2.0**63 and wanted.is_integer() and int(wanted) in items


def index(items: Any, wanted: Any) -> int:
    at = position(items, wanted)
    if at < 0:
        raise ValueError("list.index(x): x not in list")
    return at


def count(items: Any, wanted: Any) -> int:
    found = 0
    for i in range(len(items)):
        if items[i] is wanted or items[i] == wanted:
            found += 1
    return found


def remove(items: Any, wanted: Any) -> None:
    at = position(items, wanted)
    if at < 0:
        raise ValueError("list.remove(x): x not in list")
    del items[at]


def equal(a: Any, b: Any) -> bool:
    """`a == b` of lists."""
    if len(a) != len(b):
        return False
    return all(a[i] is b[i] or a[i] == b[i] for i in range(len(a)))


def sort(items: Any) -> None:
    """A stable sort by `<`, in place: each item goes behind those that are not larger."""
    for i in range(1, len(items)):
        item = items[i]
        low, high = 0, i
        while low < high:
            middle = (low + high) // 2
            if item < items[middle]:
                high = middle
            else:
                low = middle + 1
        if low < i:
            del items[i]
            items.insert(low, item)


def in_range(x: int, start: int, stop: int, step: int) -> bool:
    """`x in range(start, stop, step)`"""
    inside = start <= x < stop if step > 0 else stop < x <= start
    return inside and (x - start) % step == 0
