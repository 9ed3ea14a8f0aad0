"""Programs that random ones were reduced to."""

from __future__ import annotations

import torch

from like_python import assert_like_python


def test_an_index_out_of_range_names_the_dimension() -> None:
    def f(x, i):
        try:
            return x[:, i, None, 7]
        except IndexError as e:
            return str(e)

    def g(x, i):
        return x[i, 1], x[None, i], x[..., i]

    assert_like_python(f, (torch.zeros(2, 3, 4), 1), (torch.zeros(2, 3, 4), 9), (torch.zeros(2, 3, 9), 1))
    assert_like_python(g, (torch.zeros(2, 3), 1), (torch.zeros(2, 3), 2), (torch.zeros(1, 3), 0))


def test_zip_of_known_and_run_time_items() -> None:
    def f(xs, m):
        out = [a + b for a, b in zip(xs, [1, 2])]
        t = 0
        for a, b in zip([4, 5, 6], m):
            if a > 5:
                break
            t += int(b.sum())
        else:
            t += 100
        fs = [lambda v: v + 1, lambda v: v * 2]
        for i, (g, a) in enumerate(zip(fs, xs)):
            t = g(t) + a + i
            if t > 3000:
                break
        else:
            t += 1000
        return out, t, [v for v, w in zip(xs, [])]

    ones = torch.ones
    assert_like_python(f, ([], ones(2, 3)), ([1, 2, 3], ones(1, 3)), ([1], ones(5, 3)), ([1, 9000], ones(5, 3)))


def test_optionals_made_inside_conditions() -> None:
    def f(xs, k):
        o = k if k > 2 else None
        xs[o or 0] = 7
        if o is not None or (k == 0 and (k if k < 1 else None) is not None):
            xs.append(1)
        return xs, (o or 5) + 1, o and 3

    def g(xs, k):
        i = k if k > 0 else None
        xs[i] = 2
        return xs

    for function in (f, g):
        assert_like_python(function, *[([1, 2, 3, 4, 5], k) for k in range(5)])


def test_objects_made_on_one_path_of_an_unrolled_loop() -> None:
    def f(m, k, f):
        for i, row in [(1, torch.ones(2)), (2, m.sum(-1)), (3, torch.ones(3))]:
            on = bool((m > f).any())
            if not bool((row > f + k).all()):
                record = {"n": i, "t": row, "on": on}
                if on:
                    break
            k -= 1
        return k

    assert_like_python(
        f, *[(torch.linspace(-1, 1, 6).reshape(2, 3), k, x) for k in (0, 1, -1) for x in (0.0, -1.0, 3.0)]
    )


def test_containers_that_nothing_was_put_in() -> None:
    def f(k):
        xs, ys, s = [v for v in []], [], 0
        for v in xs:
            s += v
        for i in range(k):
            if ys:
                s += ys[-1]
            ys.append(i)
        a = sum(xs) + len(xs) + max(xs, default=4)
        try:
            return xs[k], a
        except IndexError as e:
            return str(e), a, s, ys, sorted(xs), xs + [k], xs == []

    def g(k):
        d = {v: v for v in []}
        a = d.get(k, k) + d.pop(k, 3)
        for q, w in d.items():
            a += q + w
        if k == 4:
            return d[k]
        return d.get(k), a

    for function in (f, g):
        assert_like_python(function, *[(k,) for k in range(5)])


def test_results_of_unlike_tuples() -> None:
    def f(flag, x, k):
        if flag:
            return (x, flag)
        if k > 1:
            return (x, 1)
        return k

    assert_like_python(f, (True, 0.5, 1), (False, 0.5, 2), (False, 0.5, 0))


def test_starred_targets_of_short_lists() -> None:
    def f(xs):
        a, *rest, b = xs
        return a, rest, b

    assert_like_python(f, ([1, 2, 3],), ([1, 2],), ([1],), ([],))


def test_slices_with_a_step_keep_their_length() -> None:
    def f(k):
        xs = [1, 2, 3]
        xs[::2] = [k, k]
        xs[5:1:2] = [k, k]
        return xs

    assert_like_python(f, (1,), (2,))


def test_a_number_of_two_types() -> None:
    def f(k):
        r = k if k > 2 else float(k)
        n = 0
        while n < k:
            n += 0.5 if n else 1
        return (
            r,
            r + 1,
            r / 2,
            f"{r}",
            r > 2,
            [r, r],
            round(r),
            -r,
            abs(r),
            r % 2,
            isinstance(r, int),
            n,
            str(n),
            n // 1,
        )

    assert_like_python(f, *[(k,) for k in range(5)])
