"""Sample inputs for a region, at several sizes.

What is legal is decided by running the region eagerly: a sample where it raises is discarded. Real
inputs, recorded while the reference interpreter ran the user's examples, come first; further
samples stretch and shrink them, or random ones, along the dimensions that vary.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, final

import torch

from torch2cpp.hostir.program import Region
from torch2cpp.hostir.types import ListType, ScalarType, TensorType, TupleType, Type
from torch2cpp.regions.isolated import run_isolated
from torch2cpp.regions.run_eager import run_region

#: One varying dimension: path to a tensor type inside the parameters, and the dimension.
Place = tuple[tuple[int, ...], int]
Sample = tuple[Any, ...]
#: More recorded inputs than this tell nothing new.
MAX_RECORDED = 4
#: Elements of a made-up input; above that only what the examples have. A batch of large images costs minutes on an
#: emulated processor and tells no more than a small one.
LARGE = 1 << 20
#: Pairs of joins tried before all varying dimensions are taken as equal.
MAX_TRIES = 400


@final
@dataclass(frozen=True, slots=True)
class Ints:
    """Which integers are made up: from 0 on, and whether those of a row begin there and rise."""

    below: int
    rising: bool = False


@final
@dataclass(frozen=True, slots=True)
class Sizes:
    """Which varying dimensions go together, and a size for each group."""

    #: Group of each varying dimension.
    group: Mapping[Place, int]
    base: tuple[int, ...]

    def with_size(self, group: int, size: int) -> tuple[int, ...]:
        """The base sizes with one replaced."""
        return tuple(size if g == group else n for g, n in enumerate(self.base))


def make_samples(
    region: Region,
    weights: Mapping[str, torch.Tensor],
    recorded: Sequence[Sample] = (),
    limit: int = 10,
    ordered: bool = False,
) -> list[Sample]:
    """At most `limit` inputs that the region runs on, the most telling first; empty when none was found.

    Values are made up in a child process: where one ends it, the recorded inputs have to do. With `ordered`, for code
    that does not call eager's own kernels, none are made up of which eager sorts equal numbers, as far as others do.
    """
    made: list[Sample] | None = run_isolated(lambda: _make(region, weights, recorded, limit, ordered))
    if ordered and not made:
        return make_samples(region, weights, recorded, limit)
    return [clone(s) for s in _spread(recorded)] if made is None else made


def _make(
    region: Region, weights: Mapping[str, torch.Tensor], recorded: Sequence[Sample], limit: int, ordered: bool
) -> list[Sample]:
    def legal(sample: Sample) -> bool:
        return run_depth(region, sample, weights, ordered) is None

    real = [s for s in _spread(recorded) if run_depth(region, s, weights) is None]
    sizes = group_recorded(region, real) if real else find_sizes(region, weights)
    out: list[Sample] = [clone(s) for s in real]
    most = max([LARGE, *map(_elements, real)])
    for i, target in enumerate(_variations(sizes)):
        if len(out) >= limit:
            break
        for values in _value_styles(region, sizes, target, real, seed=i):
            if _elements(values) > most:
                break
            if legal(values):
                out.append(values)
                break
    return out + [z for z in _zeros(out) if legal(z)]


def _zeros(samples: Sequence[Sample]) -> list[Sample]:
    """The smallest sample that has floats with zeros for them, as padding is: divisions by nothing show here."""
    counts = [(sum(x.numel() for x in _floats(sample)), i) for i, sample in enumerate(samples)]
    _, smallest = min((c for c in counts if c[0] > 0), default=(0, None))
    return [] if smallest is None else [_without_floats(samples[smallest])]


def _elements(value: Any) -> int:
    if isinstance(value, torch.Tensor):
        return value.numel()
    return sum(map(_elements, value)) if isinstance(value, tuple | list) else 0


def _floats(value: Any) -> list[torch.Tensor]:
    if isinstance(value, torch.Tensor):
        return [value] if value.is_floating_point() else []
    return [x for v in value for x in _floats(v)] if isinstance(value, tuple | list) else []


def _without_floats(value: Any) -> Any:
    if isinstance(value, tuple | list):
        return type(value)(map(_without_floats, value))
    value = clone(value)
    return value.zero_() if isinstance(value, torch.Tensor) and value.is_floating_point() else value


def run_depth(region: Region, sample: Sample, weights: Mapping[str, torch.Tensor], ordered: bool = False) -> int | None:
    """How many operations ran before one raised; None when all did. `ordered` as for `run_region`."""
    done = -1

    def count(_: object) -> None:
        nonlocal done
        done += 1

    try:
        run_region(region, clone(sample), weights, before=count, ordered=ordered)
    except Exception:  # whatever eager raises makes the sample illegal
        return done
    return None


def clone(value: Any) -> Any:
    """A copy that shares no storage, strides kept where the tensor is dense."""
    if isinstance(value, torch.Tensor):
        return value.detach().clone(memory_format=torch.preserve_format)
    if isinstance(value, tuple):
        return tuple(map(clone, value))
    return list(map(clone, value)) if isinstance(value, list) else value


def _spread(recorded: Sequence[Sample]) -> list[Sample]:
    """A few of the recorded samples, unlike in their sizes first."""
    by_shape: dict[str, list[Sample]] = {}
    for sample in recorded:
        by_shape.setdefault(str([_shape(v) for v in sample]), []).append(sample)
    rounds = itertools.zip_longest(*by_shape.values())
    return [s for r in rounds for s in r if s is not None][:MAX_RECORDED]


def _shape(value: Any) -> Any:
    if isinstance(value, torch.Tensor):
        return tuple(value.shape)
    return [_shape(v) for v in value] if isinstance(value, tuple | list) else value


def varying(region: Region) -> list[Place]:
    """The dimensions that vary, in order."""

    def walk(t: Type, path: tuple[int, ...]) -> Iterator[Place]:
        match t:
            case TensorType():
                yield from ((path, d) for d, size in enumerate(t.dims) if size is None)
            case ListType():
                yield from walk(t.elem, (*path, 0))
            case TupleType():
                for i, elem in enumerate(t.elems):
                    yield from walk(elem, (*path, i))
            case _:
                return

    return [place for i, p in enumerate(region.params) for place in walk(p.type, (i,))]


def _at(sample: Any, path: tuple[int, ...]) -> Any:
    for i in path:
        if not (isinstance(sample, tuple | list) and i < len(sample)):
            return None
        sample = sample[i]
    return sample


def group_recorded(region: Region, real: Sequence[Sample]) -> Sizes:
    """Dimensions that were equal in every recorded sample go together."""
    groups: dict[tuple[int, ...], int] = {}
    group: dict[Place, int] = {}
    for place in varying(region):
        path, dim = place
        seen = tuple(-1 if (t := _at(s, path)) is None else int(t.shape[dim]) for s in real)
        group[place] = groups.setdefault(seen, len(groups))
    # The sample with most sizes above 1 says most about the others.
    general = max(range(len(real)), key=lambda i: sum(seen[i] > 1 for seen in groups))
    return Sizes(group, tuple(max(seen[general], 0) for seen in groups))


def find_sizes(region: Region, weights: Mapping[str, torch.Tensor]) -> Sizes:
    """Finds which dimensions must be equal by trying: starts from all different, joins the pair that helps most.

    When nothing helps, all are equal.
    """
    places = varying(region)
    parent = list(range(len(places)))

    def sizes(labels: Sequence[int]) -> Sizes:
        order = {label: n for n, label in enumerate(dict.fromkeys(labels))}
        return Sizes(dict(zip(places, (order[x] for x in labels))), tuple(5 + 2 * n for n in range(len(order))))

    def depth(labels: Sequence[int]) -> float:
        s = sizes(labels)
        best: float = -1.0
        for sample in _value_styles(region, s, s.base, (), seed=0):
            reached = run_depth(region, sample, weights)
            if reached is None:
                return math.inf
            best = max(best, reached)
        return best

    reached = depth(parent)
    while reached != math.inf and len(set(parent)) > 1:
        best, labels = max(((depth(x), x) for x in _joined(parent)), key=lambda option: option[0])
        if best <= reached:
            # One operation may need two pairs at once, as `x.masked_fill(mask)` does.
            pairs = itertools.islice((y for x in _joined(parent) for y in _joined(x)), MAX_TRIES)
            best, labels = max(((depth(x), x) for x in pairs), key=lambda option: option[0], default=(-1, parent))
        if best <= reached:
            return sizes([0] * len(places))
        reached, parent = best, labels
    return sizes(parent)


def _joined(labels: Sequence[int]) -> Iterator[list[int]]:
    """Every way to make two groups one."""
    for a, b in itertools.combinations(sorted(set(labels)), 2):
        yield [a if x == b else x for x in labels]


def _variations(sizes: Sizes) -> Iterator[tuple[int, ...]]:
    """Assignments of sizes to try, each once: the base, all larger, each group at 1, 0, more and much more."""
    groups = range(len(sizes.base))
    tries = [
        sizes.base,
        tuple(n + 2 for n in sizes.base),
        *(sizes.with_size(g, size) for size in (1, 0) for g in groups),
        *(sizes.with_size(g, sizes.base[g] + 3) for g in groups),
        tuple(1 for _ in groups),
        *(sizes.with_size(g, 4 * sizes.base[g] + 17) for g in groups),
    ]
    yield from dict.fromkeys(tries)


def _value_styles(
    region: Region, sizes: Sizes, target: tuple[int, ...], real: Sequence[Sample], seed: int
) -> Iterator[Sample]:
    """Inputs of the wanted sizes: made from a real one where there is one, then random with ever smaller ints.

    Those rise along the last dimension in every second one: positions, such as where bags begin, often have to.
    """
    generator = torch.Generator().manual_seed(seed)
    # At the real ones' own sizes, random values tell more than the same values again.
    if real and target != sizes.base:
        source = real[seed % len(real)]
        yield tuple(_resize(v, p.type, (i,), sizes, target) for i, (v, p) in enumerate(zip(source, region.params)))
    for ints in (Ints(8), Ints(8, rising=True), Ints(2), Ints(2, rising=True), Ints(1)):

        def make(t: Type, path: tuple[int, ...], ints: Ints = ints) -> Any:
            return _random(t, path, sizes, target, ints, generator)

        yield tuple(make(p.type, (i,)) for i, p in enumerate(region.params))


def _resize(value: Any, t: Type, path: tuple[int, ...], sizes: Sizes, target: tuple[int, ...]) -> Any:
    """A real value repeated or cut along its varying dimensions."""
    match t:
        case TensorType():
            for dim in range(len(t.dims)):
                if (path, dim) not in sizes.group:
                    continue
                want = target[sizes.group[path, dim]]
                have = value.shape[dim]
                if want != have:
                    if have == 0:
                        shape = [want if d == dim else n for d, n in enumerate(value.shape)]
                        value = torch.zeros(shape, dtype=value.dtype)
                    else:
                        value = value.index_select(dim, torch.arange(want) % have)
            return clone(value)
        case ListType():
            return [_resize(v, t.elem, (*path, 0), sizes, target) for v in value]
        case TupleType():
            return tuple(_resize(v, e, (*path, i), sizes, target) for i, (v, e) in enumerate(zip(value, t.elems)))
        case _:
            return value


def _random(
    t: Type, path: tuple[int, ...], sizes: Sizes, target: tuple[int, ...], ints: Ints, generator: torch.Generator
) -> Any:
    def sub(elem: Type, i: int) -> Any:
        return _random(elem, (*path, i), sizes, target, ints, generator)

    match t:
        case TensorType():
            shape = [n if n is not None else target[sizes.group[path, d]] for d, n in enumerate(t.dims)]
            return _random_tensor(t.dtype, shape, ints, generator)
        case ListType():
            return [sub(t.elem, 0) for _ in range(3)]
        case TupleType():
            return tuple(sub(e, i) for i, e in enumerate(t.elems))
        case ScalarType("bool"):
            return bool(torch.randint(0, 2, (), generator=generator))
        case ScalarType("int"):
            return int(torch.randint(0, ints.below, (), generator=generator))
        case ScalarType("float"):
            return float(torch.rand((), generator=generator))
        case _:
            return None


def _random_tensor(dtype: torch.dtype, shape: Sequence[int], ints: Ints, generator: torch.Generator) -> torch.Tensor:
    if dtype is torch.bool:
        return torch.rand(shape, generator=generator) < 0.5
    if dtype.is_floating_point or dtype.is_complex:
        kind = torch.complex64 if dtype.is_complex else torch.float32
        return torch.randn(shape, dtype=kind, generator=generator).to(dtype)
    values = torch.randint(0, ints.below, shape, generator=generator)
    if ints.rising and shape:
        values = values.sort(-1).values
        values = values - values[..., :1]
    return values.to(dtype)
