"""How long compiled regions take: the checkers of several backends, run in turns."""

from __future__ import annotations

import contextlib
import math
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

import torch

from torch2cpp.backends.verify_region import TIMEOUT, environment, write_samples
from torch2cpp.regions.samples import Sample
from torch2cpp.regions.share import DistinctRegion

#: Each program runs so often, in turns with the others: what disturbs one round does not decide.
ROUNDS = 3
#: For one region and sample in one round.
MILLISECONDS = 15


def time_regions(
    programs: Mapping[str, Path],
    regions: Sequence[DistinctRegion],
    samples: Mapping[str, Sequence[Sample]],
    weights: Mapping[str, torch.Tensor],
    folder: Path,
) -> dict[str, dict[str, float]]:
    """Region -> backend -> microseconds of a call: the best round's median, over all samples.

    A backend that ends with an error or raises for a sample has no time there.
    """
    inputs = folder / "timed_samples.bin"
    write_samples(inputs, regions, samples, weights)
    best: dict[str, list[float]] = {}
    for _ in range(ROUNDS):
        for name, program in programs.items():
            found = _run(program, inputs, folder)
            known = best.get(name, [math.inf] * len(found))
            # A crash leaves the list short: the regions after it have no time.
            best[name] = [min(a, b) for a, b in zip(known, found)]
    out: dict[str, dict[str, float]] = {region.name: {} for region in regions}
    for name, times in best.items():
        at = 0
        for region in regions:
            mine = times[at : at + len(samples[region.name])]
            at += len(samples[region.name])
            if mine and len(mine) == len(samples[region.name]) and all(map(math.isfinite, mine)):
                out[region.name][name] = sum(mine) / len(mine)
    return out


def _run(program: Path, inputs: Path, folder: Path) -> list[float]:
    times = folder / "times.txt"
    times.unlink(missing_ok=True)
    command = [str(p) for p in (program, inputs, folder / "timed_results.bin", times, MILLISECONDS)]
    with contextlib.suppress(subprocess.TimeoutExpired):
        subprocess.run(command, env=environment(), capture_output=True, timeout=TIMEOUT, check=False)
    return [float(line) for line in times.read_text().split()] if times.exists() else []
