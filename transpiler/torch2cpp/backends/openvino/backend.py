"""Turns regions into OpenVINO graphs and writes the classes that run them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import final

import openvino  # type: ignore[import-untyped]

from torch2cpp.backends.exported.engine_backend import accepts, make_graphs
from torch2cpp.backends.exported.export import export, held_weights, pick_example
from torch2cpp.backends.exported.kept import kept
from torch2cpp.backends.exported.shapes import requirements, result_sizes
from torch2cpp.backends.exported.suitable import eager_twin
from torch2cpp.backends.exported.write_engine import Engine, Graph, write_engine_regions
from torch2cpp.backends.openvino.convert import convert, narrowed
from torch2cpp.backends.openvino.package import CMAKE_MODULE, cmake_module, package
from torch2cpp.backends.protocol import Artifact, Context, Refusal, Safety, Target, Unit
from torch2cpp.emit.environment import render
from torch2cpp.hostir.types import TensorType
from torch2cpp.regions.share import DistinctRegion

ENGINE = Engine(
    "openvino",
    "OpenVINO",
    "OpenVINO's graph format",
    "openvino_compiled_model.h",
    "torch2cpp::openvino::CompiledModel",
    "torch2cpp::openvino::Model",
)


@final
class OpenVinoBackend:
    """See the package's docstring."""

    name = "openvino"
    safeties: tuple[Safety, ...] = ("fast",)

    def accepts(self, region: DistinctRegion, target: Target) -> Refusal | None:
        """Refuses what the other exporting backends do, and 64-bit numbers, which OpenVINO computes in 32 bits."""
        refusal = accepts(region, target)
        if refusal is not None:
            return refusal
        culprits = narrowed(region.region)
        if culprits:
            first = min(culprits)
            return Refusal(culprits[first], region.region.body[first].span, frozenset(culprits))
        return None

    def compile(self, regions: Sequence[DistinctRegion], ctx: Context) -> Artifact:
        """One .cpp and .h and graph per region, one unit for them all, one that knows OpenVINO."""
        refusals = {r.name: refusal for r in regions if (refusal := self.accepts(r, ctx.target)) is not None}
        wanted = [r for r in regions if r.name not in refusals]
        made, refused = make_graphs(wanted, ctx, lambda region: _graph(region, ctx))
        refused |= refusals
        if not made:
            return Artifact(refused=refused)
        sources, units = write_engine_regions(ENGINE, made, ctx.namespace)
        for name in ("compiled_model.h", "compiled_model.cpp"):
            sources[f"src/regions/openvino_{name}"] = render(f"openvino/{name}")
        sources[CMAKE_MODULE] = cmake_module()
        units += (Unit("src/regions/openvino_compiled_model.cpp", ("-fvisibility=hidden",)),)
        return Artifact(
            sources,
            units,
            packages=frozenset({package()}),
            companions=tuple(eager_twin(region) for region, _ in made),
            refused=refused,
        )


def _graph(distinct: DistinctRegion, ctx: Context) -> Graph:
    region = distinct.region
    example = pick_example(region, ctx.samples.get(distinct.name, ()))
    sizes = [p.type.dims for p in region.params if isinstance(p.type, TensorType)]
    sizes += [w.type.dims for w in region.weights()]

    def make() -> dict[str, object]:
        program = export(region, held_weights(region, ctx.weights), example, lifted=True)
        graph, constants = convert(program, sizes)
        return {
            "graph": graph,
            "constants": constants,
            "requirements": requirements(program, len(region.params)),
            "results": result_sizes(program, len(region.params)),
        }

    found = kept(ctx.cache, "openvino", (openvino.__version__,), distinct.key, example, make)
    return Graph(
        [f"{len(found['graph'])} bytes of XML"],
        [("kGraph", found["graph"]), ("kConstants", found["constants"])],
        [],
        ("{kGraph, sizeof(kGraph) - 1}", "{kConstants, sizeof(kConstants) - 1}"),
        found["requirements"],
        found["results"],
    )
