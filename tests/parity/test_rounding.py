"""Noise of a region's own error shows whether the program bears its rounding."""

from __future__ import annotations

from typing import Any

import torch

from through_interpreter import formed
from torch2cpp.backends.protocol import CompiledRegions, RegionReport, RegionUse
from torch2cpp.binding.entry import bind
from torch2cpp.hostir.program import Program
from torch2cpp.parity.rounding import growing

ERROR = 1e-7


def compiled(program: Program, backend: str = "aotinductor", error: float = ERROR) -> CompiledRegions:
    """As if every region were compiled by a backend that errs by so much."""
    reports = tuple(
        RegionReport(name, ((backend, "fast", error, "chosen"),), backend, 4, rounding=(error,) * len(region.results))
        for name, region in program.regions.items()
    )
    uses = {name: RegionUse("C", "c.h", (), name) for name in program.regions}
    return CompiledRegions(uses, {}, (), frozenset(), reports, ())


def made(function: Any, inputs: list[Any]) -> Program:
    return formed(bind(function, inputs, entries=[function.__name__]))


def logistic(x: torch.Tensor, n: int) -> torch.Tensor:
    """Doubles an error in each iteration."""
    for _ in range(n):
        x = 3.9 * x * (1 - x)
        if x.sum() < 0:
            break
    return x


def averaged(x: torch.Tensor, n: int) -> torch.Tensor:
    """Halves an error in each iteration."""
    for _ in range(n):
        x = 0.5 * x + 0.5
        if x.sum() < 0:
            break
    return x


def near(x: torch.Tensor) -> int:
    """Decides on what rounding decides."""
    score = (x * 3.0).tanh().mean().item()
    if score > 0.5:
        return 1
    return 0


def calls(function: Any, inputs: list[Any]) -> list[tuple[str, Any]]:
    return [(function.__name__, args) for args in inputs]


def test_a_chaotic_recurrence_is_left_to_eager() -> None:
    inputs = [(torch.tensor([0.3, 0.6]), 3), (torch.tensor([0.2, 0.9]), 60)]
    program = made(logistic, inputs)
    found = growing(program, calls(logistic, inputs), False, compiled(program))
    assert found
    assert all("input 1, result: value" in why for why in found.values())
    # Few iterations do it no harm.
    assert growing(program, calls(logistic, inputs[:1]), False, compiled(program)) == {}


def test_a_program_that_forgets_its_errors_keeps_its_compiler() -> None:
    inputs = [(torch.tensor([0.3, 0.6]), 3), (torch.tensor([0.2, 0.9]), 60)]
    program = made(averaged, inputs)
    assert growing(program, calls(averaged, inputs), False, compiled(program)) == {}


def test_decisions_within_rounding_count() -> None:
    inputs = [(torch.full((4,), 0.18310204811135163),), (torch.ones(4),), (-torch.ones(4),)]
    program = made(near, inputs)
    assert growing(program, calls(near, inputs), False, compiled(program, error=1e-6))
    assert growing(program, calls(near, inputs[1:]), False, compiled(program, error=1e-6)) == {}


def test_eagers_own_kernels_have_no_error() -> None:
    inputs = [(torch.tensor([0.2, 0.9]), 60)]
    program = made(logistic, inputs)
    assert growing(program, calls(logistic, inputs), False, compiled(program, "aten")) == {}
    assert growing(program, calls(logistic, inputs), False, compiled(program, error=0.0)) == {}
