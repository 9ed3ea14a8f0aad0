"""Methods of dicts and sets."""

from __future__ import annotations

import torch

from like_python import assert_like_python


def test_dict_with_known_keys() -> None:
    def f(n: int, x: torch.Tensor) -> object:
        d = {"a": n, "b": 2}
        d.update({"c": 3}, e=5)
        d.update([("f", 6)])
        popped = d.pop("b")
        missing = d.pop("zz", -1)
        default = d.setdefault("g", n)
        kept = d.setdefault("a", 100)
        copy = d.copy()
        copy["h"] = 1
        last = copy.popitem()
        names = [k for k in d.keys()]
        total = sum(d.values())
        pairs = [(k, v) for k, v in d.items()]
        copy.clear()
        return d, popped, missing, default, kept, last, names, total, pairs, d.get("x"), d.get("a", 7), len(copy), x

    assert_like_python(f, (4, torch.ones(2)), (5, torch.ones(2)))


def test_missing_keys_raise() -> None:
    def f(n: int) -> object:
        d = {"a": n}
        if n > 3:
            return d.pop("b")
        return d["c"]

    assert_like_python(f, (4,), (3,))


def test_dict_with_run_time_keys() -> None:
    def f(n: int) -> object:
        d = {}
        for i in range(n):
            d[i % 3] = i
        found = d.get(1, -1)
        seven = d.setdefault(7, 70)
        d.setdefault(0, 1000)
        copy = d.copy()
        popped = d.pop(0, -5)
        again = d.pop(0, -6)
        keys = list(d.keys())
        total = 0
        for k, v in d.items():
            total += k * v
        for v in d.values():
            total += v
        d.update(copy)
        return d, found, seven, popped, again, keys, total, sorted(copy), copy.popitem()

    assert_like_python(f, (5,), (1,), (0,))


def test_get_without_default_gives_none() -> None:
    def f(n: int) -> object:
        d = {}
        for i in range(n):
            d[i] = i * 1.5
        hit = d.get(2)
        if hit is None:
            return -1.0
        return hit + 1

    assert_like_python(f, (5,), (1,))


def test_pop_of_a_missing_run_time_key() -> None:
    def f(n: int) -> object:
        d = {}
        for i in range(n):
            d[i] = i
        return d.pop(n - 2), d.pop(7)

    assert_like_python(f, (8,), (3,), (1,))


def test_popitem_of_an_empty_dict() -> None:
    def f(n: int) -> object:
        d = {}
        for i in range(n):
            d[i] = i
        d.popitem()
        d.clear()
        return len(d)

    assert_like_python(f, (2,), (0,))


def test_table_of_the_program_with_a_run_time_key() -> None:
    table = {1: 10, 2: 20, "x": 3}

    def f(n: int) -> object:
        return table.get(n, -1), table.get("x")

    assert_like_python(f, (1,), (2,), (3,))


def test_lists_in_a_dict() -> None:
    def f(n: int) -> object:
        groups = {}
        for i in range(n):
            groups.setdefault(i % 2, []).append(i)
        return groups

    assert_like_python(f, (5,), (1,), (0,))


def test_sets() -> None:
    def f(n: int) -> object:
        seen = set()
        for i in range(n):
            seen.add(i * i % 5)
        seen.discard(77)
        other = set()
        other.update(range(n), [50])
        seen.remove(1)
        both = seen.union(other)
        return sorted(seen), sorted(other), sorted(both), sorted(other.difference(seen)), len(seen.copy()), 4 in seen

    assert_like_python(f, (5,), (3,), (1,), (0,))


def test_set_literal_that_grows() -> None:
    def f(n: int) -> object:
        seen = {0}
        for i in range(n):
            seen.add(i + 3)
        return sorted(seen), len(seen)

    assert_like_python(f, (2,), (0,))


def test_views() -> None:
    def f(n: int) -> object:
        d = {"a": n, "b": 2}
        e = {}
        for i in range(n):
            e[i] = i
        return (
            "a" in d.keys(),
            n in d.values(),
            len(d.items()),
            list(d.keys())[0],
            n in e.keys(),
            ("a", n) in d.items(),
            len(e.items()),
            list(e.items()),
            3 in e.values(),
            sorted(e.items()),
            dict(zip(d.keys(), d.values())),
        )

    assert_like_python(f, (2,), (4,), (0,))


def test_set_operators() -> None:
    def f(n: int) -> object:
        s = {1, 2}
        t = {2, n}
        u = set()
        for i in range(n):
            u.add(i)
        u |= {7}
        v = set(u)
        v -= {0, n - 1}
        w = u.copy()
        w &= t
        return (
            sorted(s | t),
            sorted(s & t),
            sorted(s - t),
            sorted(s ^ u),
            len(s | t),
            s == {2, 1},
            n in s,
            sorted(u),
            sorted(v),
            sorted(w),
            u == {7},
            u != t,
            {1} | {3} == {3, 1},
            {1} < {1, 2},
        )

    assert_like_python(f, (1,), (4,), (0,))


def test_dict_operators() -> None:
    def f(n: int) -> object:
        d = {"a": n} | {"b": 1}
        e = {}
        for i in range(n):
            e[i] = 2 * i
        e |= {5: 5}
        return d, e, d == {"b": 1, "a": 4}, d == {"a": 4}, e == {5: 5}, e != {0: 0, 5: 5}

    assert_like_python(f, (1,), (4,), (0,))
