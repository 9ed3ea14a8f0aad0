"""Writes regions as calls of slim's operators: what every other backend falls back on where there is no libtorch."""

from __future__ import annotations

from collections.abc import Sequence
from typing import final

from torch2cpp.backends.aten.backend import groups
from torch2cpp.backends.aten.expressions import Unspellable
from torch2cpp.backends.aten.write_region import Refused, RegionWriter
from torch2cpp.backends.exported.suitable import TWIN
from torch2cpp.backends.interface import header_text, supported
from torch2cpp.backends.protocol import Artifact, Context, Refusal, Safety, Target, Unit
from torch2cpp.backends.slim.calls import COMPUTED, call
from torch2cpp.emit.environment import render
from torch2cpp.hostir.ops import TensorOp, operands, values_in
from torch2cpp.hostir.types import TensorType
from torch2cpp.regions.share import DistinctRegion

NAME = "slim"


class SlimWriter(RegionWriter):
    """As the `aten` writer, in slim's words."""

    tensor = "Tensor"
    template = "slim/region.cpp.j2"

    def _call(self, op: TensorOp) -> str:
        if any(str(r.type) == "number" for r in op.overload._schema.returns):
            raise Unspellable(f"programs without libtorch have no operator {op.overload}")
        tensors = [v.type for v in (*values_in(operands(op)), *op.results) if isinstance(v.type, TensorType)]
        for dtype in (t.dtype for t in tensors if t.dtype not in COMPUTED):
            raise Unspellable(f"programs without libtorch do not compute in {dtype}")
        return call(op, self.name_of)


@final
class SlimBackend:
    """See the module's docstring."""

    name = NAME
    safeties: tuple[Safety, ...] = ("fast",)

    def accepts(self, region: DistinctRegion, target: Target) -> Refusal | None:
        """Refuses what the runtime lacks, at the operation that needs it."""
        unsupported = supported(region.region)
        if unsupported is not None:
            return Refusal(f"a value of type {unsupported} at a region's border", region.region.span)
        try:
            SlimWriter(region, "probe").text()
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
            writer = SlimWriter(region, ctx.namespace)
            sources[f"src/regions/{region.name}/{region.name}.cpp"] = writer.text()
            sources[f"src/{writer.view.header}"] = header_text(writer.view)
            written.append((region.name, len(region.region.body)))
        if not written:
            return Artifact(refused=refused)
        sources["src/regions/slim_border.h"] = render("slim/slim_border.h")
        units = []
        for kind, twins in (("slim", False), ("slim_twins", True)):
            mine = [each for each in written if each[0].endswith(TWIN) == twins]
            for i, group in enumerate(groups(mine) if mine else []):
                path = f"src/regions/{kind}_{i}.cpp"
                sources[path] = render("regions/group.cpp.j2", backend=self.name, names=group)
                units.append(Unit(path, flags=("-fvisibility=hidden",)))
        return Artifact(sources, tuple(units), refused=refused)
