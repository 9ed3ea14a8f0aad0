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


def nlargest(n: int, iterable: Any, key: Any = None) -> list[Any]:
    return sorted(iterable, key=key, reverse=True)[: max(n, 0)]


def nsmallest(n: int, iterable: Any, key: Any = None) -> list[Any]:
    return sorted(iterable, key=key)[: max(n, 0)]
