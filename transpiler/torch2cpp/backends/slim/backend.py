"""Writes regions as calls of slim's operators: what every other backend falls back on where there is no libtorch."""

from __future__ import annotations

from typing import final

from torch2cpp.backends.aten.expressions import Unspellable
from torch2cpp.backends.aten.write_region import RegionWriter
from torch2cpp.backends.aten.written import WrittenBackend
from torch2cpp.backends.slim.calls import COMPUTED, call
from torch2cpp.hostir.ops import TensorOp, operands, values_in
from torch2cpp.hostir.types import TensorType

NAME = "slim"
#: Of these the runtime gives the first result only.
_FIRST_ONLY = ("aten::embedding_bag",)


class SlimWriter(RegionWriter):
    """As the `aten` writer, in slim's words."""

    tensor = "Tensor"
    template = "slim/region.cpp.j2"

    def _call(self, op: TensorOp) -> str:
        if any(str(r.type) == "number" for r in op.overload._schema.returns):
            raise Unspellable(f"programs without libtorch have no operator {op.overload}")
        if op.overload._schema.name in _FIRST_ONLY and any(self.uses[r] for r in op.results[1:]):
            raise Unspellable(f"programs without libtorch have only the first result of {op.overload}")
        tensors = [v.type for v in (*values_in(operands(op)), *op.results) if isinstance(v.type, TensorType)]
        for dtype in (t.dtype for t in tensors if t.dtype not in COMPUTED):
            raise Unspellable(f"programs without libtorch do not compute in {dtype}")
        return call(op, self.name_of)


@final
class SlimBackend(WrittenBackend):
    """See the module's docstring."""

    name = NAME
    writer = SlimWriter
    border = "slim/slim_border.h"
