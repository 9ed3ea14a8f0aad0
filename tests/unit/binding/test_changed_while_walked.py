"""zip() and reversed() over lists that the loop's body makes longer or shorter."""

from __future__ import annotations

from typing import Any

from like_python import assert_like_python


def test_zip_of_lists_that_change() -> None:
    def f(xs: list[int], ys: list[int]) -> Any:
        seen = []
        for x, y in zip(xs, ys):
            seen.append(x * 10 + y)
            if x > 2 and len(xs) < 6:
                xs.append(x - 1)
                ys.append(1)
            if y > 4:
                ys.pop()
        return seen, xs, ys

    assert_like_python(f, ([1, 2, 3], [4, 5, 6]), ([], [1]), ([4, 4], [1, 2, 3, 4]), ([1, 1, 1], [9, 9, 9]))


def test_reversed_lists_that_change() -> None:
    def f(xs: list[int]) -> Any:
        seen = []
        for x in reversed(xs):
            seen.append(x)
            if x > 2:
                xs.pop()
            if x == 1:
                xs.append(7)
        return seen, xs

    assert_like_python(f, ([1, 2, 3],), ([],), ([5, 4, 3],), ([1, 1],))


def test_another_list_of_the_same_type_changes() -> None:
    def f(xs: list[float], ys: list[float]) -> Any:
        runs, current = [], [0.0]
        for i, (x, y) in enumerate(zip(xs, ys)):
            if y < 0:
                runs.append(sum(current))
                current = [x]
            else:
                current.append(x + i)
        return runs, current

    assert_like_python(f, ([1.0, 2.0, 3.0], [4.0, -5.0, 6.0]), ([], [1.0]))
