"""How the C++ of many regions is divided over translation units."""

from __future__ import annotations

from collections.abc import Iterable


def in_units(sizes: Iterable[tuple[str, int]], most: int) -> list[list[str]]:
    """The names in order, split where a unit would grow past `most`.

    >>> in_units([("a", 2), ("b", 2), ("c", 5)], 4)
    [['a', 'b'], ['c']]
    """
    units: list[list[str]] = [[]]
    size = 0
    for name, n in sizes:
        if units[-1] and size + n > most:
            units.append([])
            size = 0
        units[-1].append(name)
        size += n
    return units
