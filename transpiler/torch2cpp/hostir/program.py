"""A whole program: entries, functions, regions, weights and state."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal, final

import torch

from torch2cpp.hostir.ops import Block, Cell, HostOp, TensorOp, Value, WeightRef
from torch2cpp.hostir.types import StructType, Type
from torch2cpp.spans import Span

#: A parameter without a default.
REQUIRED: Any = type("Required", (), {"__repr__": lambda self: "REQUIRED"})()


@final
@dataclass(frozen=True, slots=True)
class Param:
    """One parameter of an entry, as Python spells it."""

    name: str
    #: None when the parameter is pinned: then its only accepted value is `pinned`.
    value: Value | None
    default: Any = REQUIRED
    pinned: Any = None


@final
@dataclass(eq=False, slots=True)
class Function:
    """An entry or a recursive function."""

    name: str
    params: tuple[Param, ...]
    result: Type
    body: Block
    span: Span


@final
@dataclass(eq=False, slots=True)
class Region:
    """A branch-free group of tensor operations with the shape arithmetic between them.

    `params` are tensors, and scalars or lists of tensors where a backend can take them;
    `body` holds only `TensorOp` and pure `HostOp`; weights appear as `WeightRef` leaves.
    """

    name: str
    params: tuple[Value, ...]
    body: tuple[TensorOp | HostOp, ...]
    results: tuple[Value, ...]
    span: Span
    #: Whether an operation writes to a parameter's storage or a result is a view of one
    #: that is written later: then only a backend that keeps aliasing may take it.
    aliasing: bool = False

    def weights(self) -> tuple[WeightRef, ...]:
        """The weights used, each once, in order of use."""
        from torch2cpp.hostir.ops import leaves, operands

        seen: dict[str, WeightRef] = {}
        for op in self.body:
            for leaf in leaves(operands(op)):
                if isinstance(leaf, WeightRef):
                    seen.setdefault(leaf.name, leaf)
        return tuple(seen.values())


@final
@dataclass(eq=False, slots=True)
class Struct:
    """Fields of a user class whose objects live at run time, or of dicts with known keys."""

    name: str
    fields: dict[str, Type] = field(default_factory=dict)
    span: Span | None = None
    #: What Python gets back: an object of the class of this name, or a dict.
    kind: Literal["object", "dict"] = "object"


@final
@dataclass(eq=False, slots=True)
class Program:
    """Everything that emission needs to know."""

    #: C++ name of the project and namespace, such as `early_exit`.
    name: str
    #: C++ class, the Python model's class name.
    class_name: str
    entries: dict[str, Function]
    #: Recursive functions, by unique name.
    functions: dict[str, Function]
    cells: list[Cell]
    weights: dict[str, torch.Tensor]
    structs: dict[StructType, Struct]
    regions: dict[str, Region]
    #: Entry -> its functions in `entries`, one per kind of input, where examples differ in rank, dtype or
    #: structure in a way that one function cannot carry. The caller takes the first whose parameters fit.
    variants: dict[str, tuple[str, ...]] = field(default_factory=dict)
    #: Python files whose lines appear in spans, the model's own first.
    sources: tuple[str, ...] = ()
