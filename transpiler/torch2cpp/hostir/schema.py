"""What an ATen operator's schema says: its parameters, results, writes and aliases.

Where a schema keeps silent about an alias or a write, this module knows better (`_HIDDEN_*`).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any, final

import torch

from torch2cpp.hostir.ops import Operand, TensorOp

#: Composite operators that may return an argument's storage although their schema has no alias:
#: dropout when not training, einsum of a permutation, type_as of the same type, ...
_HIDDEN_ALIASES = frozenset(
    {
        "alpha_dropout",
        "atleast_1d",
        "atleast_2d",
        "atleast_3d",
        "broadcast_tensors",
        "cartesian_prod",
        "chalf",
        "conj_physical",
        "data",
        "dequantize",
        "dropout",
        "einsum",
        "feature_alpha_dropout",
        "feature_dropout",
        "meshgrid",
        "sum_to_size",
        "to_dense",
        "type_as",
        "unsafe_chunk",
        "unsafe_split",
        "unsafe_split_with_sizes",
    }
)
#: Operators that write arguments without saying so, and the flag that makes them do it.
_HIDDEN_WRITES = {
    "batch_norm": ("training", ("running_mean", "running_var")),
    "native_batch_norm": ("training", ("running_mean", "running_var")),
    "cudnn_batch_norm": ("training", ("running_mean", "running_var")),
    "instance_norm": ("use_input_stats", ("running_mean", "running_var")),
}
#: Operators that draw random numbers only where this argument says so (true, or not 0).
_RANDOM_WHEN = {
    "alpha_dropout": "train",
    "dropout": "train",
    "feature_alpha_dropout": "train",
    "feature_dropout": "train",
    "gru": "train",
    "lstm": "train",
    "native_dropout": "train",
    "rnn_relu": "train",
    "rnn_tanh": "train",
    "rrelu": "training",
    "scaled_dot_product_attention": "dropout_p",
}


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


def written_operands(op: TensorOp) -> list[Operand]:
    """The operands whose storage the operation writes."""
    bound = bound_arguments(op)
    written = [operand for arg, operand in bound if arg.writes]
    flag, names = _HIDDEN_WRITES.get(_name(op), ("", ()))
    given = {arg.name: operand for arg, operand in bound}
    if names and given.get(flag) is not False:
        written += [given[n] for n in names if given.get(n) is not None]
    return written


def aliased_operands(op: TensorOp, index: int) -> list[Operand]:
    """The operands whose storage the result at `index`, or an element of it, may share."""
    info = schema_info(op.overload)
    bound = bound_arguments(op)
    if _name(op) in _HIDDEN_ALIASES or (_name(op).startswith("_") and _is_silent_composite(op.overload)):
        return [operand for arg, operand in bound if "Tensor" in arg.type]
    # Elements of a tensor list have no alias set of their own: the argument carries a wildcard.
    named = info.results[index] or frozenset("*")
    return [operand for arg, operand in bound if arg.alias & named]


def changes_sizes(op: TensorOp) -> bool:
    """Whether the operation gives a tensor other sizes, strides or storage in place: `resize_`, `t_`, `set_`, ..."""
    return torch.Tag.inplace_view in op.overload.tags


def is_random(op: TensorOp) -> bool:
    """Whether the operation draws from the random number generator."""
    if not schema_info(op.overload).random:
        return False
    flag = _RANDOM_WHEN.get(_name(op))
    if flag is None:
        return True
    given = {arg.name: operand for arg, operand in bound_arguments(op)}
    defaults = {arg.name: arg.default for arg in schema_info(op.overload).args}
    value = given.get(flag, defaults.get(flag))
    return not (isinstance(value, bool | int | float) and not value)


def _name(op: TensorOp) -> str:
    return str(op.overload._schema.name).partition("::")[2]


@cache
def _is_silent_composite(overload: torch._ops.OpOverload) -> bool:
    """Whether it is made of other operators and its schema names no alias: then nothing is known."""
    composite = overload.has_kernel_for_dispatch_key(torch._C.DispatchKey.CompositeImplicitAutograd)
    return composite and not any(a.alias for a in schema_info(overload).args)
