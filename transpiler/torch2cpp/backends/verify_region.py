"""No compiler is trusted: every distinct region runs on samples and must match eager.

The object code that is checked is what the program links: the same sources, flags and compiler. One
process runs all regions; a crash is laid at the door of the region whose results are missing.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, final

import torch

from torch2cpp.backends.compare import Difference, compare, worst
from torch2cpp.backends.exported.export import held_weights
from torch2cpp.backends.own_rounding import as_near, in_double
from torch2cpp.backends.sample_file import SEED, ResultReader, SampleWriter
from torch2cpp.hostir.ops import TensorOp, Value
from torch2cpp.hostir.program import Region
from torch2cpp.hostir.random_ops import draws
from torch2cpp.hostir.types import BOOL, FLOAT, INT, Type
from torch2cpp.regions.image_borders import Images
from torch2cpp.regions.run_eager import leaves_memory, run_region
from torch2cpp.regions.samples import Sample, clone
from torch2cpp.regions.share import DistinctRegion
from torch2cpp.toolchain.targets.target import Target
from torch2cpp.toolchain.targets.toolchain import Toolchain, toolchain_of

#: A region on its samples takes milliseconds; this is for those that hang.
TIMEOUT = 300
#: Bytes that glibc's malloc fills memory with (mallopt(3), M_PERTURB).
PERTURBATIONS = ("85", "170")
#: An emulated processor is so many times slower.
EMULATED = 10


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
    #: Root mean square of each result's errors, on each sample.
    rounding: tuple[tuple[float, ...], ...] = ()


@final
@dataclass(frozen=True, slots=True)
class Ran:
    """One sample through the C++."""

    #: The error it raised, or nothing.
    raised: str
    #: Results, then the arguments as they are afterwards.
    values: list[Any]
    fallbacks: int


def verify(
    program: Path,
    regions: Sequence[DistinctRegion],
    samples: Mapping[str, Sequence[Sample]],
    weights: Mapping[str, torch.Tensor],
    folder: Path,
    as_eager: Collection[str] = (),
    toolchain: Toolchain | None = None,
    last: Collection[str] = (),
    images: Mapping[str, Images] | None = None,
) -> dict[str, Verdict]:
    """Runs the checker on the samples, on the emulated processor where it is for another target.

    The regions named in `as_eager` call eager's own kernels, so that what is garbage there is garbage in eager too.
    Those in `last` have no exact form to go to: own_rounding.py says what will do there. The results in `images` may
    lie otherwise than eager's.
    After a crash, the regions that did not run are missing from the result.
    """
    inputs = folder / "samples.bin"
    write_samples(inputs, regions, samples, weights)
    toolchain = toolchain or toolchain_of(Target())
    ran, crash = _run(program, inputs, regions, samples, toolchain)
    # Nothing seeds libtorch's generator through the C ABI; its own kernels are believed to draw what eager draws.
    drawn = {r.name for r in regions if r.name in as_eager and _draws(r.region)}
    free = {name: each.results for name, each in (images or {}).items()}
    verdicts = {
        r.name: _judge(
            r,
            samples[r.name],
            weights,
            ran[r.name],
            drawn=r.name in drawn,
            last=r.name in last,
            free=free.get(r.name, ()),
        )
        for r in regions
        if r.name in ran
    }
    wrong = [r for r in regions if r.name in as_eager and r.name in verdicts and verdicts[r.name].reason]
    if wrong:
        # Given made-up numbers that make no sense to them, kernels may hand out what memory held before.
        others = [_run(program, inputs, regions, samples, toolchain, perturb)[0] for perturb in PERTURBATIONS]
        for r in wrong:
            if all(r.name in other for other in others):
                moving = list(zip(*(other[r.name] for other in others), strict=True))
                verdicts[r.name] = _judge(r, samples[r.name], weights, ran[r.name], moving)
    if crash:
        name = next(r.name for r in regions if r.name not in ran)
        verdicts[name] = Verdict(None, crash, 0, 0)
    return verdicts


def _run(
    program: Path,
    inputs: Path,
    regions: Sequence[DistinctRegion],
    samples: Mapping[str, Sequence[Sample]],
    toolchain: Toolchain,
    perturb: str = "",
) -> tuple[dict[str, list[Ran]], str]:
    """What each region gave, up to the one that ended the program, and how it did that."""
    outputs = inputs.with_name("results.bin")
    outputs.unlink(missing_ok=True)
    variables = environment(toolchain) | ({"MALLOC_PERTURB_": perturb} if perturb else {})
    timeout = TIMEOUT if toolchain.target.native else TIMEOUT * EMULATED
    command = toolchain.command(program, inputs, outputs)
    try:
        done = subprocess.run(command, env=variables, capture_output=True, timeout=timeout, check=False)
        crash = f"it ended the program with status {done.returncode}"
    except subprocess.TimeoutExpired:
        crash = f"it ran for more than {timeout} s"
    reader = ResultReader(outputs.read_bytes() if outputs.exists() else b"")
    ran: dict[str, list[Ran]] = {}
    for region in regions:
        try:
            ran[region.name] = [_read(region.region, reader) for _ in samples[region.name]]
        except EOFError:
            return ran, crash
    return ran, ""


def _read(region: Region, reader: ResultReader) -> Ran:
    if reader.bool():
        values = [reader.value(_type(r)) for r in region.results]
        values += [reader.value(p.type) for p in region.params]
        return Ran("", values, reader.value(INT))
    return Ran(reader.text() or "an error", [], reader.value(INT))


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
            writer.tensors(list(held_weights(region.region, weights).values()))
            writer.int(len(samples[region.name]))
            for sample in samples[region.name]:
                for value, param in zip(sample, region.region.params, strict=True):
                    writer.value(value, param.type)


def environment(toolchain: Toolchain | None = None) -> dict[str, str]:
    """The checker's: sums are split by the number of threads, so the same number gives the same bits.

    One thread on an emulated processor: nothing is bit for bit there, and libtorch's BLAS for it may need a later
    processor for more.
    """
    native = toolchain is None or toolchain.target.native
    return {**os.environ, "OMP_NUM_THREADS": str(torch.get_num_threads()) if native else "1"}


def _judge(
    distinct: DistinctRegion,
    samples: Sequence[Sample],
    weights: Mapping[str, torch.Tensor],
    ran: Sequence[Ran],
    moving: Sequence[tuple[Ran, ...]] | None = None,
    drawn: bool = False,
    last: bool = False,
    free: Collection[int] = (),
) -> Verdict:
    """Compares with eager; `moving` are two further runs of each sample, over memory that held other bytes before.

    Of what is `drawn` at random, dtypes and sizes are compared. The `last` form of a region may differ where eager's
    own rounding is more than the tolerance. The `free` results may lie as they will.
    """
    region = distinct.region
    differences: list[Difference] = []
    rounding: list[tuple[float, ...]] = []
    for number, (sample, got) in enumerate(zip(samples, ran, strict=True)):
        want, args = _eager(region, sample, weights)
        first, second = moving[number] if moving is not None else (got, got)
        if got.raised:
            difference = Difference(float("inf"), f"raises {got.raised}")
        elif first.raised or second.raised:
            continue  # Whether it raises depends on memory that nobody wrote to.
        else:
            found, expected = known(got.values, [*want, *args], first.values, second.values)
            if any(map(leaves_memory, region.body)):
                other, other_args = _eager(region, sample, weights, fill=1)
                found, expected = known(found, expected, expected, [*other, *other_args])
            if drawn:
                found, expected = _without_numbers(found), _without_numbers(expected)
            difference = compare(found, expected)
            if last and difference.reason:
                double = in_double(region, sample, weights)
                if double is not None and as_near(found, expected, double):
                    difference = Difference(difference.error, "")
            if not difference.reason and not _as_contiguous(got.values, want, free):
                difference = Difference(difference.error, "a result is not contiguous, which eager's is")
            rounding.append(tuple(mean_error(f, e) for f, e in zip(found, expected[: len(region.results)])))
        if difference.reason:
            difference = Difference(difference.error, f"{difference.reason} for inputs {describe(sample)}")
        differences.append(difference)
    worst_one = worst(differences)
    fallbacks = sum(each.fallbacks for each in ran)
    return Verdict(worst_one.error if differences else None, worst_one.reason, len(samples), fallbacks, tuple(rounding))


def _as_contiguous(got: Sequence[Any], want: Sequence[Any], free: Collection[int]) -> bool:
    """Whether results are contiguous where eager's are: the program may view them as other sizes."""
    return all(
        g.is_contiguous() or not w.is_contiguous()
        for i, (g, w) in enumerate(zip(got, want))
        if i not in free and isinstance(g, torch.Tensor) and isinstance(w, torch.Tensor)
    )


