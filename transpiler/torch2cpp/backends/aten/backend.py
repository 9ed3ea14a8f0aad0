"""Writes regions as `at::` calls and groups them into few translation units."""

from __future__ import annotations

from collections.abc import Sequence
from typing import final

from torch2cpp.backends.aten.write_region import Refused, write_region
from torch2cpp.backends.exported.suitable import TWIN
from torch2cpp.backends.interface import header_text, supported
from torch2cpp.backends.protocol import Artifact, Context, Refusal, Safety, Target, Unit
from torch2cpp.emit.environment import render
from torch2cpp.regions.share import DistinctRegion

#: The ATen headers cost three seconds a unit, a call some twenty milliseconds.
OPS_PER_UNIT = 400


@final
class AtenBackend:
    """See the package's docstring."""

    name = "aten"
    safeties: tuple[Safety, ...] = ("fast",)

    def accepts(self, region: DistinctRegion, target: Target) -> Refusal | None:
        """Refuses what has no C++ spelling, by trying to write it."""
        unsupported = supported(region.region)
        if unsupported is not None:
            return Refusal(f"a value of type {unsupported} at a region's border", region.region.span)
        try:
            write_region(region, "probe")
        except Refused as refused:
            return refused.refusal
        return None

    def compile(self, regions: Sequence[DistinctRegion], ctx: Context) -> Artifact:
        """One .cpp and .h per region, and units that include several of them."""
        sources: dict[str, str] = {}
        refused: dict[str, Refusal] = {}
        written: list[tuple[str, int]] = []
        for region in regions:
            refusal = self.accepts(region, ctx.target)
            if refusal is not None:
                refused[region.name] = refusal
                continue
            view, text = write_region(region, ctx.namespace)
            sources[f"src/{view.header}"] = header_text(view)
            sources[f"src/regions/{region.name}/{region.name}.cpp"] = text
            written.append((region.name, len(region.region.body)))
        if not written:
            return Artifact(refused=refused)
        sources["src/regions/aten_border.h"] = render("aten/aten_border.h")
        units = []
        # Apart from each other: which of the twins there are changes less often.
        for kind, twins in (("aten", False), ("aten_twins", True)):
            mine = [each for each in written if each[0].endswith(TWIN) == twins]
            for i, group in enumerate(groups(mine) if mine else []):
                path = f"src/regions/{kind}_{i}.cpp"
                sources[path] = render("regions/group.cpp.j2", backend=self.name, names=group)
                units.append(Unit(path, flags=("-fvisibility=hidden",)))
        return Artifact(sources, tuple(units), refused=refused)


def groups(written: Sequence[tuple[str, int]]) -> list[list[str]]:
    """Regions in order, split where a unit would grow past `OPS_PER_UNIT` operations."""
    groups: list[list[str]] = [[]]
    size = 0
    for name, ops in written:
        if groups[-1] and size + ops > OPS_PER_UNIT:
            groups.append([])
            size = 0
        groups[-1].append(name)
        size += ops
    return groups
