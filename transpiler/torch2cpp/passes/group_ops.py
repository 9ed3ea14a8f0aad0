"""Groups the operations of a straight-line segment into as few groups as possible.

Nodes are numbered in program order, edges go from lower to higher numbers. A node of kind None is
a host operation, which needs no group; nodes of one kind can share a group. The search tries, from
the start of the segment, which kind to take next: a group takes all nodes of its kind whose
predecessors are done or in it, then all host operations that became possible run. With one kind
that is optimal; with several, a breadth-first search finds the shortest sequence.
"""

from __future__ import annotations

import heapq
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass
from typing import final

#: States kept per depth of the search; a bound on time, reached by no ordinary program.
_BEAM = 48


@final
@dataclass(frozen=True, slots=True)
class _State:
    done: int
    #: Groups so far: kind and bit mask of members.
    groups: tuple[tuple[Hashable, int], ...]


def group_nodes(kinds: Sequence[Hashable | None], before: Sequence[int]) -> list[tuple[Hashable, list[int]]]:
    """The groups in an order they can run in, each with its members in program order.

    `before[i]` is the bit mask of the nodes that must be done before node `i`.

    >>> group_nodes(["t", None, "t", "t"], [0, 0b1, 0b10, 0b1])
    [('t', [0, 3]), ('t', [2])]
    """
    everything = (1 << len(kinds)) - 1
    present = sorted({k for k in kinds if k is not None}, key=str)
    states = [_State(_take(None, 0, kinds, before), ())]
    while not any(s.done == everything for s in states):
        found: dict[int, _State] = {}
        for state in states:
            for kind in present:
                done = _take(kind, state.done, kinds, before)
                if done == state.done:
                    continue
                members = done & ~state.done
                after = _take(None, done, kinds, before)
                found.setdefault(after, _State(after, (*state.groups, (kind, members))))
        if not found:
            raise AssertionError("the dependences of a segment have a cycle")
        # What another state has done more of needs no look: it can only be behind.
        ranked = sorted(found.values(), key=lambda s: -s.done.bit_count())
        states = [s for i, s in enumerate(ranked) if not any(s.done & o.done == s.done for o in ranked[:i])][:_BEAM]
    final = next(s for s in states if s.done == everything)
    return [(kind, list(_bits(mask))) for kind, mask in final.groups]


def _take(kind: Hashable | None, done: int, kinds: Sequence[Hashable | None], before: Sequence[int]) -> int:
    """`done` with all nodes of a kind added whose predecessors are done or were just added."""
    for i, own in enumerate(kinds):
        if own == kind and not done >> i & 1 and before[i] & ~done == 0:
            done |= 1 << i
    return done


def _bits(mask: int) -> Iterator[int]:
    while mask:
        yield (mask & -mask).bit_length() - 1
        mask &= mask - 1


def order_units(units: Sequence[Sequence[int]], before: Sequence[int]) -> list[int]:
    """An order of units (groups and single nodes) that keeps to `before` and else to program order.

    Returns indices into `units`; a unit's place in the program is that of its last node.

    >>> order_units([[0, 3], [1], [2]], [0, 0b1, 0, 0b1])
    [2, 0, 1]
    """
    owner = {node: u for u, nodes in enumerate(units) for node in nodes}
    waits: list[set[int]] = []
    for u, nodes in enumerate(units):
        mask = 0
        for node in nodes:
            mask |= before[node]
        waits.append({owner[i] for i in _bits(mask)} - {u})
    followers: list[list[int]] = [[] for _ in units]
    for u, needed in enumerate(waits):
        for v in needed:
            followers[v].append(u)
    ready = [(max(nodes), u) for u, nodes in enumerate(units) if not waits[u]]
    heapq.heapify(ready)
    order: list[int] = []
    while ready:
        _, u = heapq.heappop(ready)
        order.append(u)
        for v in followers[u]:
            waits[v].discard(u)
            if not waits[v]:
                heapq.heappush(ready, (max(units[v]), v))
    if len(order) != len(units):
        raise AssertionError("the groups of a segment depend on each other")
    return order
