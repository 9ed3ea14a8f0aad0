"""What the backends that hand a serialized graph to a runtime library do alike."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from torch2cpp.backends.aten import AtenBackend
from torch2cpp.backends.exported.export import NotExportable, short_reason
from torch2cpp.backends.exported.suitable import calls_of, eager_twin, engines_differ, unsuitable
from torch2cpp.backends.exported.write_engine import Graph
from torch2cpp.backends.protocol import Context, Refusal, Target
from torch2cpp.regions.share import DistinctRegion

#: A single convolution can be twice as fast there.
WORTH_RUNNING = 1


def accepts(region: DistinctRegion, target: Target) -> Refusal | None:
    """Refuses by what the region holds, and what has no `aten` form to give way to."""
    return unsuitable(region.region, WORTH_RUNNING, engines_differ) or AtenBackend().accepts(eager_twin(region), target)


def make_graphs(
    regions: Sequence[DistinctRegion], ctx: Context, make: Callable[[DistinctRegion], Graph]
) -> tuple[list[tuple[DistinctRegion, Graph]], dict[str, Refusal]]:
    """The graphs of those that have one, and why the others have none."""
    made: list[tuple[DistinctRegion, Graph]] = []
    refused: dict[str, Refusal] = {}
    for region in regions:
        refusal = accepts(region, ctx.target)
        if refusal is None:
            try:
                made.append((region, make(region)))
                continue
            except NotExportable as reason:
                culprits = calls_of(region.region, reason.operators)
                refusal = Refusal(str(reason), region.region.span, culprits)
            except Exception as error:
                # Other people's exporters: a surprise there costs the region, not the program.
                refusal = Refusal(short_reason(error), region.region.span)
        refused[region.name] = refusal
    return made, refused
