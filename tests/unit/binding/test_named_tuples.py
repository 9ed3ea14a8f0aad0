"""What NamedTuple classes have besides their fields."""

from __future__ import annotations

import itertools
from collections import namedtuple
from typing import Any, NamedTuple

import torch

from like_python import assert_like_python


class State(NamedTuple):
    x: torch.Tensor
    n: int = 0

    @property
    def double(self) -> int:
        return self.n * 2


Point = namedtuple("Point", "x y")


def test_methods_of_all_named_tuples() -> None:
    def f(x: torch.Tensor, n: int) -> Any:
        s = State(x)
        t = s._replace(n=n)
        u = State._make([x + 1, 3])
        table = t._asdict()
        table["n"] += 1
        return s, t, u.double, table, {**u._asdict(), "more": n}, s._fields, State._fields

    assert_like_python(f, (torch.ones(2), 4), (torch.zeros(2), 0))


def test_errors_of_named_tuples() -> None:
    def f(n: int) -> Any:
        p = Point(n, 1)
        try:
            return p._replace(z=3)
        except ValueError as e:
            return str(e), p._replace(x=2) == Point(2, 1)

    assert_like_python(f, (4,))


def test_through_loops_and_lists() -> None:
    def f(xs: list[int]) -> Any:
        at, path = Point(0, 0), []
        for x in xs:
            at = at._replace(x=at.x + x) if x > 0 else at._replace(y=at.y - x)
            path.append(at)
        return path, at, [p._asdict() for p in path], sum(p.x for p in path)

    assert_like_python(f, ([1, -2, 3],), ([],))


class Node:
    def __init__(self, ids: Any) -> None:
        self.id = next(ids)


def test_counters_that_are_kept() -> None:
    def f(xs: list[int]) -> Any:
        ids, steps = itertools.count(), itertools.count(10, 5)
        nodes = [Node(ids) for _ in xs]
        total = 0
        for i in itertools.count(2):
            total += i
            if i > 5:
                break
        return [n.id for n in nodes], next(ids), next(steps), next(steps), total

    assert_like_python(f, ([1, -2, 3],), ([],))
