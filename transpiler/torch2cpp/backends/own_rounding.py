"""Regions whose result hangs on rounding that eager itself is not sure of.

Where a region takes differences of large numbers, or solves nearly singular equations, eager's float32 result is
further from the true one than the tolerance, and only eager's very kernels come out at the same numbers. Programs
without libtorch have none of these. There a result will do that is as near to float64's as eager's is, up to a factor
of two. Of few numbers eager's distance may be small by chance: as far as float32 gets when each operator gives the
true result, rounded up or down at random, is taken for it where that is more (the CESTAC method: Vignes, Mathematics
and Computers in Simulation 35, 1993). Kernels round within as well, which the factor allows for.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, final

import torch

from torch2cpp.backends.compare import TOLERANCES
from torch2cpp.hostir.ops import TensorOp
from torch2cpp.hostir.program import Region
from torch2cpp.hostir.random_ops import draws
from torch2cpp.hostir.types import TensorType
from torch2cpp.regions.run_eager import run_region
from torch2cpp.regions.samples import clone

#: How many times the distance of float32 from float64 is allowed.
FACTOR = 2.0
#: How often a region is run with random rounding.
RUNS = 8


@final
@dataclass(frozen=True, slots=True)
class InDouble:
    """What a region gives, and its arguments afterwards: in float64, and in float64 rounded at random."""

    true: Sequence[Any]
    rounded: Sequence[Sequence[Any]]


def in_double(region: Region, sample: Any, weights: Mapping[str, torch.Tensor]) -> InDouble | None:
    """The region run in float64; None where it cannot be, or draws random numbers, which are others there."""
    if any(isinstance(op, TensorOp) and draws(op) for op in region.body):
        return None
    wide = {name: _double(weight) for name, weight in weights.items()}

    def run(after: Callable[[TensorOp, tuple[Any, ...]], None] | None) -> list[Any]:
        args = [_double(arg) for arg in clone(sample)]
        return [*run_region(region, args, wide, after=after), *args]

    generator = torch.Generator().manual_seed(0)
    try:
        return InDouble(run(None), [run(lambda op, results: _round(op, results, generator)) for _ in range(RUNS)])
    except (RuntimeError, TypeError, ValueError, IndexError):
        return None  # It mixes with numbers whose dtype it names.


def as_near(got: Any, want: Any, double: InDouble) -> bool:
    """Whether `got` is right, or as near to float64 as eager's `want` or rounding is; only float32 may differ."""
    return _near(got, want, double.true, double.rounded)


def _near(got: Any, want: Any, double: Any, rounded: Sequence[Any]) -> bool:
    if isinstance(want, list | tuple):
        if any(len(each) != len(want) for each in (got, double, *rounded)):
            return False
        return all(_near(g, w, d, r) for g, w, d, *r in zip(got, want, double, *rounded, strict=True))
    if not isinstance(want, torch.Tensor):
        return bool(got == want)
    if got.dtype != want.dtype or got.shape != want.shape:
        return False
    if want.dtype != torch.float32 or not isinstance(double, torch.Tensor) or double.dtype != torch.float64:
        return torch.equal(got, want)
    if double.shape != want.shape or not bool((got.isfinite() == want.isfinite()).all()):
        return False
    finite = want.isfinite() & double.isfinite()
    true = double[finite]
    error, own = (got[finite].double() - true).abs(), (want[finite].double() - true).abs()
    if not error.numel():
        return True
    rtol, atol = TOLERANCES[torch.float32]
    least = FACTOR * max([float(own.max()), *(_distance(each, double, finite) for each in rounded)])
    return bool((error <= (atol + rtol * true.abs()).clamp(min=least)).all())


def _distance(rounded: torch.Tensor, double: torch.Tensor, finite: torch.Tensor) -> float:
    """The largest difference of what is finite in both."""
    if rounded.shape != double.shape:
        return 0.0  # Rounding decides how many there are.
    apart = (rounded - double)[finite].abs()
    return float(apart.where(apart.isfinite(), 0.0).max())


def _round(op: TensorOp, results: Sequence[Any], generator: torch.Generator) -> None:
    """Rounds what is float32 in eager."""
    for value, result in zip(op.results, results, strict=False):
        if isinstance(value.type, TensorType) and value.type.dtype == torch.float32:
            round_at_random(result, generator)


def round_at_random(wide: torch.Tensor, generator: torch.Generator) -> None:
    """Rounds float64 numbers to float32 in place, up or down; those that float32 has stay."""
    near = wide.float()
    apart = wide - near.double()
    inexact = apart.isfinite() & (apart != 0)
    # Of a view of rounded numbers nothing is left to round; not every view may be written to.
    if bool(inexact.any()):
        other = torch.nextafter(near, torch.where(apart > 0, torch.inf, -torch.inf).to(near.dtype))
        coin = torch.rand(wide.shape, generator=generator) < 0.5
        wide.copy_(torch.where(coin, other, near).double().where(inexact, wide))


def _double(value: Any) -> Any:
    if isinstance(value, Sequence) and not isinstance(value, str):
        return type(value)(map(_double, value))  # type: ignore[call-arg]
    return value.double() if isinstance(value, torch.Tensor) and value.dtype == torch.float32 else value
