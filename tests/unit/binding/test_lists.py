"""Methods of lists, deques and tuples."""

from __future__ import annotations

from collections import deque

import torch

from like_python import assert_like_python


def test_list_of_known_length_keeps_its_elements() -> None:
    def f(a: int, b: float) -> object:
        xs = [a, 1]
        xs.append(3)
        xs.insert(1, a + 1)
        xs.extend([7, 8])
        xs.extend(range(2))
        last = xs.pop()
        first = xs.pop(0)
        xs.reverse()
        ys = xs.copy()
        ys.append(b)
        zs = ys
        zs.clear()
        return xs, ys, last, first

    assert_like_python(f, (4, 0.5), (5, 1.5))


def test_appends_in_a_loop_make_a_run_time_list() -> None:
    def f(n: int) -> object:
        xs = []
        for i in range(n):
            xs.append(i * i)
        xs.insert(1, -5)
        xs.insert(100, 99)
        xs.extend([1, 2])
        xs.extend(xs)
        xs.extend(i + n for i in range(n) if i % 2 == 0)
        ys = xs.copy()
        ys.reverse()
        last = ys.pop()
        middle = ys.pop(-2)
        return xs, ys, last, middle, xs.count(1), len(ys)

    assert_like_python(f, (3,), (5,), (0,))


def test_a_value_of_a_wider_type_starts_again() -> None:
    def f(n: int, x: torch.Tensor) -> object:
        xs = []
        for i in range(n):
            if i == 2:
                xs.append(None)
            xs.append(x[i])
        return len(xs), xs

    assert_like_python(f, (2, torch.arange(4.0)), (4, torch.arange(4.0)))


def test_pop_from_an_empty_list() -> None:
    def f(n: int) -> object:
        xs = []
        for i in range(n):
            xs.append(i)
        total = xs.pop()
        return total + xs.pop(0)

    assert_like_python(f, (3,), (1,), (0,))


def test_pop_of_a_known_list_raises_as_python_does() -> None:
    def f(n: int) -> object:
        xs = [n]
        if n > 2:
            xs.pop(3)
        xs.pop()
        return xs.pop()

    assert_like_python(f, (1,), (3,))


def test_remove_index_and_count_of_known_lists() -> None:
    def f(n: int) -> object:
        xs = ["a", "b", "a", "c"]
        xs.remove("a")
        ys = (1, 4, 9, 16, 25)
        return xs, xs.index("a"), xs.count("a"), ys.index(n), ys.count(n), [n, 3].index(3), (1, 2.5).count(n)

    assert_like_python(f, (4,), (25,), (1,), (2,))


def test_remove_index_and_count_of_run_time_lists() -> None:
    def f(n: int, x: int) -> object:
        xs = [i % 3 for i in range(n)]
        xs.remove(1)
        return xs, xs.index(x), xs.count(x)

    assert_like_python(f, (6, 1), (6, 2), (6, 7), (0, 0))


def test_index_with_bounds() -> None:
    def f(n: int) -> object:
        xs = [1, n, 3, n]
        return xs.index(n, 2)

    assert_like_python(f, (2,), (5,))


def test_remove_of_a_run_time_value_from_a_known_list() -> None:
    def f(n: int) -> object:
        xs = [1, 2, 3]
        xs.remove(n)
        return xs

    assert_like_python(f, (2,), (9,))


def test_sort() -> None:
    def f(n: int) -> object:
        xs = [3, 1, 2]
        xs.sort()
        ys = [(n * i) % 7 for i in range(n)]
        ys.sort(reverse=True)
        zs = [(i % 2, -i) for i in range(n)]
        zs.sort(key=lambda p: p[1])
        ws = [n, 2, 5]
        ws.sort()
        return xs, ys, zs, ws

    assert_like_python(f, (4,), (6,), (0,))


def test_sort_by_tuples_and_tensors() -> None:
    def f(n: int, x: torch.Tensor) -> object:
        rows = []
        for i in range(n):
            rows.append((x[i], i % 3, i))
        rows.sort(key=lambda r: (-r[1], r[2]))
        by_score = sorted(rows, key=lambda r: r[0], reverse=True)
        scores = sorted([r[0] for r in rows])
        return [r[2] for r in rows], [r[2] for r in by_score], scores

    x = torch.tensor([0.5, -1.0, 2.0, 0.25, 0.75])
    assert_like_python(f, (5, x), (3, x), (0, x))


def test_sorted_is_a_new_list() -> None:
    def f(n: int) -> object:
        xs = [n, 3, 1]
        ys = sorted(xs)
        ys.append(100)
        names = sorted({"b": 1, "a": n})
        squares = sorted((i * i for i in range(n)), reverse=True)
        return xs, ys, names, squares, sorted([2, 1], key=lambda v: v), sorted(set([n, 2, n, 5]))

    assert_like_python(f, (2,), (4,))


def test_deque() -> None:
    def f(n: int) -> object:
        queue = deque([1, 2])
        queue.appendleft(0)
        queue.extendleft([8, 9])
        queue.rotate(1)
        first = queue.popleft()
        work = deque()
        for i in range(n):
            work.append(i)
            work.appendleft(-i)
        seen = []
        while work:
            seen.append(work.popleft())
            if len(seen) == 4:
                break
        return first, seen, len(work), work.pop()

    assert_like_python(f, (3,), (2,), (1,))


def test_pop_of_an_empty_deque() -> None:
    def f(n: int) -> object:
        work = deque(range(n))
        work.popleft()
        return work.pop()

    assert_like_python(f, (2,), (1,), (0,))


def test_two_names_see_one_list() -> None:
    def f(n: int) -> object:
        xs = []
        ys = xs
        for i in range(n):
            ys.append(i)
        xs.reverse()
        return xs, ys

    assert_like_python(f, (3,), (1,))


def test_methods_as_values() -> None:
    def f(n: int) -> object:
        xs = []
        add = xs.append
        for i in range(n):
            add(i)
        return xs

    assert_like_python(f, (3,), (1,))


def test_lists_of_unlike_values() -> None:
    def f(n: int) -> object:
        xs = []
        for i in range(n):
            xs.append(i)
            xs.append(str(i))
        return xs

    assert_like_python(f, (3,), (4,))


def test_order_of_run_time_lists() -> None:
    def f(xs: list[int], ys: list[int]) -> object:
        a, b = xs[1:], list(ys)
        rows = [xs, ys, [1, 2], a]
        pairs = sorted((len(r), r) for r in rows)
        return a < b, a > b, a <= b, a >= b, a < [1, 2], sorted(rows), pairs, max(rows), sorted(rows, reverse=True)

    assert_like_python(f, ([3, 1, 2], [1, 2, 5]), ([1], [7]), ([1, 2], [2]))
