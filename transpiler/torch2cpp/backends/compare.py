"""Results of compiled code against eager's."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, final

import torch

#: dtype -> (rtol, atol); other dtypes must be equal. `atol` is for numbers up to 1, and grows with the largest number
#: of a result: a sum that comes out near 0 carries the rounding of its summands. Whether the program bears that is
#: another check (parity/rounding.py), and its own results are compared element by element.
TOLERANCES = {
    torch.float64: (1e-6, 1e-8),
    torch.float32: (1e-4, 1e-5),
    torch.float16: (1e-2, 1e-3),
    torch.bfloat16: (2e-2, 1e-2),
    torch.complex64: (1e-4, 1e-5),
    torch.complex128: (1e-6, 1e-8),
}


@final
@dataclass(frozen=True, slots=True)
class Difference:
    """How far apart two results are."""

    #: Largest absolute difference; infinite where one is NaN or infinite and the other is not.
    error: float
    #: Why they do not match; empty when they do.
    reason: str


def compare(got: Any, want: Any) -> Difference:
    """Compares two results of the same structure: tensors, scalars, lists and tuples of them."""
    if isinstance(want, torch.Tensor):
        return _tensors(got, want)
    if isinstance(want, list | tuple):
        if len(got) != len(want):
            return Difference(float("inf"), f"{len(got)} items instead of {len(want)}")
        return worst([compare(g, w) for g, w in zip(got, want)])
    if isinstance(want, float):
        return _tensors(torch.tensor(got, dtype=torch.float64), torch.tensor(want, dtype=torch.float64))
    return Difference(0.0, "") if got == want else Difference(float("inf"), f"{got!r} instead of {want!r}")


def worst(differences: list[Difference]) -> Difference:
    """The largest error, with the first reason."""
    reason = next((d.reason for d in differences if d.reason), "")
    return Difference(max((d.error for d in differences), default=0.0), reason)


def _tensors(got: torch.Tensor, want: torch.Tensor) -> Difference:
    if got.dtype != want.dtype:
        return Difference(float("inf"), f"dtype {got.dtype} instead of {want.dtype}")
    if got.shape != want.shape:
        return Difference(float("inf"), f"sizes {tuple(got.shape)} instead of {tuple(want.shape)}")
    if want.numel() == 0:
        return Difference(0.0, "")
    if want.dtype not in TOLERANCES:
        unequal = int((got != want).sum())
        return Difference(float(unequal > 0), f"{unequal} of {want.numel()} elements differ" if unequal else "")
    wide = torch.complex128 if want.dtype.is_complex else torch.float64
    g, w = got.to(wide), want.to(wide)
    # Equal infinities and NaNs in the same places agree.
    agree = (g == w) | (g.isnan() & w.isnan())
    error = torch.where(agree, 0.0, (g - w).abs()).nan_to_num(float("inf"), float("inf"), float("inf"))
    rtol, atol = TOLERANCES[want.dtype]
    finite = w.abs()[w.isfinite()]
    scale = max(1.0, float(finite.max())) if finite.numel() else 1.0
    far = ~(agree | (w.isfinite() & (error <= atol * scale + rtol * w.abs())))
    largest = float(error.max())
    if not bool(far.any()):
        return Difference(largest, "")
    return Difference(largest, f"off by up to {largest:.3g} in {int(far.sum())} of {want.numel()} elements")
