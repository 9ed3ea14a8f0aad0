"""What a region leaves unwritten in a tensor is no result to compare."""

from __future__ import annotations

import torch

from torch2cpp.backends.compare import compare
from torch2cpp.backends.verify_region import _eager, known
from torch2cpp.binding.entry import bind
from torch2cpp.passes.order import run_passes


def partly(x: torch.Tensor) -> torch.Tensor:
    y = torch.empty_like(x)
    outside = x > 1
    y[outside] = x[outside] / 0.0 - x[outside] / 0.0
    y[0] = x[0]
    return y


def test_only_what_was_written_is_compared() -> None:
    x = torch.tensor([0.5, 2.0, 0.25, -1.0])
    program = run_passes(bind(partly, [(x,), (x[:2],)], entries=["partly"]))
    (region,) = program.regions.values()
    want, args = _eager(region, (x,), program.weights)
    other, other_args = _eager(region, (x,), program.weights, fill=1)

    def verdict(values: list[float]) -> str:
        return compare(*known([torch.tensor(values), x], [*want, *args], [*want, *args], [*other, *other_args])).reason

    nan = float("nan")
    assert verdict([0.5, nan, 9e30, nan]) == ""
    assert "1 of 4 elements" in verdict([0.75, nan, 0.0, 0.0])
    assert verdict([0.5, 2.0, 0.0, 0.0]) != ""