def _draws(region: Region) -> bool:
    return any(isinstance(op, TensorOp) and draws(op) for op in region.body)


def _without_numbers(value: Any) -> Any:
    """The value with zeros for numbers."""
    if isinstance(value, torch.Tensor):
        return torch.zeros_like(value)
    if isinstance(value, list | tuple):
        return type(value)(_without_numbers(v) for v in value)
    return type(value)() if isinstance(value, bool | int | float) else value


def _eager(
    region: Region, sample: Sample, weights: Mapping[str, torch.Tensor], fill: int = 0
) -> tuple[tuple[Any, ...], Any]:
    """What the region gives for a sample, and its arguments afterwards."""
    args = clone(sample)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(SEED)
        return run_region(region, args, weights, fill=fill), args


def mean_error(got: Any, want: Any) -> float:
    """Root mean square of the differences of finite floats; 0 for anything else."""
    if not isinstance(want, torch.Tensor) or not want.is_floating_point() or got.shape != want.shape:
        return 0.0
    apart = got.double() - want.double()
    apart = apart[apart.isfinite()]
    return float(apart.square().mean().sqrt()) if apart.numel() else 0.0


def known(got: Any, want: Any, a: Any, b: Any) -> tuple[Any, Any]:
    """Both results without what depends on memory that nobody wrote to: there `a` and `b` differ."""
    if isinstance(want, torch.Tensor) and isinstance(got, torch.Tensor) and got.shape == want.shape:
        if a.shape != want.shape or b.shape != want.shape:
            return got, want
        unknown = (a != b) & ~((a != a) & (b != b))  # NaN is itself
        return got.masked_fill(unknown, 0), want.masked_fill(unknown, 0)
    if isinstance(want, list | tuple) and isinstance(got, list | tuple) and len(got) == len(want) == len(a) == len(b):
        pairs = [known(*each) for each in zip(got, want, a, b, strict=True)]
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
