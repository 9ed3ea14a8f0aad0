"""`f(*xs)` with a list of run-time length for a function that takes `*args`, and other lists that hold None."""

from __future__ import annotations

import math
from typing import Any

from like_python import assert_like_python


def log_sum(*xs: float) -> float:
    if not xs:
        return -math.inf
    top = max(xs)
    return top + math.log(sum(math.exp(x - top) for x in xs))


def labelled(name: str, *values: int, scale: int = 1) -> str:
    return name + ":" + ",".join(str(v * scale) for v in values) + f"/{len(values)}"


def test_star_of_a_run_time_list() -> None:
    def f(xs: list[float], ns: list[int]) -> Any:
        rest = ns[1:]
        return log_sum(*xs), labelled("a", *rest), labelled("b", 7, *ns, scale=2), labelled(*["c"], *[1, 2])

    assert_like_python(f, ([1.0, 2.0], [1, 2, 3]), ([], []), ([0.5], [4]))


def test_join_of_what_may_be_none() -> None:
    def f(xs: list[int]) -> Any:
        words = []
        for x in xs:
            words.append(None if x > 3 else str(x))
        try:
            return " ".join(words)
        except TypeError as e:
            return str(e)

    assert_like_python(f, ([1, 2],), ([1, 5],), ([],))


class Failed(Exception):
    pass


def test_lists_that_a_handler_reads() -> None:
    def take(x: int) -> list[int]:
        if x < 0:
            raise Failed(f"{x}")
        return [x, x + 1]

    def f(xs: list[int]) -> Any:
        found, log = [], []
        for x in xs:
            try:
                found = take(x)
                log.append("ok")
            except Failed:
                log.append(f"kept {len(found)}")
                continue
        return found, log

    assert_like_python(f, ([1, -1, 2],), ([-1],), ([],))


class Base:
    def __init__(self, n: int) -> None:
        self.n = n

    def score(self, x: int) -> int:
        return self.n + x


class Special(Base):
    def score(self, x: int) -> int:
        return super().score(x) * 10


def test_super_of_objects_in_lists() -> None:
    def f(xs: list[int]) -> Any:
        made = []
        for x in xs:
            made.append(Special(x))
        return [m.score(2) for m in made]

    assert_like_python(f, ([1, 2],), ([],))
