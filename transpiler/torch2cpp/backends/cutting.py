"""Which regions of a program are cut into parts, and what the parts are."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any, final

import torch

from torch2cpp.backends.composite import Composite
from torch2cpp.hostir.ops import Value
from torch2cpp.regions.run_eager import run_region
from torch2cpp.regions.samples import Sample, clone, make_samples
from torch2cpp.regions.share import RESERVED_NAMES, DistinctRegion, identifier, structural_key
from torch2cpp.regions.split import Part, split


@final
class Cutting:
    """The regions to compile: those of the program, where some were replaced by their parts."""

    def __init__(
        self, distinct: Sequence[DistinctRegion], weights: Mapping[str, torch.Tensor], ordered: bool = False
    ) -> None:
        """`ordered` as for `make_samples`."""
        self._weights = weights
        self._ordered = ordered
        self._whole: dict[str, DistinctRegion] = {d.key: d for d in distinct}
        self._composites: dict[str, Composite] = {}
        self._taken = {*RESERVED_NAMES, *(d.name.replace("_", "") for d in distinct)}

    @property
    def whole(self) -> list[DistinctRegion]:
        """The regions that backends compile: those that are not cut."""
        return [d for d in self._whole.values() if d.name not in self._composites]

    @property
    def composites(self) -> list[Composite]:
        """The regions in parts."""
        return list(self._composites.values())

    @property
    def everything(self) -> list[DistinctRegion]:
        """Both, each once."""
        return list(self._whole.values())

    def is_cut(self, d: DistinctRegion) -> bool:
        """Whether the region runs in parts."""
        return d.name in self._composites

    def undo(self, d: DistinctRegion) -> None:
        """Leaves the region whole; its parts stay among the regions, for others may share them."""
        del self._composites[d.name]

    def leaves(self, d: DistinctRegion) -> Iterator[DistinctRegion]:
        """The regions that are compiled for `d`: itself, or its parts and theirs."""
        if d.name not in self._composites:
            yield d
            return
        for _, part in self._composites[d.name].parts:
            yield from self.leaves(part)

    def cut(
        self, d: DistinctRegion, apart: Collection[int], samples: Sequence[Sample]
    ) -> list[tuple[DistinctRegion, bool, list[Sample]]]:
        """Cuts a region so that the operations at `apart` have parts of their own.

        Gives each part as a region, whether it holds none of those operations, and its samples; nothing
        where the region is better left whole.
        """
        parts = split(d.region, apart) if apart else None
        if parts is None:
            return []
        given = self._inputs(d, parts, samples)
        out = []
        pairs = []
        for part in parts:
            key = structural_key(part.region)
            distinct = self._whole.get(key)
            if distinct is None:
                distinct = DistinctRegion(identifier(part.region.name, self._taken), part.region, key)
                self._whole[key] = distinct
            pairs.append((part, distinct))
            recorded = given[part.region.name]
            made = make_samples(part.region, self._weights, recorded, MAX_SAMPLES, self._ordered)
            out.append((distinct, part.clean, made))
        self._composites[d.name] = Composite(d, tuple(pairs))
        return out

    def _inputs(self, d: DistinctRegion, parts: Sequence[Part], samples: Sequence[Sample]) -> dict[str, list[Sample]]:
        """What each part is given when the whole runs on the samples."""
        given: dict[str, list[Sample]] = {part.region.name: [] for part in parts}
        for sample in samples:
            env: dict[Value, Any] = dict(zip(d.region.params, clone(sample), strict=True))
            for part in parts:
                args = tuple(env[p] for p in part.region.params)
                given[part.region.name].append(clone(args))
                env.update(zip(part.region.results, run_region(part.region, args, self._weights)))
        return given


#: A part sees the sizes that the whole's samples give it.
MAX_SAMPLES = 10
