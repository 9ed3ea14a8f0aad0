"""No compiler is trusted: every distinct region runs on samples and must match eager.

The object code that is checked is what the program links: the same sources, flags and compiler. One
process runs all regions; a crash is laid at the door of the region whose results are missing.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, final

import torch

from torch2cpp.backends.compare import Difference, compare, worst
from torch2cpp.backends.sample_file import ResultReader, SampleWriter
from torch2cpp.hostir.ops import Value
from torch2cpp.hostir.program import Region
from torch2cpp.hostir.types import BOOL, FLOAT, INT, Type
from torch2cpp.regions.run_eager import leaves_memory, run_region
from torch2cpp.regions.samples import Sample, clone
from torch2cpp.regions.share import DistinctRegion

#: A region on its samples takes milliseconds; this is for those that hang.
TIMEOUT = 300


@final
@dataclass(frozen=True, slots=True)
class Verdict:
    """What the comparison of one region with eager gave."""

    #: Largest absolute error over all samples; None when nothing ran.
    error: float | None
    #: Why it does not match; empty when it does.
    reason: str
    #: Samples run, and those of them in which compiled code gave way to the `aten` form.
    samples: int
    fallbacks: int


def verify(
    program: Path,
    regions: Sequence[DistinctRegion],
    samples: Mapping[str, Sequence[Sample]],
    weights: Mapping[str, torch.Tensor],
    folder: Path,
) -> dict[str, Verdict]:
    """Runs the checker on the samples; by region name what came out.

    After a crash, the regions that did not run are missing from the result.
    """
    inputs, outputs = folder / "samples.bin", folder / "results.bin"
    write_samples(inputs, regions, samples, weights)
    outputs.unlink(missing_ok=True)
    try:
        done = subprocess.run(
            [program, inputs, outputs], env=environment(), capture_output=True, timeout=TIMEOUT, check=False
        )
        crash = f"it ended the program with status {done.returncode}"
    except subprocess.TimeoutExpired:
        crash = f"it ran for more than {TIMEOUT} s"
    reader = ResultReader(outputs.read_bytes() if outputs.exists() else b"")
    verdicts: dict[str, Verdict] = {}
    for region in regions:
        try:
            verdicts[region.name] = _judge(region, samples[region.name], weights, reader)
        except EOFError:
            verdicts[region.name] = Verdict(None, crash, 0, 0)
            break
    return verdicts


def write_samples(
    path: Path,
    regions: Sequence[DistinctRegion],
    samples: Mapping[str, Sequence[Sample]],
    weights: Mapping[str, torch.Tensor],
) -> None:
    """The regions' weights and samples, as the checker reads them."""
    with path.open("wb") as file:
        writer = SampleWriter(file)
        for region in regions:
            writer.tensors([weights[w.name].detach().contiguous() for w in region.slots])
            writer.int(len(samples[region.name]))
            for sample in samples[region.name]:
                for value, param in zip(sample, region.region.params, strict=True):
                    writer.value(value, param.type)


def environment() -> dict[str, str]:
    """The checker's: sums are split by the number of threads, so the same number gives the same bits."""
    return {**os.environ, "OMP_NUM_THREADS": str(torch.get_num_threads())}


def _judge(
    distinct: DistinctRegion, samples: Sequence[Sample], weights: Mapping[str, torch.Tensor], reader: ResultReader
) -> Verdict:
    region = distinct.region
    differences: list[Difference] = []
    fallbacks = 0
    for sample in samples:
        want, args = _eager(region, sample, weights)
        if reader.bool():
            got = [reader.value(_type(r)) for r in region.results]
            after = [reader.value(p.type) for p in region.params]
            found, expected = [*got, *after], [*want, *args]
            if any(map(leaves_memory, region.body)):
                other, other_args = _eager(region, sample, weights, fill=1)
                found, expected = _written(found, expected, [*other, *other_args])
            difference = compare(found, expected)
        else:
            difference = Difference(float("inf"), f"raises {reader.text()}")
        fallbacks += reader.value(INT)
        if difference.reason:
            difference = Difference(difference.error, f"{difference.reason} for inputs {describe(sample)}")
        differences.append(difference)
    worst_one = worst(differences)
    return Verdict(worst_one.error if samples else None, worst_one.reason, len(samples), fallbacks)


def _eager(
    region: Region, sample: Sample, weights: Mapping[str, torch.Tensor], fill: int = 0
) -> tuple[tuple[Any, ...], Any]:
    """What the region gives for a sample, and its arguments afterwards."""
    args = clone(sample)
    return run_region(region, args, weights, fill=fill), args


def _written(got: Any, want: Any, other: Any) -> tuple[Any, Any]:
    """Both results without what depends on memory that nobody wrote to: there `want` and `other` differ."""
    if isinstance(want, torch.Tensor) and isinstance(got, torch.Tensor) and got.shape == want.shape:
        unknown = (want != other) & ~((want != want) & (other != other))  # NaN is itself
        return got.masked_fill(unknown, 0), want.masked_fill(unknown, 0)
    if isinstance(want, list | tuple) and isinstance(got, list | tuple) and len(got) == len(want):
        pairs = [_written(*each) for each in zip(got, want, other, strict=True)]
        return type(got)(g for g, _ in pairs), type(want)(w for _, w in pairs)
    return got, want


def _type(result: Any) -> Type:
    if hasattr(result, "type"):
        found: Type = result.type
        return found
    assert not isinstance(result, Value)
    return BOOL if isinstance(result, bool) else INT if isinstance(result, int) else FLOAT


def describe(sample: Any) -> str:
    """A sample's sizes: `[3, 7], 2, ([1], [1])`."""
    if isinstance(sample, torch.Tensor):
        return str(list(sample.shape))
    if isinstance(sample, tuple | list):
        return ", ".join(f"({describe(s)})" if isinstance(s, tuple | list) else describe(s) for s in sample)
    return repr(sample)
