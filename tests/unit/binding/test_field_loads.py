"""Fields of run-time objects: what is known of them along a path, and when no longer."""

from __future__ import annotations

from typing import Any

from like_python import assert_like_python


class Node:
    def __init__(self, value: int) -> None:
        self.value = value
        self.next: Node | None = None
        self.rule: int | None = None
        self.seen = []


def nodes(n: int) -> list[Node]:
    out = []
    for i in range(n):
        out.append(Node(i))
    return out


def test_a_field_that_was_tested_is_there() -> None:
    def f(n: int) -> Any:
        made = nodes(n)
        for a, b in zip(made[:-1], made[1:]):
            a.next = b
        total, current = 0, made[0] if made else None
        while current is not None:
            if current.next is not None:
                total += current.next.value * 10
                current.next.rule = current.value
            current = current.next
        return total, [m.rule for m in made], [m.rule + 1 for m in made if m.rule is not None]

    assert_like_python(f, (4,), (1,), (0,))


def test_another_name_for_the_same_object() -> None:
    def f(n: int) -> Any:
        made = nodes(n)
        out = []
        for i in range(n):
            a, b = made[i], made[(i * 2) % n]
            a.rule = 3
            b.rule = None if i % 2 else i
            out.append((a.rule, b.rule))
            a.value += 1
            b.value += 1
            out.append((a.value, b.value))
        return out

    assert_like_python(f, (4,), (1,), (3,))


def test_through_branches_loops_and_calls() -> None:
    def bump(m: Node) -> int:
        m.value += 1
        return m.value

    def depth(m: Node | None) -> int:
        if m is None:
            return 0
        m.value += 100
        return 1 + depth(m.next)

    def f(n: int) -> Any:
        made = nodes(n)
        for a, b in zip(made[:-1], made[1:]):
            a.next = b
        out = []
        for m in made:
            before = m.value
            if before % 2:
                m.value = 50
            for _ in range(before):
                m.value += 1
                bump(m)
            out.append((before, m.value, depth(m), m.value))
            m.seen.append(m.value)
            m.seen = m.seen + [1]
            out.append((0, len(m.seen), m.seen[0], m.seen[-1]))
        return out

    assert_like_python(f, (4,), (1,), (0,))
