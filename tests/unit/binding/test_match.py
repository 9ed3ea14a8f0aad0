"""match statements."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import torch

from like_python import assert_like_python


def test_literals() -> None:
    def f(n: int, mode: str) -> object:
        match n:
            case 0:
                out = "zero"
            case 1 | 2:
                out = "few"
            case -1:
                out = "negative"
            case m if m > 100:
                out = f"many {m}"
            case _:
                out = "some"
        match mode:
            case "a":
                return out, 1
            case "b" | "c" as letter:
                return out + letter, 2
        return out, 3

    cases = [(n, s) for n in (0, 1, 2, -1, 101, 7) for s in "abcd"]
    assert_like_python(f, *cases)


def test_literals_on_known_values() -> None:
    def f(x: torch.Tensor) -> object:
        match "gelu":
            case "relu":
                x = x.relu()
            case "gelu":
                x = x.tanh()
        match x.shape:
            case (2, 3):
                return x.sum()
            case (n, m):
                return x.mean()

    assert_like_python(f, (torch.ones(2, 3),))


def test_none_and_booleans() -> None:
    def f(n: int) -> object:
        best = None
        for i in range(n):
            best = i
        match best:
            case None:
                return "none"
            case 0:
                return "zero"
            case found:
                return f"at {found}"

    assert_like_python(f, (0,), (1,), (3,))


def test_booleans() -> None:
    def f(flag: bool) -> object:
        match flag:
            case True:
                return 1
            case False:
                return 2

    assert_like_python(f, (True,), (False,))


def test_sequences() -> None:
    def f(a: int, b: int) -> object:
        match (a, b):
            case (0, 0):
                return "origin"
            case (0, y):
                return f"y {y}"
            case (x, 0) if x > 3:
                return f"far {x}"
            case (x, 0 | 1):
                return f"near {x}"
            case [x, *rest]:
                return f"{x} {rest}"

    assert_like_python(f, (0, 0), (0, 2), (4, 0), (2, 0), (2, 1), (5, 5))


def test_run_time_sequences() -> None:
    def f(n: int) -> object:
        xs = [i + 1 for i in range(n)]
        match xs:
            case []:
                return "empty"
            case [one]:
                return f"one {one}"
            case [1, 2]:
                return "two"
            case [first, *middle, last]:
                return f"{first} {len(middle)} {last}"

    assert_like_python(f, (0,), (1,), (2,), (5,))


@dataclass
class Point:
    x: int
    y: int


class Step(NamedTuple):
    kind: str
    size: int


def test_classes() -> None:
    def f(a: int, b: int, kind: str) -> object:
        out = []
        for value in (Point(a, b), Step(kind, a)):
            match value:
                case Point(0, y=0):
                    out.append("origin")
                case Point(x=0) | Point(y=0):
                    out.append("axis")
                case Point(x, y):
                    out.append(f"{x},{y}")
                case Step("go", size):
                    out.append(f"go {size}")
                case Step(kind=other):
                    out.append(other)
        return out

    assert_like_python(f, (0, 0, "go"), (0, 2, "stop"), (3, 0, "go"), (3, 4, "wait"))


def test_builtin_classes() -> None:
    def f(n: int, x: torch.Tensor) -> object:
        out = []
        for value in (n, 0.5, "s", x, [n], {"a": n}):
            match value:
                case bool():
                    out.append("bool")
                case int(i):
                    out.append(f"int {i}")
                case float() | str():
                    out.append("scalar")
                case torch.Tensor():
                    out.append("tensor")
                case [inner]:
                    out.append(f"list {inner}")
                case {"a": inner, **rest}:
                    out.append(f"dict {inner} {len(rest)}")
        return out

    assert_like_python(f, (3, torch.ones(1)), (4, torch.ones(1)))


def test_mappings() -> None:
    def f(n: int) -> object:
        d = {}
        for i in range(n):
            d[i] = i * 10
        match d:
            case {0: 5}:
                return -1
            case {3: v, 1: w}:
                return v + w
            case {1: v}:
                return v
        return 0

    assert_like_python(f, (0,), (2,), (5,))


def test_break_inside_a_case() -> None:
    def f(n: int) -> object:
        total = 0
        for i in range(10):
            match i * n:
                case 6:
                    break
                case v if v % 2 == 1:
                    continue
                case v:
                    total += v
        return total, i

    assert_like_python(f, (1,), (2,), (3,), (5,))
