"""sum, min, max, any, all and sorted over every kind of iterable."""

from __future__ import annotations

import torch

from like_python import assert_like_python


def test_known_scalars() -> None:
    def f(a: int, b: int, x: float, y: float) -> object:
        return (
            sum([a, b, 3]),
            sum((x, y)),
            sum([a, x]),
            sum([a], b),
            min(a, b),
            max([a, b, 3]),
            min(x, y, 0.5),
            max("a", str(a)),
            sum(range(4)),
            min((a, x), (b, y)),
            max([a, b], key=lambda v: -v),
            max([], default=a),
        )

    assert_like_python(f, (1, 2, 0.5, -1.5), (5, -3, 0.25, 2.0), (2, 2, 0.0, -0.0))


def test_an_int_and_a_float() -> None:
    def f(x: float, n: int) -> object:
        return max(0, x), min(n, x, 2), f"{max(n, x)}", max(0, x) * 2

    assert_like_python(f, (0.5, 3), (-1.0, 0), (0.0, 0), (7.0, 7))


def test_run_time_lists() -> None:
    def f(n: int, scale: float) -> object:
        xs = [(i * 7) % 5 for i in range(n)]
        ys = [scale * i for i in range(n)]
        pairs = [(v, i) for i, v in enumerate(xs)]
        return (
            sum(xs),
            sum(xs, 10),
            sum(ys),
            min(xs),
            max(ys),
            min(pairs),
            max(pairs, key=lambda p: p[1]),
            max(xs, default=-1),
            min(xs, key=lambda v: -v),
            any(xs),
            all(xs),
            any(v > 3 for v in xs),
            all(v < 2.5 for v in ys),
            sum(v for v in xs if v > 1),
            max(i * i for i in range(n)),
        )

    assert_like_python(f, (4, 0.5), (6, -1.5))


def test_empty_sequences() -> None:
    def f(n: int, which: int) -> object:
        xs = [i for i in range(n)]
        if which == 0:
            return max(xs)
        if which == 1:
            return min(xs, key=lambda v: -v)
        if which == 2:
            return max((v for v in xs), default=-7)
        return float(sum(xs)), any(xs), all(xs)

    assert_like_python(f, *[(n, which) for n in (0, 3) for which in range(4)])


def test_tensors() -> None:
    def f(x: torch.Tensor, n: int) -> object:
        parts = [x * 2, x + 1, x]
        rows = []
        for i in range(n):
            rows.append(x[i] * i)
        best = max(rows, key=lambda r: r.sum().item())
        scores = [r.sum() for r in rows]
        return sum(parts), sum(rows), best, max(scores), min(scores), any(r.sum() > 3 for r in rows), sum(scores) / n

    x = torch.arange(8.0).reshape(4, 2) - 3
    assert_like_python(f, (x, 4), (x, 1))


def test_sum_from_a_tensor() -> None:
    def f(x: torch.Tensor, n: int) -> object:
        return sum((x * i for i in range(n)), torch.zeros(2))

    assert_like_python(f, (torch.ones(2), 3), (torch.ones(2), 0))


def test_any_and_all_stop_early() -> None:
    def f(xs: torch.Tensor, n: int) -> object:
        values = [10, 5, 0, 2]
        hit = any(100 // values[i] > 15 for i in range(n))
        every = all(values[i] != 0 and 100 // values[i] < 30 for i in range(n))
        return hit, every, any(bool(x > 2) for x in xs), all([n > 1, n < 4, True]), any([False, n == 3])

    x = torch.arange(3.0)
    assert_like_python(f, (x, 2), (x, 1), (x, 3), (x + 1, 4))


def test_sum_of_lists() -> None:
    def f(n: int) -> object:
        return sum([[1, n], [2], []], [])

    assert_like_python(f, (3,), (4,))


def test_dicts_and_sets() -> None:
    def f(n: int) -> object:
        d = {}
        seen = set()
        for i in range(n):
            d[i * 2] = -i
            seen.add(i % 3)
        best = max(d, key=d.get)
        return best, max(d.values()), sum(seen), min(seen), max(d.items(), key=lambda kv: kv[1]), sum(d)

    assert_like_python(f, (4,), (1,))


def test_sort_and_reduce_in_a_loop() -> None:
    def f(n: int) -> object:
        beams = [(0.0, 0)]
        for step in range(n):
            grown = []
            for score, last in beams:
                for k in range(3):
                    grown.append((score - 0.25 * k * (step + 1), last * 3 + k))
            beams = sorted(grown, key=lambda b: b[0], reverse=True)[:2]
        return beams, max(beams)[1]

    assert_like_python(f, (3,), (1,), (0,))


def test_generators_where_a_list_is_expected() -> None:
    def f(n: int) -> object:
        a, b = (i * n for i in (1, 2))
        first = tuple(i + n for i in range(3))
        pairs = list(zip((i * i for i in range(n)), range(n)))
        numbered = [i * v for i, v in enumerate(v for v in range(n) if v != 1)]
        return a, b, first, pairs, numbered, list(filter(None, [0, n, 2])), list(map(lambda v: v + 1, (1, n)))

    assert_like_python(f, (3,), (0,), (1,))


def test_for_over_a_generator() -> None:
    def f(n: int) -> object:
        seen = []
        for v in (i * i for i in range(n) if i != 2):
            if v > 20:
                break
            if v == 1:
                continue
            seen.append(v)
        else:
            seen.append(-1)
        for v in (w + n for w in (1, 2, 3)):
            if v == 4:
                break
            seen.append(v)
        for v in filter(lambda w: w > n, [1, 2, 3]):
            seen.append(v)
        return seen

    assert_like_python(f, (3,), (7,), (0,), (1,), (2,))


def test_a_generator_is_computed_between_the_iterations() -> None:
    def f(n: int) -> object:
        xs = [1, 2]
        out = []
        for v in (xs[-1] + i for i in range(n)):
            xs.append(v)
            out.append(v)
        return out

    assert_like_python(f, (3,), (0,))
