"""Containers inside containers, whose types grow with what is put into them."""

from __future__ import annotations

from collections import defaultdict

import torch

from like_python import assert_like_python


def test_list_of_lists() -> None:
    def f(n: int, x: torch.Tensor) -> object:
        rows = [[] for _ in range(n)]
        for i in range(n):
            for j in range(i):
                rows[j].append(x[i] * j)
        return rows, sum(len(r) for r in rows)

    assert_like_python(f, (4, torch.arange(4.0)), (1, torch.arange(4.0)))


def test_dict_of_lists() -> None:
    def f(n: int) -> object:
        groups = defaultdict(list)
        other = {}
        for i in range(n):
            groups[i % 3].append(i)
            if i not in other:
                other[i] = []
            other[i].append(str(i))
        for members in groups.values():
            members.append(-1)
        for key, members in groups.items():
            members.append(key)
        found = groups.get(0)
        if found is not None:
            found.append(100)
        return dict(groups), other

    assert_like_python(f, (5,), (1,), (0,))


def test_lists_in_tuples() -> None:
    def f(n: int) -> object:
        beams = [(0.0, [])]
        for i in range(n):
            grown = []
            for score, tokens in beams:
                for k in range(2):
                    grown.append((score - k, tokens + [k]))
            beams = grown
        first = beams[0]
        first[1].append(7)
        return beams

    assert_like_python(f, (2,), (0,))


def test_dict_of_dicts() -> None:
    def f(n: int) -> object:
        tree = {}
        for i in range(n):
            if i % 2 not in tree:
                tree[i % 2] = {}
            tree[i % 2][i] = i * 0.5
        return tree

    assert_like_python(f, (5,), (0,))


def test_names_share_the_inner_list() -> None:
    def f(n: int) -> object:
        inner = []
        outer = []
        for i in range(n):
            outer.append(inner)
            outer[0].append(i)
        return outer, inner

    assert_like_python(f, (3,), (0,))
