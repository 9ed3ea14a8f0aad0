"""Compiles regions with AOTInductor and writes the classes around its code."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import final

import torch

from torch2cpp.backends.aotinductor.cache import Made, cached
from torch2cpp.backends.aotinductor.export import NotExportable, export, pick_example, short_reason
from torch2cpp.backends.aotinductor.generate import generate
from torch2cpp.backends.aotinductor.rewrite import RegionCode, raises_in_parallel, rewrite
from torch2cpp.backends.aotinductor.shapes import Requirements, requirements
from torch2cpp.backends.aten import AtenBackend
from torch2cpp.backends.interface import Interface, header_text, interface
from torch2cpp.backends.protocol import Artifact, Context, Refusal, Safety, Target, Unit
from torch2cpp.emit.environment import render
from torch2cpp.emit.names import Scope
from torch2cpp.hostir.ops import HostOp, Operand, TensorOp, Value, operands, values_in
from torch2cpp.hostir.program import Region
from torch2cpp.hostir.types import TensorType
from torch2cpp.regions.share import DistinctRegion

#: Lines of generated code after which a new translation unit begins.
LINES_PER_UNIT = 5000
#: Computing operations from which on there is something to fuse.
WORTH_COMPILING = 2
#: Unrolled over time when decomposed: the ATen operator itself is smaller, faster and takes every length.
_RECURRENT = frozenset({"aten::gru", "aten::lstm", "aten::rnn_tanh", "aten::rnn_relu"})
_DTYPE_NAMES = {
    torch.bool: "bool",
    torch.uint8: "uint8",
    torch.int8: "int8",
    torch.int16: "int16",
    torch.int32: "int32",
    torch.int64: "int64",
    torch.float16: "float16",
    torch.bfloat16: "bfloat16",
    torch.float32: "float32",
    torch.float64: "float64",
}


@final
@dataclass(frozen=True, slots=True)
class _Input:
    """A tensor parameter in the class's call operator."""

    name: str
    sizes_name: str
    dtype: str
    rank: int
    strides: tuple[str, ...]


@final
@dataclass(frozen=True, slots=True)
class _Compiled:
    code: RegionCode
    requirements: Requirements
    flags: tuple[str, ...]
    definitions: tuple[str, ...]


