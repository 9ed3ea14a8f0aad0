"""Turns regions into ONNX graphs and writes the classes that run them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, final

import onnx
import onnxscript

from torch2cpp.backends.exported.engine_backend import accepts, make_graphs
from torch2cpp.backends.exported.export import export, held_weights, pick_example
from torch2cpp.backends.exported.kept import kept
from torch2cpp.backends.exported.shapes import requirements, result_sizes
from torch2cpp.backends.exported.suitable import eager_twin
from torch2cpp.backends.exported.write_engine import Engine, Graph, write_engine_regions
from torch2cpp.backends.onnxruntime.export_onnx import export_onnx
from torch2cpp.backends.onnxruntime.package import CMAKE_MODULE, cmake_module, package
from torch2cpp.backends.onnxruntime.special_values import inputs_to_check
from torch2cpp.backends.protocol import Artifact, Context, Refusal, Safety, Target, Unit
from torch2cpp.emit.environment import render
from torch2cpp.regions.share import DistinctRegion

ENGINE = Engine(
    "onnxruntime",
    "ONNX Runtime",
    "ONNX",
    "onnxruntime_session.h",
    "torch2cpp::onnxruntime::Session",
    "torch2cpp::onnxruntime::Model",
)


@final
class OnnxRuntimeBackend:
    """See the package's docstring."""

    name = "onnxruntime"
    safeties: tuple[Safety, ...] = ("fast",)

    def accepts(self, region: DistinctRegion, target: Target) -> Refusal | None:
        """Refuses numbers decided at run time, writes to parameters, random numbers, recurrent layers."""
        return accepts(region, target)

    def compile(self, regions: Sequence[DistinctRegion], ctx: Context) -> Artifact:
        """One .cpp and .h and graph per region, one unit for them all, one that knows ONNX Runtime."""
        made, refused = make_graphs(regions, ctx, lambda region: _graph(region, ctx))
        if not made:
            return Artifact(refused=refused)
        sources, units = write_engine_regions(ENGINE, made, ctx.namespace)
        for name in ("session.h", "session.cpp", "functions.h"):
            sources[f"src/regions/onnxruntime_{name}"] = render(f"onnxruntime/{name}")
        sources[CMAKE_MODULE] = cmake_module()
        units += (Unit("src/regions/onnxruntime_session.cpp", ("-fvisibility=hidden",)),)
        return Artifact(
            sources,
            units,
            packages=frozenset({package(ctx.cache, ctx.target)}),
            companions=tuple(eager_twin(region) for region, _ in made),
            refused=refused,
        )


def exported_graph(distinct: DistinctRegion, ctx: Context) -> Any:
    """The ONNX graph (`data`, `text`), `names` of inputs, outputs and weights, `requirements`, sizes of `results`.

    Raises NotExportable.
    """
    region = distinct.region
    example = pick_example(region, ctx.samples.get(distinct.name, ()))

    def make() -> dict[str, object]:
        program = export(region, held_weights(region, ctx.weights), example, lifted=True)
        graph = export_onnx(program, len(region.weights()))
        needs = requirements(program, len(region.params))
        return {
            "data": graph.data,
            "text": graph.text.splitlines(),
            "names": [graph.inputs, graph.outputs, graph.weights],
            "requirements": needs,
            "results": result_sizes(program, len(region.params)),
        }

    return kept(ctx.cache, "onnxruntime", (onnx.__version__, onnxscript.__version__), distinct.key, example, make)


def _graph(distinct: DistinctRegion, ctx: Context) -> Graph:
    found = exported_graph(distinct, ctx)
    names = dict(zip(("kInputs", "kOutputs", "kWeights"), found["names"], strict=True))
    return Graph(
        found["text"],
        [("kGraph", found["data"])],
        list(names.items()),
        ("{kGraph, sizeof(kGraph) - 1}", *(name if texts else "{}" for name, texts in names.items())),
        found["requirements"],
        found["results"],
        inputs_to_check(found["data"], found["names"][0]),
    )
