"""A region as an ONNX graph whose weights are named but not contained."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, final

import onnx
import torch

from torch2cpp.backends.exported.export import NotExportable, quiet, short_reason

#: What the graph says of where the weights are; nobody opens it, for they are handed over by name.
OUTSIDE = "weights.safetensors"
#: The exporter's words for an operator it has no translation of.
_NO_TRANSLATION = re.compile(r"No ONNX function found for <OpOverload\(op='([\w.]+)'")


@final
@dataclass(frozen=True, slots=True)
class OnnxGraph:
    """A serialized graph and the names at its border, in order."""

    data: bytes
    text: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    weights: tuple[str, ...]


def export_onnx(program: torch.export.ExportedProgram, weights: int) -> OnnxGraph:
    """The graph of a program whose last `weights` inputs are the weights. Raises NotExportable."""
    try:
        with quiet(), torch.no_grad():
            # Weights are inputs while it is simplified, so that nothing is computed from their values.
            made = torch.onnx.export(program, dynamo=True, verbose=False, optimize=True)
            assert made is not None
            proto: Any = made.model_proto
    except Exception as error:  # any failure of the exporter is a reason to take another backend
        missing = frozenset(_NO_TRANSLATION.findall(_all_words(error)))
        reason = f"ONNX has no form of {', '.join(sorted(missing))}" if missing else short_reason(error)
        raise NotExportable(reason, missing) from error
    inputs = list(proto.graph.input)
    own, lifted = inputs[: len(inputs) - weights], inputs[len(inputs) - weights :]
    del proto.graph.input[:]
    proto.graph.input.extend(own)
    for each in lifted:
        _outside(proto.graph.initializer.add(), each)
    _strip(proto.graph)
    return OnnxGraph(
        proto.SerializeToString(deterministic=True),
        onnx.printer.to_text(proto),
        tuple(i.name for i in own),
        tuple(o.name for o in proto.graph.output),
        tuple(i.name for i in lifted),
    )


def _outside(tensor: Any, source: Any) -> None:
    """Makes a tensor that stands for an input's values, which are elsewhere."""
    kind = source.type.tensor_type
    tensor.name = source.name
    tensor.data_type = kind.elem_type
    tensor.dims.extend(d.dim_value for d in kind.shape.dim)
    tensor.data_location = onnx.TensorProto.EXTERNAL
    place = tensor.external_data.add()
    place.key, place.value = "location", OUTSIDE


def _strip(graph: Any) -> None:
    """Takes away what only helps to debug the exporter."""
    del graph.value_info[:]
    del graph.metadata_props[:]
    for node in graph.node:
        del node.metadata_props[:]
        node.ClearField("doc_string")
    for value in (*graph.input, *graph.output, *graph.initializer):
        del value.metadata_props[:]


def _all_words(error: BaseException | None) -> str:
    words = []
    while error is not None:
        words.append(str(error))
        error = error.__cause__
    return "\n".join(words)