@final
class AotInductorBackend:
    """See the package's docstring."""

    name = "aotinductor"
    safeties: tuple[Safety, ...] = ("fast", "safe")

    def __init__(self, fallback: bool = True) -> None:
        #: Whether a region also gets its `aten` form, for sizes the code was not compiled for.
        self._fallback = AtenBackend() if fallback else None
        #: What Inductor made, by structure and setting: a region that is right is not compiled again.
        self._made: dict[tuple[str, Safety], _Compiled] = {}

    def accepts(self, region: DistinctRegion, target: Target) -> Refusal | None:
        """Refuses by what the region holds: scalars, writes to parameters, random numbers, recurrent layers."""
        if target.name != "native":
            return Refusal(f"target {target.name}", region.region.span)
        return unsuitable(region.region)

    def compile(self, regions: Sequence[DistinctRegion], ctx: Context) -> Artifact:
        """Exports, generates and wraps each region; those that fail are refused with their reason."""
        refused: dict[str, Refusal] = {}
        compiled: list[tuple[DistinctRegion, _Compiled]] = []
        for region in regions:
            refusal = self.accepts(region, ctx.target)
            if refusal is None:
                try:
                    compiled.append((region, self._compile(region, ctx)))
                    continue
                except NotExportable as reason:
                    culprits = _calls_of(region.region, reason.operators)
                    refusal = Refusal(str(reason), region.region.span, culprits)
                except (AssertionError, KeyError, NotImplementedError, RuntimeError, TypeError, ValueError) as error:
                    # Reading torch's own data structures: a surprise there costs the region, not the program.
                    refusal = Refusal(short_reason(error), region.region.span)
            refused[region.name] = refusal
        if not compiled:
            return Artifact(refused=refused)
        return self._write(compiled, ctx, refused)

    def _compile(self, region: DistinctRegion, ctx: Context) -> _Compiled:
        key = (region.key, ctx.safety.get(region.name, "fast"))
        if key not in self._made:
            self._made[key] = _compile(region, ctx)
        return self._made[key]

    def _write(
        self, compiled: Sequence[tuple[DistinctRegion, _Compiled]], ctx: Context, refused: dict[str, Refusal]
    ) -> Artifact:
        sources: dict[str, str] = {"src/regions/aoti_border.h": render("aotinductor/aoti_border.h")}
        companions: list[DistinctRegion] = []
        groups: dict[tuple[tuple[str, ...], tuple[str, ...]], list[tuple[str, int]]] = {}
        for region, made in compiled:
            view, _ = interface(region, ctx.namespace)
            twin = eager_twin(region)
            fallback = None
            if self._fallback is not None and self._fallback.accepts(twin, ctx.target) is None:
                companions.append(twin)
                fallback, _ = interface(twin, ctx.namespace)
            folder = f"src/regions/{region.name}"
            code = render("aotinductor/code.h.j2", region=view, code=made.code, torch_version=torch.__version__)
            sources[f"src/{view.header}"] = header_text(view)
            sources[f"{folder}/{region.name}_code.h"] = code
            sources[f"{folder}/{region.name}.cpp"] = _class_text(region, view, made, fallback)
            groups.setdefault((made.flags, made.definitions), []).append((region.name, code.count("\n")))
        units: list[Unit] = []
        for flags, definitions in groups:
            for names in _split(groups[flags, definitions]):
                path = f"src/regions/aotinductor_{len(units)}.cpp"
                sources[path] = render("aotinductor/group.cpp.j2", names=names)
                units.append(Unit(path, (*flags, "-fopenmp", "-fvisibility=hidden"), definitions))
        return Artifact(sources, tuple(units), frozenset({"openmp"}), tuple(companions), refused)


def eager_twin(region: DistinctRegion) -> DistinctRegion:
    """The region under the name of its `aten` form."""
    return DistinctRegion(f"{region.name}_eager", region.region, region.key)


def unsuitable(region: Region) -> Refusal | None:
    """Why the backend should not have the region, judged by its operations and types."""
    whole = _unsuitable_border(region)
    if whole is not None:
        return Refusal(whole, region.span)
    scalars = {p for p in region.params if not isinstance(p.type, TensorType)}
    culprits: dict[int, str] = {}
    for i, op in enumerate(region.body):
        reason = _unsuitable_operation(op)
        if reason is None and not scalars.isdisjoint(values_in(operands(op))):
            reason = "it takes a number or a list decided at run time"
        if reason is not None:
            culprits[i] = reason
            # What is computed from such a number is one as well.
            if isinstance(op, HostOp) and op.result is not None:
                scalars.add(op.result)
    if culprits:
        first = min(culprits)
        return Refusal(culprits[first], region.body[first].span, frozenset(culprits))
    computing = sum(isinstance(op, TensorOp) and not _is_view(op) for op in region.body)
    if computing < WORTH_COMPILING:
        return Refusal("a single operation, which the ATen operator runs as fast", region.span)
    return None


def _unsuitable_border(region: Region) -> str | None:
    borders: tuple[Operand, ...] = region.results
    for result in borders:
        if not isinstance(result, Value):
            return f"a result is {result!r}, not a computed tensor"
        if not isinstance(result.type, TensorType):
            return f"a result is {result.type}, not a tensor"
    for value in region.params:
        if isinstance(value.type, TensorType) and value.type.dtype not in _DTYPE_NAMES:
            return f"parameter {value.name} has dtype {value.type.dtype}"
    if region.aliasing:
        return "it writes to tensors that others see"
    if not borders or not any(isinstance(op, TensorOp) for op in region.body):
        return "it computes no tensor"
    used = {v for op in region.body for v in values_in(operands(op))}
    for value in region.params:
        if not isinstance(value.type, TensorType) and value not in used:
            return f"parameter {value.name} is {value.type}, not a tensor"
    return None


