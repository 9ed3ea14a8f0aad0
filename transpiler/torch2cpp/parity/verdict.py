"""The verdict of a parity check, and its JSON line."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any, final

from torch2cpp.parity.coverage import Coverage
from torch2cpp.parity.run import Outcome, compare_outcomes
from torch2cpp.spans import Span

#: Kinds of difference that show another way taken, not another rounding.
_DECISIONS = frozenset({"decision", "nesting", "shape", "type", "exception"})


@final
@dataclass(slots=True)
class Verdict:
    """What `torch2cpp check` found; `as_json` gives the documented keys."""

    inputs: int = 0
    matched: int = 0
    branches: int = 0
    branches_taken: int = 0
    regions: int = 0
    distinct_regions: int = 0
    max_abs_err: float = 0.0
    max_rel_err: float = 0.0
    decision_flips: int = 0
    seconds_transpile: float = 0.0
    seconds_build: float = 0.0
    error: str | None = None
    #: (input number, differences)
    mismatches: list[tuple[int, list[str]]] = field(default_factory=list)
    missed: list[tuple[Span, str]] = field(default_factory=list)

    @property
    def ok(self) -> bool:
        """Whether every input matched."""
        return self.error is None and self.inputs > 0 and self.matched == self.inputs

    def as_json(self) -> str:
        """One line."""
        keys = ("inputs", "matched", "branches", "branches_taken", "regions", "distinct_regions", "max_abs_err",
                "max_rel_err", "decision_flips", "seconds_transpile", "seconds_build", "error")  # fmt: skip
        out: dict[str, Any] = {"ok": self.ok} | {key: getattr(self, key) for key in keys}
        for key in ("seconds_transpile", "seconds_build"):
            out[key] = round(out[key], 2)
        return json.dumps(out)


def judge(verdict: Verdict, want: list[Outcome], got: list[Outcome], exact: bool) -> None:
    """Compares all outcomes and puts what was found into the verdict."""
    verdict.inputs = len(want)
    verdict.matched = 0
    for i, (x, y) in enumerate(zip(want, got)):
        found = compare_outcomes(x, y, exact)
        verdict.max_abs_err = max(verdict.max_abs_err, found.max_abs_err)
        verdict.max_rel_err = max(verdict.max_rel_err, found.max_rel_err)
        if found.equal:
            verdict.matched += 1
            continue
        verdict.mismatches.append((i, [str(d) for d in found.differences]))
        if not exact and any(d.what in _DECISIONS for d in found.differences):
            verdict.decision_flips += 1


def cover(verdict: Verdict, coverage: Coverage) -> None:
    """Puts the branch coverage into the verdict."""
    verdict.branches, verdict.branches_taken = len(coverage.ways), len(coverage.taken)
    verdict.missed = list(coverage.missed)
