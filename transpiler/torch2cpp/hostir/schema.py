"""What an ATen operator's schema says: its parameters, results, writes and aliases."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any, final

import torch

from torch2cpp.hostir.ops import Operand, TensorOp


@final
@dataclass(frozen=True, slots=True)
class SchemaArg:
    """One parameter of an operator."""

    name: str
    #: As the schema prints it: "Tensor", "Optional[Tensor]", "List[int]", "number", ...
    type: str
    kwarg_only: bool
    required: bool
    default: Any
    #: Alias sets it belongs to; empty for what is only read and not aliased.
    alias: frozenset[str]
    writes: bool


@final
@dataclass(frozen=True, slots=True)
class SchemaInfo:
    """An operator's schema, digested."""

    args: tuple[SchemaArg, ...]
    #: Alias sets of each result; "*" is a wildcard: it may alias any argument.
    results: tuple[frozenset[str], ...]
    #: Whether it draws random numbers.
    random: bool

    @property
    def writes(self) -> bool:
        """Whether it writes to any argument's storage."""
        return any(a.writes for a in self.args)


@cache
def schema_info(overload: torch._ops.OpOverload) -> SchemaInfo:
    """The digested schema of one overload."""
    schema = overload._schema
    args = tuple(
        SchemaArg(
            a.name,
            str(a.type),
            a.kwarg_only,
            not a.has_default_value(),
            a.default_value if a.has_default_value() else None,
            frozenset() if a.alias_info is None else frozenset(a.alias_info.before_set | a.alias_info.after_set),
            a.alias_info is not None and a.alias_info.is_write,
        )
        for a in schema.arguments
    )
    results = tuple(
        frozenset() if r.alias_info is None else frozenset(r.alias_info.before_set | r.alias_info.after_set)
        for r in schema.returns
    )
    return SchemaInfo(args, results, torch.Tag.nondeterministic_seeded in overload.tags)


def bound_arguments(op: TensorOp) -> list[tuple[SchemaArg, Operand]]:
    """The operands given, each with its parameter; defaults that were left out are not listed.

    Raises ValueError for operands the schema has no parameter for.
    """
    info = schema_info(op.overload)
    positional = [a for a in info.args if not a.kwarg_only]
    if len(op.args) > len(positional):
        raise ValueError(f"{op.overload} takes {len(positional)} positional operands, not {len(op.args)}")
    bound = list(zip(positional, op.args, strict=False))
    by_name = {a.name: a for a in info.args}
    for name, operand in op.kwargs.items():
        if name not in by_name or any(a.name == name for a, _ in bound):
            raise ValueError(f"{op.overload} has no further parameter {name}")
        bound.append((by_name[name], operand))
    return bound
