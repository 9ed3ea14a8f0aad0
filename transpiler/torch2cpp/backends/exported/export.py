"""A region as an ExportedProgram in which every varying dimension stays symbolic."""

from __future__ import annotations

import contextlib
import io
import logging
import re
import warnings
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Any, final

import torch

from torch2cpp.backends.exported.fused_operators import UNFUSED
from torch2cpp.hostir.ops import HostOp
from torch2cpp.hostir.program import Region
from torch2cpp.hostir.types import TensorType
from torch2cpp.regions.as_graph import GRAPH_OPS, as_graph

Sample = tuple[Any, ...]


@final
class NotExportable(Exception):
    """torch.export or Inductor does not take the region; the message is one line.

    `operators` names those at fault, such as `aten.bincount`, where it is them and nothing else.
    """

    def __init__(self, reason: str, operators: frozenset[str] = frozenset()) -> None:
        super().__init__(reason)
        self.operators = operators


@contextlib.contextmanager
def quiet() -> Iterator[None]:
    """Keeps what torch prints and logs about a refusal off the user's terminal; the reason is in the exception."""
    before = logging.root.manager.disable
    logging.disable(logging.CRITICAL)
    try:
        with (
            warnings.catch_warnings(),
            contextlib.redirect_stdout(io.StringIO()),
            contextlib.redirect_stderr(io.StringIO()),
        ):
            warnings.simplefilter("ignore")
            yield
    finally:
        logging.disable(before)


def short_reason(error: BaseException) -> str:
    """The first telling line of an error of torch's, without its advice."""
    lines = [line.strip(" -") for line in str(error).splitlines() if line.strip()]
    telling = next((x for x in lines if "specialized it to be a constant" in x), lines[0] if lines else "")
    telling = re.sub(r"For more information.*|If you're using.*", "", telling).strip()
    return f"{type(error).__name__}: {telling}"[:200]


def pick_example(region: Region, samples: Sequence[Sample]) -> Sample:
    """The first sample whose varying dimensions all exceed 1: 0 and 1 would be taken for constants."""

    def general(sample: Sample) -> bool:
        return all(
            size is not None or value.shape[dim] > 1
            for value, p in zip(sample, region.params)
            if isinstance(p.type, TensorType)
            for dim, size in enumerate(p.type.dims)
        )

    found = next(filter(general, samples), None)
    if found is None:
        raise NotExportable("no sample input with every varying dimension above 1")
    return found


def held_weights(region: Region, weights: Mapping[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    """A region's weights as programs have them: contiguous, as the file does, whatever they were in Python."""
    return {w.name: weights[w.name].detach().contiguous() for w in region.weights()}


def export(
    region: Region,
    held: Mapping[str, torch.Tensor],
    example: Sample,
    lifted: bool = False,
    functions: Mapping[Any, Callable[..., Any]] | None = None,
    contiguous: Collection[int] = (),
) -> torch.export.ExportedProgram:
    """Exports with `Dim.DYNAMIC`, which refuses where `Dim.AUTO` would bake a size in. Raises NotExportable.

    `held` are the weights as the code will find them, in slot order; `functions` stand for operators; results of
    `contiguous` are made so. With `lifted` the weights are inputs after the parameters, so that nothing is computed
    from their values, and operators of ATen's own that no other runtime has are taken apart.
    """
    for op in region.body:
        if isinstance(op, HostOp) and op.name not in GRAPH_OPS:
            raise NotExportable(f"host operation {op.name} inside the region")
    graph = as_graph(region, held, lifted, UNFUSED if lifted else functions, contiguous)
    shapes: tuple[dict[int, Any], ...] = tuple(
        {dim: torch.export.Dim.DYNAMIC for dim, size in enumerate(p.type.dims) if size is None}
        for p in region.params
        if isinstance(p.type, TensorType)
    )
    if lifted:
        example = (*example, *held.values())
        shapes = (*shapes, *({} for _ in held))
    try:
        with quiet(), torch.no_grad():
            return torch.export.export(graph, example, dynamic_shapes=shapes, strict=False)
    except Exception as error:  # any failure of the exporter is a reason to take another backend
        raise NotExportable(short_reason(error)) from error
