"""Weights of convolutions with the channels last, as oneDNN's convolutions want them.

Inductor turns images around to channels that lie last. It would turn the weights in every call: for 512 filters of 512
channels that takes longer than the convolution of a small image. So such weights are turned once, when the program
starts, and Inductor is shown them that way. Results keep eager's strides, which the program may ask for.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from torch._subclasses.fake_tensor import FakeTensorMode

from torch2cpp.backends.exported.export import Sample
from torch2cpp.hostir.ops import TensorOp, WeightRef
from torch2cpp.hostir.program import Region
from torch2cpp.regions.as_graph import as_graph

#: Images that lie so cannot be viewed as every size.
RESHAPES: Mapping[Any, Any] = {torch.ops.aten.view.default: torch.ops.aten.reshape.default}
_CONVOLUTIONS = frozenset({"aten::conv2d", "aten::convolution", "aten::_convolution"})


def image_weights(region: Region) -> tuple[int, ...]:
    """Slots of the weights of [N, C, H, W] convolutions whose windows hold more than one pixel.

    None where the region writes to tensors: views must stay views there.
    """
    if any(isinstance(op, TensorOp) and op.overload._schema.is_mutable for op in region.body):
        return ()
    found = {
        filters.name
        for op in region.body
        if isinstance(op, TensorOp) and op.overload._schema.name in _CONVOLUTIONS
        for filters in (op.kwargs.get("weight", op.args[1] if len(op.args) > 1 else None),)
        if isinstance(filters, WeightRef) and len(dims := filters.type.dims) == 4 and dims[2:] != (1, 1)
    }
    return tuple(i for i, weight in enumerate(region.weights()) if weight.name in found)


def results_to_turn(
    region: Region, weights: Mapping[str, torch.Tensor], turned: Mapping[str, torch.Tensor], example: Sample
) -> tuple[int, ...] | None:
    """Which results have to be made contiguous again with `turned` weights; None where eager's are not contiguous."""
    eager, ours = _layouts(region, weights, example, {}), _layouts(region, turned, example, RESHAPES)
    if not all(eager):
        return None
    return tuple(i for i, contiguous in enumerate(ours) if not contiguous)


def _layouts(
    region: Region, weights: Mapping[str, torch.Tensor], example: Sample, functions: Mapping[Any, Any]
) -> list[bool]:
    """Whether each result is contiguous. Raises what the operators raise."""
    with FakeTensorMode() as mode, torch.no_grad():
        fake = {name: mode.from_tensor(value) for name, value in weights.items()}
        graph = as_graph(region, fake, functions=functions)
        results = graph(*(mode.from_tensor(x) for x in example))
    return [x.is_contiguous() for x in results]
