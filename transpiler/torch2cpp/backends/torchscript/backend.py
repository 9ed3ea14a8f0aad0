"""Writes regions as TorchScript, and the classes that run it."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import final

import torch

from torch2cpp.backends.aten import AtenBackend
from torch2cpp.backends.exported.export import quiet, short_reason
from torch2cpp.backends.exported.suitable import (
    WORTH_COMPILING,
    computing_operations,
    draws_random_numbers,
    eager_twin,
    unsuitable_results,
)
from torch2cpp.backends.interface import header_text, interface
from torch2cpp.backends.protocol import Artifact, Context, Refusal, Safety, Target, Unit
from torch2cpp.backends.torchscript.write_script import Unwritable, annotation, write_script
from torch2cpp.emit.environment import render
from torch2cpp.hostir.ops import HostOp, TensorOp, Value, values_in
from torch2cpp.hostir.program import Region
from torch2cpp.hostir.types import ScalarType, TensorType
from torch2cpp.regions.share import DistinctRegion

_CPP_RESULTS = {"int": "int64_t", "float": "double", "bool": "bool"}


@final
class TorchScriptBackend:
    """See the package's docstring."""

    name = "torchscript"
    safeties: tuple[Safety, ...] = ("fast",)

    def __init__(self) -> None:
        self._aten = AtenBackend()

    def accepts(self, region: DistinctRegion, target: Target) -> Refusal | None:
        """Refuses writes to what others see, random numbers, and what TorchScript's compiler does not take."""
        refusal = unsuitable(region.region) or self._aten.accepts(eager_twin(region), target)
        if refusal is not None:
            return refusal
        try:
            write_script(region.region)
            reason = compiler_says(region)
        except Unwritable as error:
            return Refusal(str(error), error.span)
        return Refusal(reason, region.region.span) if reason else None

    def compile(self, regions: Sequence[DistinctRegion], ctx: Context) -> Artifact:
        """One .cpp and .h per region, one unit that includes them all, one that knows libtorch."""
        refused: dict[str, Refusal] = {}
        taken: list[DistinctRegion] = []
        for region in regions:
            refusal = self.accepts(region, ctx.target)
            if refusal is None:
                taken.append(region)
            else:
                refused[region.name] = refusal
        if not taken:
            return Artifact(refused=refused)
        sources = {
            "src/regions/compiled_border.h": render("regions/compiled_border.h"),
            "src/regions/torchscript_script.h": render("torchscript/script.h"),
            "src/regions/torchscript_script.cpp": render("torchscript/script.cpp"),
            "src/regions/torchscript.cpp": render(
                "regions/group.cpp.j2", backend=self.name, names=[r.name for r in taken]
            ),
        }
        for region in taken:
            view, _ = interface(region, ctx.namespace)
            twin, _ = interface(eager_twin(region), ctx.namespace)
            sources[f"src/{view.header}"] = header_text(view)
            sources[f"src/regions/{region.name}/{region.name}.cpp"] = render(
                "torchscript/region.cpp.j2",
                region=view,
                fallback=twin,
                script=write_script(region.region),
                returned=_returned(region.region),
            )
        units = (
            Unit("src/regions/torchscript.cpp", ("-fvisibility=hidden",)),
            Unit("src/regions/torchscript_script.cpp", ("-fvisibility=hidden",)),
        )
        return Artifact(sources, units, companions=tuple(map(eager_twin, taken)), refused=refused)


def unsuitable(region: Region) -> Refusal | None:
    """Why the region should not become TorchScript, judged by its types and operations."""
    if region.aliasing:
        return Refusal("it writes to tensors that others see", region.span)
    for value in region.params:
        if annotation(value.type) is None:
            return Refusal(f"parameter {value.name} is {value.type}", region.span)
    reason = unsuitable_results(region, allow=lambda t: isinstance(t, TensorType) or _is_number(t))
    if reason is not None:
        return Refusal(reason, region.span)
    culprits = {
        i: reason
        for i, op in enumerate(region.body)
        if isinstance(op, TensorOp) and (reason := draws_random_numbers(op))
    }
    if culprits:
        first = min(culprits)
        return Refusal(culprits[first], region.body[first].span, frozenset(culprits))
    numbers = {p for p in region.params if isinstance(p.type, ScalarType)}
    for op in region.body:
        if isinstance(op, HostOp) and not numbers.isdisjoint(values_in(op.args)):
            # Sizes are small; any other number could be, and TorchScript's integers wrap around.
            return Refusal(f"{op.name} of a number decided at run time", op.span)
    if computing_operations(region) < WORTH_COMPILING:
        return Refusal("a single operation, which the ATen operator runs as fast", region.span)
    return None


def compiler_says(region: DistinctRegion) -> str:
    """What TorchScript's compiler has against the region; empty when nothing."""
    return _compiler_says(write_script(region.region, "torch.ops.aten"), len(region.slots))


@lru_cache(maxsize=1024)
def _compiler_says(script: str, weights: int) -> str:
    class Holder(torch.jit.ScriptModule):
        def __init__(self) -> None:
            super().__init__()
            for i in range(weights):
                self.register_buffer(f"w{i}", torch.empty(0))

    try:
        with quiet():
            Holder().define(script)
    except Exception as error:  # whatever it does not take is for another backend
        return short_reason(error)
    return ""


def _is_number(t: object) -> bool:
    return isinstance(t, ScalarType) and t.kind in _CPP_RESULTS


def _returned(region: Region) -> str:
    out = []
    for i, result in enumerate(region.results):
        assert isinstance(result, Value)
        kind = _CPP_RESULTS[result.type.kind] if isinstance(result.type, ScalarType) else "Tensor"
        out.append(f"std::get<{kind}>(std::move(out[{i}]))")
    return out[0] if len(out) == 1 else f"{{{', '.join(out)}}}"
