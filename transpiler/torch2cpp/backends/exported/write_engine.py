"""Classes of regions that a runtime library executes from a serialized graph: ONNX Runtime, OpenVINO."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import final

from torch2cpp.backends.exported.guards import dtype_code, guards
from torch2cpp.backends.exported.shapes import Requirements
from torch2cpp.backends.exported.suitable import eager_twin
from torch2cpp.backends.interface import header_text, interface
from torch2cpp.backends.protocol import Unit
from torch2cpp.emit.environment import render
from torch2cpp.hostir.types import TensorType
from torch2cpp.regions.share import DistinctRegion

#: Characters of a literal's line.
_WIDTH = 110


@final
@dataclass(frozen=True, slots=True)
class Engine:
    """What the classes of one backend have in common."""

    backend: str
    #: Its name for people.
    title: str
    #: The format of the graphs, for people.
    format: str
    #: Header below src/regions/.
    header: str
    #: C++ class that runs a graph, and the struct it is constructed from.
    runner: str
    model: str


@final
@dataclass(frozen=True, slots=True)
class Graph:
    """One region's serialized graph."""

    #: For the reader.
    text: Sequence[str]
    #: Array name -> bytes.
    data: Sequence[tuple[str, bytes]]
    #: Array name -> texts, such as the names of inputs.
    lists: Sequence[tuple[str, Sequence[str]]]
    #: Initializers of the model struct, in its order.
    members: Sequence[str]
    requirements: Requirements
    #: Sizes of each result, None where only running tells.
    results: Sequence[tuple[str, ...] | None]
    #: Inputs for whose NaN and infinities the engine may compute something else than eager; None: all of them.
    inexact: Sequence[bool] | None = None


@final
@dataclass(frozen=True, slots=True)
class _Output:
    sizes: tuple[str, ...] | None
    dtype: str


def write_engine_regions(
    engine: Engine, regions: Sequence[tuple[DistinctRegion, Graph]], namespace: str
) -> tuple[dict[str, str], tuple[Unit, ...]]:
    """Sources and the one unit of all regions of an engine."""
    sources = {"src/regions/compiled_border.h": render("regions/compiled_border.h")}
    for region, graph in regions:
        view, _ = interface(region, namespace)
        twin, _ = interface(eager_twin(region), namespace)
        folder = f"src/regions/{region.name}/{region.name}"
        sources[f"src/{view.header}"] = header_text(view)
        sources[f"{folder}_model.h"] = render(
            "engines/model.h.j2",
            region=view,
            format=engine.format,
            header=engine.header,
            model=engine.model,
            text=[line.replace("\\", "/") for line in graph.text],
            data=[(name, literal(data)) for name, data in graph.data],
            lists=graph.lists,
            members=graph.members,
        )
        outputs = [
            _Output(sizes, dtype_code(r.type.dtype))
            for r, sizes in zip(region.region.results, graph.results, strict=True)
            if isinstance(r.type, TensorType)
        ]
        results = [f"std::move(out[{i}])" for i in range(len(outputs))]
        sizes = [text for each in graph.results for text in each or ()]
        sources[f"{folder}.cpp"] = render(
            "engines/region.cpp.j2",
            region=view,
            fallback=twin,
            title=engine.title,
            header=engine.header,
            engine=engine.runner,
            guards=guards(view, graph.requirements),
            outputs=outputs,
            floats=_floats(region, graph),
            # PyTorch's own spelling of Python's `//`.
            divides=any("c10::" in text for text in (*sizes, *graph.requirements.conditions)),
            returned=results[0] if len(results) == 1 else f"{{{', '.join(results)}}}",
        )
    path = f"src/regions/{engine.backend}.cpp"
    sources[path] = render("regions/group.cpp.j2", backend=engine.backend, names=[r.name for r, _ in regions])
    return sources, (Unit(path, ("-fvisibility=hidden",)),)


def _floats(distinct: DistinctRegion, graph: Graph) -> list[int]:
    """Which inputs have to be looked through for NaN and infinities."""
    types = [p.type for p in distinct.region.params]
    inexact = graph.inexact or [True] * len(types)
    floats = [isinstance(t, TensorType) and t.dtype.is_floating_point for t in types]
    return [i for i, both in enumerate(zip(floats, inexact, strict=True)) if all(both)]


def literal(data: bytes) -> str:
    r"""Bytes as adjacent string literals, one a line.

    >>> print(literal(b'a"\x00'))
      "a\042\000"
    """
    lines, line = [], ""
    for byte in data:
        char = chr(byte)
        # Octal escapes end after three digits. A question mark could begin a trigraph.
        line += char if 32 <= byte < 127 and char not in '"\\?' else f"\\{byte:03o}"
        if len(line) >= _WIDTH:
            lines.append(line)
            line = ""
    return "\n".join(f'  "{each}"' for each in [*lines, line] if each or not lines)
