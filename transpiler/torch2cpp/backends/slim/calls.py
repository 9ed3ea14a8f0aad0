"""One TensorOp as one call of an operator of slim's runtime."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import torch

from torch2cpp.backends.aten.expressions import DTYPES, Unspellable, int_literal, scalar
from torch2cpp.backends.slim.operators import function_name, operators
from torch2cpp.hostir.ops import TensorOp, Value, WeightRef
from torch2cpp.hostir.types import ListType, ScalarType, TensorType, TupleType

NameOf = Callable[[Value | WeightRef], str]

#: Arguments that say nothing on the CPU, or nothing about results.
_IGNORED = frozenset(
    {"pin_memory", "non_blocking", "padding_idx", "scale_grad_by_freq", "sparse", "cudnn_enabled", "path"}
)
#: Dtypes that the runtime computes in.
COMPUTED = frozenset(
    {torch.bool, torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64, torch.uint16, torch.uint32}
    | {torch.uint64, torch.float16, torch.bfloat16, torch.float32, torch.float64}
)
_FORMATS = (None, torch.contiguous_format, torch.preserve_format, 0, 1)


def call(op: TensorOp, name_of: NameOf) -> str:
    """The C++ call of an operation. Raises Unspellable where the runtime has no such operator."""
    namespace, _, base = op.overload._schema.name.partition("::")
    if op.indexed is not None:
        given = ", ".join([_tensor(op.args[0], name_of), *(_int(a, name_of) for a in (*op.args[1:], op.indexed))])
        return f"torch2cpp::subscript({given})"
    operator = operators().get(function_name(base, op.overload._schema.overload_name))
    if namespace != "aten" or operator is None:
        raise Unspellable(f"programs without libtorch have no operator {op.overload}")
    given_args = _bound(op)
    wanted = {name for _, name in operator.params}
    for name, (operand, default, _) in given_args.items():
        if name not in wanted:
            _check_ignorable(op, name, operand, default)
    parts = []
    for type_, name in operator.params:
        if name not in given_args:
            raise Unspellable(f"operator {op.overload} has no argument {name}")
        operand, _, length = given_args[name]
        parts.append(spell(operand, type_, name_of, length))
    return f"op::{operator.name}({', '.join(parts)})"


def _bound(op: TensorOp) -> dict[str, tuple[Any, Any, int | None]]:
    """Every argument by name: what is given, the default, and N of a type such as `int[N]`."""
    out = {}
    for i, argument in enumerate(op.overload._schema.arguments):
        default = argument.default_value if argument.has_default_value() else None
        if i < len(op.args) and not argument.kwarg_only:
            operand = op.args[i]
        elif argument.name in op.kwargs:
            operand = op.kwargs[argument.name]
        elif argument.has_default_value():
            operand = torch.int64 if default == 4 and "ScalarType" in str(argument.real_type) else default
        else:
            raise Unspellable(f"argument {argument.name} of {op.overload} is missing")
        out[argument.name] = (operand, default, getattr(argument, "N", None))
    return out


def _check_ignorable(op: TensorOp, name: str, operand: Any, default: Any) -> None:
    known = (
        name in _IGNORED
        or (name == "layout" and operand in (None, torch.strided))
        or (name == "device" and (operand is None or torch.device(operand).type == "cpu"))
        or (name == "memory_format" and operand in _FORMATS)
        or (not isinstance(operand, Value | WeightRef) and type(operand) is type(default) and operand == default)
    )
    if not known:
        raise Unspellable(f"programs without libtorch have {op.overload} without the argument {name}={operand!r}")


def spell(operand: Any, type_: str, name_of: NameOf, length: int | None) -> str:
    """An operand for a parameter of C++ type `type_`. Raises Unspellable."""
    optional = type_.startswith("std::optional<") or type_ == "OptionalTensor"
    if operand is None:
        if not optional:
            raise Unspellable(f"None for a C++ parameter of type {type_}")
        return "std::nullopt"
    match type_.removeprefix("std::optional<").removesuffix(">") if optional else type_:
        case "Tensor" | "OptionalTensor":
            return _tensor(operand, name_of)
        case "Tensors":
            return _tensors(operand, name_of)
        case "OptionalTensors":
            items = ["std::nullopt" if x is None else _tensor(x, name_of) for x in operand]
            return f"OptionalTensors{{{', '.join(items)}}}"
        case "Number":
            return f"Number({scalar(operand, name_of).text})"
        case "int64_t":
            return _int(operand, name_of)
        case "bool":
            return scalar(operand if isinstance(operand, Value) else bool(operand), name_of).text
        case "double":
            return _double(operand, name_of)
        case "Ints":
            return _ints(operand, name_of, length)
        case "Doubles":
            return f"Doubles{{{', '.join(_double(x, name_of) for x in operand)}}}"
        case "ScalarType" if operand not in COMPUTED:
            raise Unspellable(f"programs without libtorch do not compute in {operand}")
        case "ScalarType":
            return f"ScalarType::{DTYPES[operand].removeprefix('at::k')}"
        case "std::string_view":
            return name_of(operand) if isinstance(operand, Value) else json.dumps(operand)
    raise Unspellable(f"C++ parameter type {type_}")


def _tensor(operand: Any, name_of: NameOf) -> str:
    if isinstance(operand, WeightRef) or (isinstance(operand, Value) and isinstance(operand.type, TensorType)):
        return name_of(operand)
    # A number where the schema says Tensor: Python wraps it, and it does not take part in type promotion.
    return f"number({scalar(operand, name_of).text})"


def _tensors(operand: Any, name_of: NameOf) -> str:
    if isinstance(operand, Value):
        if isinstance(operand.type, ListType | TupleType):
            return name_of(operand)
        raise Unspellable(f"a {operand.type} as a list of tensors")
    return f"Tensors{{{', '.join(_tensor(x, name_of) for x in operand)}}}"


def _int(operand: Any, name_of: NameOf) -> str:
    if isinstance(operand, Value) and operand.type in (ScalarType("int"), ScalarType("bool")):
        return name_of(operand)
    if isinstance(operand, int):
        return int_literal(int(operand))
    raise Unspellable(f"{operand!r} as an int")


def _double(operand: Any, name_of: NameOf) -> str:
    return scalar(operand if isinstance(operand, Value) else float(operand), name_of).text


def _ints(operand: Any, name_of: NameOf, length: int | None) -> str:
    if isinstance(operand, Value) and isinstance(operand.type, ListType):
        return f"{name_of(operand)}.items()"
    items = operand if isinstance(operand, list | tuple) else [operand] * (length or 1)
    return f"Ints({{{', '.join(_int(x, name_of) for x in items)}}})" if items else "Ints(std::span<const int64_t>())"
