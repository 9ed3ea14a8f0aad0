"""Regions whose rounding a program makes too much of, such as a solver that is fed its own results.

A compiled region is believed within a tolerance, but what becomes of its last bits is the program's affair. So the
examples run once more on the reference interpreter with noise on the results of compiled regions, as large as the
errors that were measured. Where that moves a result of the program beyond the tolerance, or changes a decision, the
regions at fault go to the next backend, at last to eager's own kernels. (Stochastic arithmetic: Vignes, "A stochastic
arithmetic for reliable scientific computation", 1993.)
"""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from typing import Any

import torch

from torch2cpp.backends.protocol import CompiledRegions
from torch2cpp.backends.registry import REFERENCE
from torch2cpp.hostir.interpret import Interpreter
from torch2cpp.hostir.program import Program, Region
from torch2cpp.parity.compare import Difference
from torch2cpp.parity.run import Outcome, call, compare_outcomes

#: Examples that are run, and how often with other noise.
MOST_CALLS, ROUNDS = 16, 4


def growing(
    program: Program, calls: Sequence[tuple[str, Sequence[Any]]], stateful: bool, compiled: CompiledRegions
) -> dict[str, str]:
    """Distinct region -> why its rounding is too much; empty where the program bears that of all."""
    reports = {r.region: r for r in compiled.reports}
    errors = {
        name: reports[use.distinct].rounding
        for name, use in compiled.uses.items()
        if reports[use.distinct].chosen != REFERENCE and any(reports[use.distinct].rounding)
    }
    if not errors:
        return {}
    some = calls[:MOST_CALLS]
    want = _outcomes(program, some, stateful, {}, 0)
    together = _moved(program, some, stateful, errors, want)
    if together is None:
        return {}
    alone: dict[str, str] = {}
    for distinct in dict.fromkeys(compiled.uses[name].distinct for name in errors):
        own = {name: e for name, e in errors.items() if compiled.uses[name].distinct == distinct}
        moved = _moved(program, some, stateful, own, want)
        if moved is not None:
            alone[distinct] = moved
    return alone or dict.fromkeys((compiled.uses[name].distinct for name in errors), together)


def _moved(
    program: Program,
    calls: Sequence[tuple[str, Sequence[Any]]],
    stateful: bool,
    errors: Mapping[str, Sequence[float]],
    want: Sequence[Outcome],
) -> str | None:
    """What noise of this size changes, in words; None for nothing beyond the tolerance."""
    for seed in range(1, ROUNDS + 1):
        for number, (a, b) in enumerate(zip(want, _outcomes(program, calls, stateful, errors, seed), strict=True)):
            found = compare_outcomes(a, b, exact=False).differences
            if found:
                return f"the program makes too much of its rounding: input {number}, {_short(found)}"
    return None


def _short(differences: Sequence[Difference]) -> str:
    return str(differences[0])[:200]


def _outcomes(
    program: Program,
    calls: Sequence[tuple[str, Sequence[Any]]],
    stateful: bool,
    errors: Mapping[str, Sequence[float]],
    seed: int,
) -> list[Outcome]:
    """The calls on the interpreter, with noise on the results of the regions in `errors`."""
    noise = torch.Generator().manual_seed(seed)

    def disturbed(region: Region, values: tuple[Any, ...]) -> tuple[Any, ...]:
        sizes = errors.get(region.name)
        return values if sizes is None else tuple(_add(v, e, noise) for v, e in zip(values, sizes, strict=True))

    interpreter = Interpreter(program, on_results=disturbed)
    out = []
    with torch.random.fork_rng(devices=[]):
        for entry, args in calls:
            if not stateful:
                interpreter.reset()
            # The same numbers for programs that draw some.
            torch.manual_seed(0)
            out.append(call(lambda *a, e=entry: interpreter.run(e, a), copy.deepcopy(args)))
    return out


def _add(value: Any, size: float, noise: torch.Generator) -> Any:
    if not isinstance(value, torch.Tensor) or not value.is_floating_point() or size == 0.0:
        return value
    unit = torch.randn(value.shape, generator=noise, dtype=torch.float64)
    return value + (unit * size).to(value.dtype)
