"""Which sizes the largest inputs have, from what is declared and what the recorded inputs show."""

from __future__ import annotations

import pytest
import torch

from torch2cpp.binding.signature import declared_dims
from torch2cpp.memory.sizes import SizesError, largest, parse_sizes, stretched

CASES = [
    {"tokens": torch.tensor([[1, 2, 3]]), "mask": torch.zeros(1, 3), "how:str": torch.tensor([1, 2])},
    {"tokens": torch.tensor([[1, 2], [3, 4]]), "mask": torch.zeros(2, 2), "how:str": torch.tensor([1])},
]


def test_dimensions_that_were_always_equal_go_together() -> None:
    sizes = largest({"tokens[1]": 9}, CASES, {})
    assert sizes == {("tokens", 1): 9, ("mask", 1): 9}
    assert stretched(CASES[0], sizes)["tokens"].tolist() == [[1, 2, 3, 1, 2, 3, 1, 2, 3]]
    assert stretched(CASES[1], sizes)["mask"].shape == (2, 9)


def test_what_is_said_of_a_dimension_itself_counts() -> None:
    sizes = largest({"tokens[1]": 9, "mask[1]": 5}, CASES, {})
    assert sizes == {("tokens", 1): 9, ("mask", 1): 5}


def test_names_of_dynamic_shapes() -> None:
    batch = torch.export.Dim("batch")
    declared = declared_dims({"tokens": {0: batch, 1: torch.export.Dim.DYNAMIC}, "mask": {0: batch}}, [])
    named = {place: getattr(dim, "__name__", "") for place, dim in declared.items()}
    assert largest({"batch": 4}, CASES[:1], named) == {("tokens", 0): 4, ("mask", 0): 4}
    assert stretched(CASES[0], {("tokens", 0): 2})["tokens"].tolist() == [[1, 2, 3], [1, 2, 3]]


def test_inputs_are_cut_to_sizes_below_theirs_and_filled_from_none() -> None:
    assert stretched({"x": torch.arange(5)}, {("x", 0): 2})["x"].tolist() == [0, 1]
    assert stretched({"x": torch.zeros(0, 2)}, {("x", 0): 3})["x"].tolist() == [[0.0, 0.0]] * 3


@pytest.mark.parametrize("name", ["length", "tokens[2]", "how:str[0]", "other[0]"])
def test_what_does_not_vary_is_told(name: str) -> None:
    with pytest.raises(SizesError, match=r"there are mask\[0\], mask\[1\], tokens\[0\], tokens\[1\]"):
        largest({name: 3}, CASES, {})


def test_what_is_no_size_is_told() -> None:
    with pytest.raises(SizesError, match="'tokens=many' is no size"):
        parse_sizes("batch=1,tokens=many")
