"""All regions of a program: shared, compiled, checked against eager, with a way out where that fails."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import torch

from torch2cpp.backends.auto import compile_fastest
from torch2cpp.backends.protocol import CompiledRegions
from torch2cpp.backends.region_options import RegionOptions
from torch2cpp.backends.registry import AUTO, UnknownBackend
from torch2cpp.backends.search import RegionsFailed, Search
from torch2cpp.hostir.program import Region
from torch2cpp.regions.share import share

__all__ = ["RegionOptions", "RegionsFailed", "compile_regions"]


def compile_regions(
    regions: Iterable[Region], weights: Mapping[str, torch.Tensor], options: RegionOptions
) -> CompiledRegions:
    """Compiles every distinct region with the wanted backend where that is right, else with `aten`.

    With `auto`, each with the fastest of those that are right. Raises RegionsFailed where no backend is
    right, UnknownBackend for one that is not there.
    """
    sharing = share(regions)
    if options.backend == AUTO and options.runtime.is_slim:
        raise UnknownBackend("backend auto needs libtorch: with --runtime slim there is aotinductor")
    if options.backend == AUTO:
        return compile_fastest(sharing, weights, options)
    return Search(sharing, weights, options, (options.backend, options.runtime.reference)).run()
