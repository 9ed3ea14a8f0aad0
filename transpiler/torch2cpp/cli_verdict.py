"""What `torch2cpp check` says for people."""

from __future__ import annotations

from typing import Any

from rich.console import Console

from torch2cpp.backends.protocol import RegionReport
from torch2cpp.parity.verdict import Verdict


def rejections(report: RegionReport) -> str:
    """What was tried for a region before what was chosen, and why it was not believed; empty if nothing was.

    >>> report = RegionReport("step", (("aot", "fast", 4.0, "off by 4"), ("aot", "safe", 0.0, "chosen")), "aot", 5)
    >>> rejections(report)
    'step: aot (safe) instead of aot (fast), which is refused: off by 4'
    >>> tried = (("aot", "fast", None, "a sort"), ("in parts", "fast", 0.0, "chosen"),
    ...          ("aten", "fast", 0.0, "chosen for its part step_part1 (m.py:3)"))
    >>> rejections(RegionReport("step", tried, "aot", 5))
    'step: in parts, aten for step_part1 (m.py:3), instead of aot (fast), which is refused: a sort'
    """
    of_part = "chosen for its part "
    parts = [f"{b} for {why.removeprefix(of_part)}" for b, _, _, why in report.tried if why.startswith(of_part)]
    settings = next((safety for _, safety, _, why in report.tried if why == "chosen"), "")
    whole = f"{report.chosen} ({settings})" if settings else report.chosen
    chosen = f"in parts, {', '.join(parts)}," if parts else whole
    rejected = [f"{b} ({s}), which is refused: {why}" for b, s, _, why in report.tried if not why.startswith("chosen")]
    return f"{report.region}: {chosen} instead of {'; '.join(rejected)}" if rejected else ""


def print_verdict(verdict: Verdict, project: Any, console: Console) -> None:
    """What came of the comparison, in lines."""
    result = "[green]same as Python[/]" if verdict.ok else "[red]differs from Python[/]"
    console.print(f"{verdict.matched} of {verdict.inputs} inputs: {result}")
    for number, differences in verdict.mismatches:
        for text in differences[:5]:
            console.print(f"  input {number}: {text}", markup=False, highlight=False)
    console.print(f"branches taken: {verdict.branches_taken} of {verdict.branches}")
    for span, way in verdict.missed:
        console.print(f"  not verified: {span}, {way}", markup=False, highlight=False)
    console.print(f"regions: {verdict.regions}, distinct: {verdict.distinct_regions}")
    for report in project.transpiled.compiled.reports:
        text = rejections(report)
        if text:
            console.print(f"  {text}", markup=False, highlight=False)
    if verdict.error:
        console.print(verdict.error, markup=False, highlight=False)
    if verdict.decision_flips:
        console.print(f"decision flips: {verdict.decision_flips}")
    console.print(f"largest error: {verdict.max_abs_err:.3g} absolute, {verdict.max_rel_err:.3g} relative")
    console.print(f"transpiled in {verdict.seconds_transpile:.1f} s, built in {verdict.seconds_build:.1f} s")
