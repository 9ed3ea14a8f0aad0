"""When two results are the same, and what is said where they are not."""

from __future__ import annotations

import dataclasses
from collections import deque, namedtuple

import pytest
import torch

from torch2cpp.parity.compare import compare, tensors_in

Pair = namedtuple("Pair", "left right")
NAN = float("nan")


@dataclasses.dataclass
class Box:
    corner: torch.Tensor
    label: str


def differences(want: object, got: object, exact: bool = True) -> list[str]:
    return [str(d) for d in compare(want, got, exact).differences]


@pytest.mark.parametrize(
    "value",
    [
        torch.tensor([1.0, NAN]),
        [1, (2.5, None)],
        {"b": 1, "a": [True]},
        Pair(1, "x"),
        Box(torch.ones(2), "dog"),
        {1, 2},
        deque([1]),
        NAN,
        torch.zeros(0, 3),
    ],
)
def test_a_value_equals_its_copy(value: object):
    import copy

    assert differences(value, copy.deepcopy(value)) == []


@pytest.mark.parametrize(
    ("want", "got", "said"),
    [
        (1, 1.0, "type"),
        (True, 1, "type"),
        ((1,), [1], "type"),
        ([1, 2], [1], "nesting"),
        ({"a": 1, "b": 2}, {"b": 2, "a": 1}, "nesting"),
        (torch.ones(2), torch.ones(2, dtype=torch.float64), "dtype"),
        (torch.ones(2), torch.ones(1, 2), "shape"),
        (torch.ones(2), torch.tensor([1.0, 2.0]), "value"),
        (torch.tensor([1]), torch.tensor([2]), "decision"),
        ("a", "b", "decision"),
        (None, torch.ones(1), "type"),
        (Pair(1, 2), (1, 2), "type"),
        (torch.tensor([NAN]), torch.tensor([1.0]), "value"),
    ],
)
def test_what_differs_is_named(want: object, got: object, said: str):
    (found,) = differences(want, got)
    assert f": {said}: " in found


def test_the_place_is_named():
    assert differences({"boxes": [Box(torch.ones(1), "a")]}, {"boxes": [Box(torch.ones(1), "b")]}) == [
        "result['boxes'][0].label: decision: 'a' against 'b'"
    ]


def test_tolerance_is_for_numbers_only():
    want = torch.tensor([1.0, 100.0])
    assert differences(want, want * (1 + 5e-5), exact=False) == []
    assert len(differences(want, want * (1 + 5e-5), exact=True)) == 1
    assert len(differences(want, want * (1 + 5e-4), exact=False)) == 1
    assert len(differences(1, 2, exact=False)) == 1
    assert differences(1.0, 1.00001, exact=False) == []


def test_errors_are_measured():
    found = compare([torch.tensor([2.0]), 4.0], [torch.tensor([2.5]), 4.0], exact=True)
    assert (found.max_abs_err, found.max_rel_err) == (0.5, 0.25)


def test_an_infinity_against_a_number_is_no_small_error():
    assert differences(torch.tensor([float("inf")]), torch.tensor([1e30]), exact=False) != []
    assert differences(torch.tensor([float("inf")]), torch.tensor([float("inf")]), exact=True) == []


def test_tensors_are_found_in_order():
    a, b = torch.ones(1), torch.zeros(1)
    assert [t is x for t, x in zip(tensors_in([{"k": a}, Pair(b, 3)]), [a, b], strict=True)] == [True, True]
