"""heapq: a list as a binary heap, its smallest item first; the same moves as CPython's, so the same lists."""

from __future__ import annotations

from typing import Any


def _rise(heap: list[Any], start: int, at: int) -> None:
    """Moves the item at `at` towards the root until its parent is not larger."""
    item = heap[at]
    while at > start:
        parent = (at - 1) >> 1
        if not item < heap[parent]:
            break
        heap[at] = heap[parent]
        at = parent
    heap[at] = item


def _sink(heap: list[Any], at: int) -> None:
    """Moves the item at `at` down to a leaf along the smaller children, then up to its place."""
    start, end = at, len(heap)
    item = heap[at]
    child = 2 * at + 1
    while child < end:
        if child + 1 < end and not heap[child] < heap[child + 1]:
            child += 1
        heap[at] = heap[child]
        at = child
        child = 2 * at + 1
    heap[at] = item
    _rise(heap, start, at)


def heappush(heap: list[Any], item: Any) -> None:
    heap.append(item)
    _rise(heap, 0, len(heap) - 1)


def heappop(heap: list[Any]) -> Any:
    if not heap:
        raise IndexError("index out of range")
    last = heap.pop()
    if not heap:
        return last
    smallest = heap[0]
    heap[0] = last
    _sink(heap, 0)
    return smallest


def heapify(heap: list[Any]) -> None:
    for at in range(len(heap) // 2 - 1, -1, -1):
        _sink(heap, at)


def heapreplace(heap: list[Any], item: Any) -> Any:
    if not heap:
        raise IndexError("index out of range")
    smallest = heap[0]
    heap[0] = item
    _sink(heap, 0)
    return smallest


def heappushpop(heap: list[Any], item: Any) -> Any:
    if heap and heap[0] < item:
        smallest = heap[0]
        heap[0] = item
        _sink(heap, 0)
        return smallest
    return item


# nsmallest and nlargest -----------------------------------------------------------------------------
#
# Sorting gives the same where `a == b` wherever neither is smaller. Objects that say only what is smaller, and NaN,
# come in the order that CPython's heap leaves them in: entries are ((key, order), item), compared as that pair is.


def nsmallest_by_sorting(n: int, iterable: Any, key: Any = None) -> list[Any]:
    return sorted(iterable, key=key)[: max(n, 0)]


def nlargest_by_sorting(n: int, iterable: Any, key: Any = None) -> list[Any]:
    return sorted(iterable, key=key, reverse=True)[: max(n, 0)]


def _largest_first(heap: list[Any], at: int) -> None:
    """`_sink` in a heap whose root is the largest entry."""
    start, end = at, len(heap)
    entry = heap[at]
    child = 2 * at + 1
    while child < end:
        if child + 1 < end and not heap[child + 1][0] < heap[child][0]:
            child += 1
        heap[at] = heap[child]
        at = child
        child = 2 * at + 1
    while at > start:
        parent = (at - 1) >> 1
        if not heap[parent][0] < entry[0]:
            break
        heap[at] = heap[parent]
        at = parent
    heap[at] = entry


def _smallest_first(heap: list[Any], at: int) -> None:
    """`_sink` in a heap of entries whose root is the smallest."""
    start, end = at, len(heap)
    entry = heap[at]
    child = 2 * at + 1
    while child < end:
        if child + 1 < end and not heap[child][0] < heap[child + 1][0]:
            child += 1
        heap[at] = heap[child]
        at = child
        child = 2 * at + 1
    while at > start:
        parent = (at - 1) >> 1
        if not entry[0] < heap[parent][0]:
            break
        heap[at] = heap[parent]
        at = parent
    heap[at] = entry


def _in_order(entries: list[Any]) -> list[Any]:
    """The entries sorted as `list.sort` does up to 63 of them: a run at the start, then binary insertion."""
    run = min(len(entries), 1)
    if len(entries) > 1:
        run = 2
        if entries[1][0] < entries[0][0]:
            while run < len(entries) and entries[run][0] < entries[run - 1][0]:
                run += 1
            entries = entries[:run][::-1] + entries[run:]
        else:
            while run < len(entries) and not entries[run][0] < entries[run - 1][0]:
                run += 1
    for at in range(run, len(entries)):
        entry = entries.pop(at)
        low, high = 0, at
        while low < high:
            middle = (low + high) >> 1
            if entry[0] < entries[middle][0]:
                high = middle
            else:
                low = middle + 1
        entries.insert(low, entry)
    return entries


def nsmallest(n: int, items: list[Any], key: Any, counted: bool) -> list[Any]:
    """`heapq.nsmallest`; `counted` is whether the iterable had a length."""
    if n == 1:
        return [min(items, key=key)] if items else []
    if counted and n >= len(items):
        return sorted(items, key=key)[:n]
    if n <= 0:
        return []
    heap = [((v if key is None else key(v), i), v) for i, v in enumerate(items[:n])]
    for at in range(len(heap) // 2 - 1, -1, -1):
        _largest_first(heap, at)
    order = n
    for v in items[n:]:
        k = v if key is None else key(v)
        if k < heap[0][0][0]:
            heap[0] = ((k, order), v)
            _largest_first(heap, 0)
            order += 1
    return [v for _, v in _in_order(heap)]


def nlargest(n: int, items: list[Any], key: Any, counted: bool) -> list[Any]:
    """`heapq.nlargest`; `counted` is whether the iterable had a length."""
    if n == 1:
        return [max(items, key=key)] if items else []
    if counted and n >= len(items):
        return sorted(items, key=key, reverse=True)[:n]
    if n <= 0:
        return []
    heap = [((v if key is None else key(v), -i), v) for i, v in enumerate(items[:n])]
    for at in range(len(heap) // 2 - 1, -1, -1):
        _smallest_first(heap, at)
    order = -n
    for v in items[n:]:
        k = v if key is None else key(v)
        if heap[0][0][0] < k:
            heap[0] = ((k, order), v)
            _smallest_first(heap, 0)
            order -= 1
    return [v for _, v in _in_order(heap[::-1])][::-1]
