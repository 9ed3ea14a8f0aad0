"""Which regions are the same up to their weights.

Two regions are equal in structure when their operations, constants, types and connections agree and
their weights agree slot by slot in dtype and shape. Such regions are compiled once.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, final

import torch

from torch2cpp.hostir.ops import HostOp, TensorOp, Value, WeightRef, results
from torch2cpp.hostir.program import Region
from torch2cpp.hostir.types import TensorType, Type

#: Types that the C++ of regions uses under these names (written as `identifier` writes them): no region is named so.
RESERVED_NAMES = frozenset({"tensor", "tensors", "list", "ints", "optionaltensors", "nograd", "place", "impl"})


@final
@dataclass(frozen=True, eq=False, slots=True)
class DistinctRegion:
    """One structure, with the region it was first seen in as its representative."""

    #: Lower-case identifier, unique in the program; the folder of its C++ files.
    name: str
    region: Region
    #: Structural key: equal for regions that differ in nothing but weight values.
    key: str

    @property
    def class_name(self) -> str:
        """The C++ class: `left_child` -> `LeftChild`."""
        return "".join(part[:1].upper() + part[1:] for part in self.name.split("_") if part)

    @property
    def slots(self) -> tuple[WeightRef, ...]:
        """The weights of the representative, in slot order."""
        return self.region.weights()


@final
@dataclass(frozen=True, slots=True)
class Sharing:
    """The distinct regions of a program and what each region is an instance of."""

    distinct: tuple[DistinctRegion, ...]
    #: Region name -> (distinct region, weight names in slot order).
    instances: dict[str, tuple[DistinctRegion, tuple[str, ...]]]


def share(regions: Iterable[Region]) -> Sharing:
    """Groups regions by structure, in order of first appearance."""
    by_key: dict[str, DistinctRegion] = {}
    taken = set(RESERVED_NAMES)
    instances: dict[str, tuple[DistinctRegion, tuple[str, ...]]] = {}
    for region in regions:
        key = structural_key(region)
        distinct = by_key.get(key)
        if distinct is None:
            distinct = by_key[key] = DistinctRegion(identifier(region.name, taken), region, key)
        instances[region.name] = (distinct, tuple(w.name for w in region.weights()))
    return Sharing(tuple(by_key.values()), instances)


def structural_key(region: Region, results_too: bool = True, sizes_too: bool = True) -> str:
    """Text that is equal for two regions exactly when one compiled form serves both.

    Without `results_too` what they hand out may differ, without `sizes_too` the sizes of tensors.
    """
    values: dict[Value, str] = {}
    slots: dict[str, str] = {}

    def leaf(x: Any) -> str:
        if isinstance(x, Value):
            return values[x]
        if isinstance(x, WeightRef):
            return slots.setdefault(x.name, f"w{len(slots)}:{x.type}")
        return constant_key(x)

    def tree(x: Any) -> str:
        if isinstance(x, tuple | list):
            return f"[{','.join(map(tree, x))}]"
        if isinstance(x, dict):
            return f"{{{','.join(f'{k}={tree(v)}' for k, v in x.items())}}}"
        if isinstance(x, slice):
            return f"slice[{tree(x.start)},{tree(x.stop)},{tree(x.step)}]"
        return leaf(x)

    def define(xs: Iterable[Value]) -> str:
        out = []
        for x in xs:
            values[x] = f"v{len(values)}"
            out.append(f"{values[x]}:{x.type if sizes_too else _without_sizes(x.type)}")
        return ",".join(out)

    lines = [define(region.params)]
    for op in region.body:
        match op:
            case TensorOp():
                called = f"{op.overload}({tree(op.args)},{tree(op.kwargs)},{op.indexed})"
            case HostOp():
                called = f"{op.name}({tree(op.args)})"
        # Results may be the mutated operand itself: those are not defined anew.
        fresh = [r for r in results(op) if r not in values]
        again = ",".join(values[r] for r in results(op) if r in values)
        lines.append(f"{define(fresh)};{again}={called}")
    if results_too:
        lines.append("return " + ",".join(values[r] for r in region.results))
    lines.append(f"aliasing={region.aliasing}")
    return "\n".join(lines)


def _without_sizes(t: Type) -> str:
    return f"{t.dtype}[{len(t.dims)}]" if isinstance(t, TensorType) else str(t)


def constant_key(x: Any) -> str:
    """A constant with its type: `1`, `1.0` and `True` are different constants, and so are 0.0 and -0.0."""
    if isinstance(x, float):
        return f"float:{x.hex()}"
    if isinstance(x, torch.dtype | torch.device | torch.layout | torch.memory_format):
        return str(x)
    return f"{type(x).__name__}:{x!r}"


def identifier(name: str, taken: set[str]) -> str:
    """A lower-case C++ identifier not used before, also when written as a class name; adds itself to `taken`."""
    base = re.sub(r"_+", "_", re.sub(r"\W", "_", name.lower())).strip("_") or "region"
    # The ends are those of a region's further classes and namespaces.
    if base[0].isdigit() or base.endswith(("_eager", "_code")):
        base = f"region_{base}_1"
    out, n = base, 1
    while out.replace("_", "") in taken:
        n += 1
        out = f"{base}_{n}"
    taken.add(out.replace("_", ""))
    return out
