"""Sizes that the host program was made for are checked where a region's results come out."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
import torch

from emitted import compiled_by_aten, load_class
from through_interpreter import formed
from torch2cpp.binding.entry import bind
from torch2cpp.emit.write_project import write_project
from torch2cpp.hostir.types import TensorType


def distinct(out: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor, int]:
    values, counts = torch.unique(out, return_counts=True)
    return values, counts, values.shape[0]


def test_a_result_of_another_size_is_an_error(tmp_path: Path) -> None:
    inputs = [(torch.tensor([1.0, 1.0, 2.0]),), (torch.tensor([4.0]),)]
    program = replace(formed(bind(distinct, inputs, entries=["distinct"])), name="values", class_name="Values")
    (region,) = program.regions.values()
    # As if binding had been misled: two values, always.
    region.results[0].type = TensorType(torch.float32, (2,))
    write_project(program, compiled_by_aten(program), tmp_path / "distinct", "a wrong claim")
    made = load_class(program, tmp_path / "distinct")()
    x = torch.tensor([3.0, 1.0, 3.0])
    values, counts, number = made.distinct(x)
    assert torch.equal(values, torch.tensor([1.0, 3.0]))
    assert torch.equal(counts, torch.tensor([1, 2]))
    assert number == 2
    with pytest.raises(ValueError, match=r"region result '\w+': expected float32 \[2\], got float32 \[3\]"):
        made.distinct(torch.tensor([1.0, 2.0, 3.0]))
