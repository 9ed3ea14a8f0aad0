"""What the backends share that write regions themselves, one C++ call an operation."""

from __future__ import annotations

from collections.abc import Sequence

from torch2cpp.backends.aten.write_region import Refused, RegionWriter
from torch2cpp.backends.exported.suitable import TWIN
from torch2cpp.backends.interface import header_text, supported
from torch2cpp.backends.protocol import Artifact, Context, Refusal, Safety, Target, Unit
from torch2cpp.backends.units import in_units
from torch2cpp.emit.environment import render
from torch2cpp.regions.share import DistinctRegion

#: The ATen headers cost three seconds a unit, a call some twenty milliseconds.
OPS_PER_UNIT = 400


class WrittenBackend:
    """Writes regions with a writer and groups them into few translation units."""

    #: Its name as a backend, and how its units' names begin.
    name: str
    #: What writes a region, and the template of the header between the host's tensors and its own.
    writer: type[RegionWriter]
    border: str
    safeties: tuple[Safety, ...] = ("fast",)

    def accepts(self, region: DistinctRegion, target: Target) -> Refusal | None:
        """Refuses what has no C++ spelling, at the operation that has none, by trying to write it."""
        unsupported = supported(region.region)
        if unsupported is not None:
            return Refusal(f"a value of type {unsupported} at a region's border", region.region.span)
        try:
            self.writer(region, "probe").text()
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
            writer = self.writer(region, ctx.namespace)
            sources[f"src/regions/{region.name}/{region.name}.cpp"] = writer.text()
            sources[f"src/{writer.view.header}"] = header_text(writer.view)
            written.append((region.name, len(region.region.body)))
        if not written:
            return Artifact(refused=refused)
        sources[f"src/regions/{self.border.rpartition('/')[2]}"] = render(self.border)
        units = []
        # Apart from each other: which of the twins there are changes less often.
        for kind, twins in ((self.name, False), (f"{self.name}_twins", True)):
            mine = [each for each in written if each[0].endswith(TWIN) == twins]
            for i, group in enumerate(in_units(mine, OPS_PER_UNIT) if mine else []):
                path = f"src/regions/{kind}_{i}.cpp"
                sources[path] = render("regions/group.cpp.j2", backend=self.name, names=group)
                units.append(Unit(path, flags=("-fvisibility=hidden",)))
        return Artifact(sources, tuple(units), refused=refused)
