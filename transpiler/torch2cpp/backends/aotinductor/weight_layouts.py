"""Convolutions' weights and images with the channels last, as oneDNN's convolutions want them.

Inductor turns images around to channels that lie last. It would turn the weights in every call: for 512 filters of 512
channels that takes longer than the convolution of a small image. So such weights are turned once, when the program
starts, and Inductor is shown them that way. Images that go from region to region stay so too, where nothing else sees
them (regions/image_borders.py); other results keep eager's strides, which the program may ask for.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, final

import torch
from torch._subclasses.fake_tensor import FakeTensorMode

from torch2cpp.backends.exported.export import NotExportable, Sample, export
from torch2cpp.hostir.ops import TensorOp, WeightRef
from torch2cpp.hostir.program import Region
from torch2cpp.regions.as_graph import as_graph
from torch2cpp.regions.image_borders import CONVOLUTIONS, Images

#: Images that lie so cannot be viewed as every size.
_RESHAPES: Mapping[Any, Any] = {torch.ops.aten.view.default: torch.ops.aten.reshape.default}
_NONE = Images()


@final
@dataclass(frozen=True, slots=True)
class Layouts:
    """What a program is given, and gives, with the channels last."""

    #: Slots of weights.
    weights: tuple[int, ...] = ()
    images: Images = field(default_factory=Images)


def exports(
    region: Region, held: Mapping[str, torch.Tensor], example: Sample, images: Images | None
) -> Iterator[tuple[torch.export.ExportedProgram, Layouts]]:
    """The region exported for the layouts that are faster, then as everything lies. Raises NotExportable.

    Without `images` only the latter: for targets whose convolutions gain nothing.
    """
    if images is not None:
        try:
            found = _turned(region, held, example, images)
        except (NotExportable, RuntimeError, ValueError):
            # Operators that ask for strides may not take images that lie so.
            found = None
        if found is not None:
            yield found
    yield export(region, held, example), Layouts()


def _turned(
    region: Region, held: Mapping[str, torch.Tensor], example: Sample, images: Images
) -> tuple[torch.export.ExportedProgram, Layouts] | None:
    slots = image_weights(region)
    functions = _functions(region)
    if functions is None or (not slots and images == _NONE):
        return None
    names = {region.weights()[slot].name for slot in slots}
    weights = {name: _channels_last(w) if name in names else w for name, w in held.items()}
    inputs = tuple(_channels_last(x) if i in images.params else x for i, x in enumerate(example))
    eager, ours = _layouts(region, held, example, {}), _layouts(region, weights, inputs, functions)
    free = images.results
    if not all(contiguous for i, contiguous in enumerate(eager) if i not in free):
        return None
    results = [i for i, contiguous in enumerate(ours) if not contiguous and i not in free]
    return export(region, weights, inputs, functions=functions, contiguous=results), Layouts(slots, images)


def _channels_last(x: torch.Tensor) -> torch.Tensor:
    return x.contiguous(memory_format=torch.channels_last)


def _functions(region: Region) -> Mapping[Any, Any] | None:
    """What stands for operators that ask for strides; None where views are written through, so must stay views."""
    called = {op.overload for op in region.body if isinstance(op, TensorOp)}
    if not any(overload._schema.is_mutable for overload in called):
        return _RESHAPES
    return None if called & _RESHAPES.keys() else {}


def image_weights(region: Region) -> tuple[int, ...]:
    """Slots of the weights of [N, C, H, W] convolutions whose windows hold more than one pixel."""
    found = {
        filters.name
        for op in region.body
        if isinstance(op, TensorOp) and op.overload._schema.name in CONVOLUTIONS
        for filters in (op.kwargs.get("weight", op.args[1] if len(op.args) > 1 else None),)
        if isinstance(filters, WeightRef) and len(dims := filters.type.dims) == 4 and dims[2:] != (1, 1)
    }
    return tuple(i for i, weight in enumerate(region.weights()) if weight.name in found)


def _layouts(
    region: Region, weights: Mapping[str, torch.Tensor], example: Sample, functions: Mapping[Any, Any]
) -> list[bool]:
    """Whether each result is contiguous. Raises what the operators raise."""
    with FakeTensorMode() as mode, torch.no_grad():
        fake = {name: mode.from_tensor(value) for name, value in weights.items()}
        graph = as_graph(region, fake, functions=functions)
        results = graph(*(mode.from_tensor(x) for x in example))
    return [x.is_contiguous() for x in results]