def _unsuitable_operation(op: TensorOp | HostOp) -> str | None:
    if isinstance(op, HostOp):
        return None
    name = op.overload._schema.name
    if name in _RECURRENT:
        return f"{name} is a recurrent layer, which the ATen operator runs better"
    if torch.Tag.nondeterministic_seeded in op.overload.tags and not _draws_nothing(op):
        return f"{name} draws random numbers, which must be eager's"
    return None


def _calls_of(region: Region, operators: frozenset[str]) -> frozenset[int]:
    """Where the region calls operators, given as `aten.bincount`."""
    return frozenset(
        i
        for i, op in enumerate(region.body)
        if isinstance(op, TensorOp) and op.overload._schema.name.replace("::", ".") in operators
    )


def _is_view(op: TensorOp) -> bool:
    """Whether the operator may give a view of an operand, and so computes nothing."""
    returns = op.overload._schema.returns
    return bool(returns) and all(r.alias_info is not None and not r.alias_info.is_write for r in returns)


def _draws_nothing(op: TensorOp) -> bool:
    """Whether a random operator is switched off by its arguments: dropout in evaluation mode."""
    arguments = dict(zip((a.name for a in op.overload._schema.arguments), op.args)) | op.kwargs
    return arguments.get("train") is False or arguments.get("training") is False or (
        op.overload._schema.name == "aten::scaled_dot_product_attention" and arguments.get("dropout_p", 0.0) == 0.0
    )  # fmt: skip


def _compile(distinct: DistinctRegion, ctx: Context) -> _Compiled:
    region = distinct.region
    example = pick_example(region, ctx.samples.get(distinct.name, ()))
    safety = ctx.safety.get(distinct.name, "fast")

    def run(threads: int) -> Made:
        def make() -> Made:
            program = export(region, ctx.weights, example)
            made = generate(program, safety, threads)
            return made, requirements(program)

        return cached(ctx.cache, distinct.key, example, safety, threads, make)

    threads = torch.get_num_threads()
    made, needs = run(threads)
    if raises_in_parallel(made.wrapper):
        # An exception inside a parallel section would end the program.
        threads = 1
        made, needs = run(threads)
    return _Compiled(rewrite(made.wrapper, threads), needs, made.flags, made.definitions)


def _class_text(region: DistinctRegion, view: Interface, made: _Compiled, fallback: Interface | None) -> str:
    needs = made.requirements
    scope = Scope({p.name for p in view.params} | {name for name, _, _ in needs.symbols} | {"in", "out", "eagerly"})
    inputs = [
        _Input(p.name, scope.fresh(f"{p.name}_sizes"), _dtype(layout.dtype), len(layout.sizes), layout.strides)
        for p, layout in zip(view.params, needs.inputs, strict=True)
    ]
    symbols = [(name, f"{inputs[i].sizes_name}[{d}]") for name, i, d in needs.symbols]
    read = {(i, d) for _, i, d in needs.symbols}
    sizes = [
        f"{inputs[i].sizes_name}[{d}] == {size}"
        for i, layout in enumerate(needs.inputs)
        for d, size in enumerate(layout.sizes)
        if (i, d) not in read
    ]
    results = [f"Tensor(out[{i}])" for i in range(len(view.results))]
    span = region.region.span
    return render(
        "aotinductor/region.cpp.j2",
        region=view,
        fallback=fallback,
        constants=made.code.constants,
        inputs=inputs,
        symbols=symbols,
        conditions=[*sizes, *needs.conditions],
        returned=results[0] if len(results) == 1 else f"{{{', '.join(results)}}}",
        file=json.dumps(Path(span.file).name),
        line=span.line,
    )


def _dtype(dtype: torch.dtype) -> str:
    return f"aoti_torch_dtype_{_DTYPE_NAMES[dtype]}()"


def _split(names: Sequence[tuple[str, int]]) -> list[list[str]]:
    groups: list[list[str]] = [[]]
    lines = 0
    for name, n in names:
        if groups[-1] and lines + n > LINES_PER_UNIT:
            groups.append([])
            lines = 0
        groups[-1].append(name)
        lines += n
    return groups
