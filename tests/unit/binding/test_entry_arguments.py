"""Entries that take `*args` and `**kwargs`."""

from __future__ import annotations

from typing import Any

import torch

from like_python import assert_like_python


def spread(x: torch.Tensor, *args: float, **options: Any) -> Any:
    out = x
    for a in args:
        out = out + a
    return out * options.get("scale", 2), sorted(options), len(args), args


def test_none_given() -> None:
    assert_like_python(spread, (torch.ones(2),))


def test_several_given() -> None:
    assert_like_python(spread, (torch.ones(2), 1.0, 2.0), (torch.ones(3), 1.5, 2.0))


def test_numbers_of_arguments_are_kinds() -> None:
    assert_like_python(spread, (torch.ones(2),), (torch.ones(2), 1.0), (torch.ones(2), 0.5, 2.0))


def test_tensors_given() -> None:
    def f(*tensors: torch.Tensor) -> Any:
        return torch.cat(tensors), [t.sum() for t in tensors]

    assert_like_python(f, (torch.ones(2),), (torch.ones(2), torch.zeros(3)))


def test_dicts_with_other_keys_in_each_example() -> None:
    def f(history: dict[str, list[int]], names: list[str]) -> Any:
        out = []
        for n in names:
            if n in history:
                out.append(history[n][-1])
        return out, sorted(history), sum(len(v) for v in history.values()), history.get("a")

    assert_like_python(f, ({"a": [1, 2], "b": [3]}, ["b", "c"]), ({}, ["b"]), ({"c": [7]}, ["c"]))


def test_dicts_with_numbers_as_keys() -> None:
    def f(table: dict[int, torch.Tensor], n: int) -> Any:
        return table[n] * 2, [k + 1 for k in table], {k: v.sum() for k, v in table.items()}

    assert_like_python(f, ({3: torch.ones(2), 5: torch.zeros(2)}, 5), ({3: torch.ones(4)}, 3), ({1: torch.ones(1)}, 2))


def test_dicts_of_known_keys_asked_for_a_run_time_key() -> None:
    def f(table: dict[str, torch.Tensor], names: list[str]) -> Any:
        return [table[n] for n in names], "x" in table, table["x"] + 1

    table = {"x": torch.ones(2), "y": torch.zeros(2)}
    assert_like_python(f, (table, ["y", "x"]), ({"x": torch.ones(3), "y": torch.ones(3)}, []))
