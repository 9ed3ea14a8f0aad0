"""Each distinct region by the fastest backend that is right, measured on what the examples give it.

Every candidate compiles and checks all regions first, as if it had been asked for alone. Then the
candidates' programs run in turns, and a last search takes, region by region, the fastest one; what is
chosen there is checked once more, in the very objects that the program links.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import torch

from torch2cpp.backends.protocol import CompiledRegions, RegionReport
from torch2cpp.backends.region_options import RegionOptions
from torch2cpp.backends.registry import REFERENCE, installed
from torch2cpp.backends.search import Attempt, Search
from torch2cpp.backends.time_regions import time_regions
from torch2cpp.regions.samples import Sample
from torch2cpp.regions.share import Sharing

#: Inputs of a region that are measured; the recorded ones come first.
MEASURED = 2


def compile_fastest(sharing: Sharing, weights: Mapping[str, torch.Tensor], options: RegionOptions) -> CompiledRegions:
    """All regions, each by the fastest of the installed backends that give eager's results."""
    order = options.candidates or installed()
    names = [REFERENCE, *(name for name in order if name != REFERENCE)]
    searches: dict[str, Search] = {}
    samples: Mapping[str, Sequence[Sample]] = {}
    for name in names:
        mine = replace(options, backend=name, work=options.work / name, samples=samples, every_twin=True, grows=None)
        searches[name] = Search(sharing, weights, mine, (name,))
        searches[name].run()
        samples = {d.name: searches[name].samples[d.name] for d in sharing.distinct}
    right = {d.name: [name for name in names if searches[name].chose(d, name)] for d in sharing.distinct}
    times = _measure(sharing, weights, options.work, searches, samples, right)
    orders = {d.name: _fastest_first(right[d.name], times.get(d.name, {})) for d in sharing.distinct}
    last = replace(options, work=options.work / "chosen", samples=samples)
    compiled = Search(sharing, weights, last, (REFERENCE,), orders).run()
    reports = tuple(_with_measured(r, searches, times.get(r.region, {})) for r in compiled.reports)
    return replace(compiled, reports=reports)


def _measure(
    sharing: Sharing,
    weights: Mapping[str, torch.Tensor],
    work: Path,
    searches: Mapping[str, Search],
    samples: Mapping[str, Sequence[Sample]],
    right: Mapping[str, Sequence[str]],
) -> dict[str, dict[str, float]]:
    """Region -> backend -> microseconds, of those that are right."""
    if not any(len(names) > 1 for names in right.values()):
        return {}
    programs = {name: search.checker() for name, search in searches.items()}
    # A region with one way to go needs no measuring; it stays in the list, for the programs run all.
    few = {d.name: samples[d.name][: MEASURED if len(right[d.name]) > 1 else 0] for d in sharing.distinct}
    times = time_regions(programs, sharing.distinct, few, weights, work)
    return {region: {b: t for b, t in found.items() if b in right[region]} for region, found in times.items()}


def _fastest_first(right: Sequence[str], times: Mapping[str, float]) -> list[str]:
    """Backends from the fastest on, up to the reference, which needs no one behind it."""
    ordered = sorted(right, key=lambda name: times.get(name, float("inf")))
    if not times:
        return [REFERENCE]
    return ordered[: ordered.index(REFERENCE) + 1] if REFERENCE in ordered else ordered


def _with_measured(report: RegionReport, searches: Mapping[str, Search], times: Mapping[str, float]) -> RegionReport:
    """The report with what kept the other candidates from being measured, and all times."""
    refused: list[Attempt] = [
        attempt
        for name, search in searches.items()
        if name not in times and name != REFERENCE
        for attempt in search.tried[report.region]
        if attempt[0] == name and attempt[3] != "chosen"
    ]
    return replace(report, tried=(*refused, *report.tried), microseconds=dict(times))
