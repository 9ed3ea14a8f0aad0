"""An exported region as an OpenVINO graph, and what OpenVINO's CPU plug-in computes in fewer bits."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Sequence
from pathlib import Path

import openvino  # type: ignore[import-untyped]
import torch

from torch2cpp.backends.exported.export import NotExportable, quiet, short_reason
from torch2cpp.hostir.ops import TensorOp, Value, WeightRef, leaves, operands
from torch2cpp.hostir.program import Region
from torch2cpp.hostir.types import TensorType

_NO_RULE = re.compile(r"No conversion rule found for operations: (.*)")
#: Operators that take or make indices, which are small: the plug-in has them in 32 bits.
_INDEX_OPERATORS = frozenset({
    "aten::argmax", "aten::argmin", "aten::argsort", "aten::embedding", "aten::gather", "aten::index",
    "aten::index_select", "aten::max", "aten::min", "aten::sort", "aten::topk",
})  # fmt: skip


def narrowed(region: Region) -> dict[int, str]:
    """By position, the operations on values that the plug-in would keep in fewer bits than eager does."""
    out = {}
    for i, op in enumerate(region.body):
        if not isinstance(op, TensorOp):
            continue
        touched = [x.type for x in leaves(operands(op)) if isinstance(x, Value | WeightRef)]
        dtypes = {t.dtype for t in (*touched, *(r.type for r in op.results)) if isinstance(t, TensorType)}
        if torch.float64 in dtypes:
            out[i] = "OpenVINO computes float64 in 32 bits"
        elif torch.int64 in dtypes and op.overload._schema.name not in _INDEX_OPERATORS:
            out[i] = "OpenVINO computes int64 in 32 bits"
    return out


def convert(program: torch.export.ExportedProgram, sizes: Sequence[Sequence[int | None]]) -> tuple[bytes, bytes]:
    """The graph as XML and its constants; `sizes` of all inputs, None where they vary. Raises NotExportable."""
    try:
        with quiet(), tempfile.TemporaryDirectory() as folder:
            model = openvino.convert_model(program)
            shapes = [openvino.PartialShape([-1 if n is None else n for n in dims]) for dims in sizes]
            model.reshape(dict(zip(model.inputs, shapes, strict=True)))
            path = Path(folder) / "region.xml"
            openvino.save_model(model, path, compress_to_fp16=False)
            return path.read_bytes(), path.with_suffix(".bin").read_bytes()
    except Exception as error:  # any failure of the converter is a reason to take another backend
        missing = _NO_RULE.search(str(error))
        names = missing[1].split(", ") if missing else []
        operators = frozenset(name.strip().rsplit(".", 1)[0] for name in names)
        reason = f"OpenVINO has no rule for {', '.join(sorted(operators))}" if operators else short_reason(error)
        raise NotExportable(reason, operators) from error
