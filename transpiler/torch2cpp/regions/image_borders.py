"""Images that only regions see: what one region hands to the next may lie as convolutions want it.

A tensor [N, C, H, W] that regions make and regions read, with nothing but control flow between them, has no strides
that the program could ask for. A backend may keep such images with the channels last, as oneDNN's convolutions have
them, where each region would turn them there and back otherwise. (Layout propagation of deep-learning compilers; here
across the borders of regions, through branches and loops.)
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, final

import torch

from torch2cpp.hostir.ops import (
    Block,
    Break,
    Continue,
    HostOp,
    If,
    Leave,
    Loop,
    Op,
    Operand,
    RegionCall,
    Scope,
    TensorOp,
    Try,
    Value,
    Yield,
    blocks,
    operands,
    results,
    values_in,
)
from torch2cpp.hostir.program import Function, Program, Region
from torch2cpp.hostir.types import TensorType, Type

CONVOLUTIONS = frozenset({"aten::conv2d", "aten::convolution", "aten::_convolution"})
_FLOATS = frozenset({torch.float32, torch.float64})
#: Host operations that ask for nothing that depends on how a tensor lies.
_SIZES = frozenset({"tensor.size", "tensor.numel"})
#: What is seen by others than regions.
_OUTSIDE = "outside"


@final
@dataclass(frozen=True, slots=True)
class Border:
    """A parameter or a result of a region, by its position."""

    region: str
    side: str  # "param" or "result"
    position: int


#: Borders that are the same tensors: all of them keep a layout, or none.
ImageGroup = frozenset[Border]


@final
@dataclass(frozen=True, slots=True)
class Images:
    """The parameters and results of one region that lie with the channels last, by their positions."""

    params: tuple[int, ...] = ()
    results: tuple[int, ...] = ()


def convolves(region: Region) -> bool:
    """Whether it has a convolution of images."""
    return any(
        isinstance(op, TensorOp)
        and op.overload._schema.name in CONVOLUTIONS
        and any(is_image(r.type) for r in op.results)
        for op in region.body
    )


def is_image(type: Type) -> bool:
    """Whether it is a float tensor of four dimensions."""
    return isinstance(type, TensorType) and len(type.dims) == 4 and type.dtype in _FLOATS


def image_groups(program: Program) -> tuple[ImageGroup, ...]:
    """What convolving regions hand to convolving regions and nobody else sees."""
    joins = _Joins()
    for function in (*program.entries.values(), *program.functions.values()):
        _Function(program.regions, joins).join(function)
    return tuple(group for group in _groups(joins) if _carries(group, program.regions))


def _carries(group: ImageGroup, regions: Mapping[str, Region]) -> bool:
    """Whether images go from one convolution to another there."""
    sides = {border.side for border in group if convolves(regions[border.region])}
    return sides == {"param", "result"}


def merge_groups(groups: Iterable[ImageGroup], distinct: Mapping[str, str]) -> tuple[ImageGroup, ...]:
    """The groups by distinct regions: one compiled form serves all instances, so all of them must agree.

    `distinct` names the distinct region of every region of the program.
    """
    instances: dict[str, int] = {}
    for name in distinct.values():
        instances[name] = instances.get(name, 0) + 1
    joins = _Joins()
    seen: dict[Border, int] = {}
    for group in groups:
        borders = [Border(distinct[b.region], b.side, b.position) for b in group]
        for border in borders:
            joins.join(borders[0], border)
            seen[border] = seen.get(border, 0) + 1
    for border, times in seen.items():
        if times < instances[border.region]:
            joins.join(_OUTSIDE, border)
    return tuple(_groups(joins))


def images_of(groups: Iterable[ImageGroup]) -> dict[str, Images]:
    """What lies with the channels last, by region."""
    found: dict[str, dict[str, set[int]]] = {}
    for border in (b for group in groups for b in group):
        found.setdefault(border.region, {"param": set(), "result": set()})[border.side].add(border.position)
    return {name: Images(tuple(sorted(s["param"])), tuple(sorted(s["result"]))) for name, s in found.items()}


@final
@dataclass(slots=True)
class _Joins:
    """Sets of things that are the same tensor on some path (union-find)."""

    parent: dict[Hashable, Hashable] = field(default_factory=dict)

    def root(self, x: Hashable) -> Hashable:
        self.parent.setdefault(x, x)
        while (above := self.parent[x]) != x:
            self.parent[x] = self.parent[above]
            x = above
        return x

    def join(self, a: Hashable, b: Hashable) -> None:
        self.parent[self.root(a)] = self.root(b)


def _groups(joins: _Joins) -> Iterable[ImageGroup]:
    """The sets of borders that nothing outside is in, in order of first appearance."""
    outside = joins.root(_OUTSIDE)
    found: dict[Hashable, set[Border]] = {}
    for x in list(joins.parent):
        if isinstance(x, Border) and (root := joins.root(x)) != outside:
            found.setdefault(root, set()).add(x)
    return (frozenset(group) for group in found.values())


@final
@dataclass(slots=True)
class _Function:
    """Joins what is the same tensor within one function."""

    regions: Mapping[str, Region]
    joins: _Joins
    #: Where `Leave` of a label goes.
    scopes: dict[str, Sequence[Value]] = field(default_factory=dict)

    def join(self, function: Function) -> None:
        self._seen_outside(p.value for p in function.params)
        self._block(function.body, (), (), ())

    def _block(self, block: Block, yields: Sequence[Value], again: Sequence[Value], after: Sequence[Value]) -> None:
        """The values to which `Yield`, `Continue` and `Break` hand on."""
        for op in block.ops:
            self._op(op, yields, again, after)

    def _op(self, op: Op, yields: Sequence[Value], again: Sequence[Value], after: Sequence[Value]) -> None:
        match op:
            case RegionCall():
                self._call(op)
            case If():
                for arm in (op.then, op.orelse):
                    self._block(arm, op.results, again, after)
                self._typed(op.results)
            case Loop():
                carried = op.body.params if op.over is None else op.body.params[1:]
                self._hand(op.inits, carried)
                if op.over is not None:
                    self._hand(carried, op.results)
                self._block(op.body, (), carried, op.results)
                self._typed((*carried, *op.results))
            case Scope():
                self.scopes[op.label] = op.results
                self._block(op.body, (), again, after)
                self._typed(op.results)
            case Try():
                handled = (op.body, *(h.body for h in op.handlers))
                for block in blocks(op):
                    self._block(block, op.results if block in handled else (), again, after)
                self._typed(op.results)
            case Yield():
                self._hand(op.values, yields)
            case Continue():
                self._hand(op.values, again)
            case Break():
                self._hand(op.values, after)
            case Leave():
                self._hand(op.values, self.scopes[op.label])
            case HostOp() if op.name in _SIZES:
                pass
            case _:
                self._seen_outside((*values_in(operands(op)), *results(op)))

    def _call(self, op: RegionCall) -> None:
        for name in op.regions:
            region = self.regions[name]
            if region.aliasing:
                self._seen_outside((*values_in(op.args), *op.results))
            for side, given, own in (("param", op.args, region.params), ("result", op.results, region.results)):
                for i, (operand, value) in enumerate(zip(given, own, strict=True)):
                    border = Border(name, side, i)
                    if isinstance(operand, Value) and is_image(value.type):
                        self.joins.join(border, operand)
                    else:
                        self._seen_outside((border, *values_in(operand)))

    def _hand(self, given: Sequence[Operand], to: Sequence[Value]) -> None:
        for operand, value in zip(given, to):
            if isinstance(operand, Value):
                self.joins.join(operand, value)
            else:
                self._seen_outside((value, *values_in(operand)))

    def _typed(self, values: Iterable[Value]) -> None:
        """What may be something else than an image, such as None, is left alone."""
        self._seen_outside(v for v in values if not is_image(v.type))

    def _seen_outside(self, things: Iterable[Any]) -> None:
        for thing in things:
            if thing is not None:
                self.joins.join(_OUTSIDE, thing)
