"""Regions whose result hangs on rounding that eager itself is not sure of.

Where a region takes differences of large numbers, or solves nearly singular equations, eager's float32 result is
further from the true one than the tolerance, and only eager's very kernels come out at the same numbers. Programs
without libtorch have none of these. There a result will do that is as near to float64's as eager's is, up to a factor
of two.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import torch

from torch2cpp.backends.compare import TOLERANCES
from torch2cpp.hostir.program import Region
from torch2cpp.regions.run_eager import run_region
from torch2cpp.regions.samples import clone

#: How many times eager's own distance from float64 is allowed.
FACTOR = 2.0


def in_double(region: Region, sample: Any, weights: Mapping[str, torch.Tensor]) -> list[Any] | None:
    """What the region gives, and its arguments afterwards, in float64; None where it cannot be run so."""
    args = [_double(arg) for arg in clone(sample)]
    try:
        results = run_region(region, args, {name: _double(weight) for name, weight in weights.items()})
    except (RuntimeError, TypeError, ValueError, IndexError):
        return None  # It mixes with numbers whose dtype it names.
    return [*results, *args]


def as_near(got: Any, want: Any, double: Any) -> bool:
    """Whether `got` is right, or as near to `double` as eager's `want` is; what is not float32 must be equal."""
    if isinstance(want, list | tuple):
        return len(got) == len(want) == len(double) and all(map(as_near, got, want, double))
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
    return bool((error <= torch.maximum(atol + rtol * true.abs(), FACTOR * own.max())).all())


def _double(value: Any) -> Any:
    if isinstance(value, Sequence) and not isinstance(value, str):
        return type(value)(map(_double, value))  # type: ignore[call-arg]
    return value.double() if isinstance(value, torch.Tensor) and value.dtype == torch.float32 else value
