"""Operands as C++ expressions, spelled for the C++ parameter they go to."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, final

import torch

from torch2cpp.hostir.ops import Value, WeightRef
from torch2cpp.hostir.types import ListType, ScalarType, TensorType, TupleType

#: What overload resolution sees of an expression.
Category = Literal[
    "tensor", "tensors", "optional tensors", "int", "float", "bool", "complex", "ints", "floats", "bools",
    "scalars", "dtype", "layout", "device", "memory_format", "options", "string", "none", "optional",
]  # fmt: skip

DTYPES = {
    torch.uint8: "at::kByte",
    torch.int8: "at::kChar",
    torch.int16: "at::kShort",
    torch.int32: "at::kInt",
    torch.int64: "at::kLong",
    torch.float16: "at::kHalf",
    torch.float32: "at::kFloat",
    torch.float64: "at::kDouble",
    torch.complex32: "at::kComplexHalf",
    torch.complex64: "at::kComplexFloat",
    torch.complex128: "at::kComplexDouble",
    torch.bool: "at::kBool",
    torch.bfloat16: "at::kBFloat16",
    torch.uint16: "at::kUInt16",
    torch.uint32: "at::kUInt32",
    torch.uint64: "at::kUInt64",
    torch.float8_e4m3fn: "at::kFloat8_e4m3fn",
    torch.float8_e5m2: "at::kFloat8_e5m2",
}
MEMORY_FORMATS = {
    torch.contiguous_format: "at::MemoryFormat::Contiguous",
    torch.channels_last: "at::MemoryFormat::ChannelsLast",
    torch.channels_last_3d: "at::MemoryFormat::ChannelsLast3d",
    torch.preserve_format: "at::MemoryFormat::Preserve",
    # Defaults in schemas are the enumerators' numbers.
    0: "at::MemoryFormat::Contiguous",
    1: "at::MemoryFormat::Preserve",
    2: "at::MemoryFormat::ChannelsLast",
    3: "at::MemoryFormat::ChannelsLast3d",
}
#: C++ parameter type -> category of the expressions it takes, in the order tried.
_SCALAR: tuple[Category, ...] = ("int", "float", "bool", "complex")
_NUMBER: tuple[Category, ...] = ("int", "float", "bool")
ACCEPTS: dict[str, tuple[Category, ...]] = {
    # A list in braces with one tensor in it could be that tensor.
    "at::Tensor": ("tensor", "tensors"),
    "at::Tensor&": ("tensor",),
    "std::optional<at::Tensor>": ("tensor", "tensors", "none"),
    "at::TensorList": ("tensors", "tensor"),
    "at::ITensorListRef": ("tensors", "tensor"),
    "c10::List<std::optional<at::Tensor>>": ("optional tensors",),
    "at::Scalar": _SCALAR,
    "std::optional<at::Scalar>": (*_SCALAR, "none"),
    "at::ArrayRef<at::Scalar>": ("scalars",),
    "int64_t": _NUMBER,
    "c10::SymInt": _NUMBER,
    "std::optional<int64_t>": (*_NUMBER, "none"),
    "std::optional<c10::SymInt>": (*_NUMBER, "none"),
    "bool": _NUMBER,
    "std::optional<bool>": (*_NUMBER, "none"),
    "double": _NUMBER,
    "std::optional<double>": (*_NUMBER, "none"),
    "at::IntArrayRef": ("ints", "int"),
    "c10::SymIntArrayRef": ("ints", "int"),
    "at::OptionalIntArrayRef": ("ints", "int", "none"),
    "at::OptionalSymIntArrayRef": ("ints", "int", "none"),
    "std::optional<at::ArrayRef<double>>": ("floats", "none"),
    "at::ArrayRef<double>": ("floats",),
    "at::ScalarType": ("dtype",),
    "std::optional<at::ScalarType>": ("dtype", "none"),
    "at::Layout": ("layout",),
    "std::optional<at::Layout>": ("layout", "none"),
    "at::Device": ("device",),
    "std::optional<at::Device>": ("device", "none"),
    "at::MemoryFormat": ("memory_format",),
    "std::optional<at::MemoryFormat>": ("memory_format", "none"),
    "at::TensorOptions": ("options", "dtype", "layout", "device"),
    "c10::string_view": ("string",),
    "std::optional<c10::string_view>": ("string", "none"),
    "std::optional<at::Generator>": ("none",),
    "std::array<bool,2>": ("bools",),
    "std::array<bool,3>": ("bools",),
    "std::array<bool,4>": ("bools",),
    "std::optional<at::DimnameList>": ("none",),
}


@final
class Unspellable(Exception):
    """The operand has no C++ form for the parameter; the message says why."""


@final
@dataclass(frozen=True, slots=True)
class Expression:
    """C++ text and what overload resolution makes of it."""

    text: str
    category: Category


def spell(operand: Any, type_: str, name_of: Callable[[Value | WeightRef], str], length: int | None) -> Expression:
    """`operand` for a parameter of C++ type `type_`.

    `length` is the fixed length of a schema type such as `int[2]`, which a single int fills.
    Raises Unspellable.
    """
    if operand is None:
        if "none" not in ACCEPTS.get(type_, ()):
            raise Unspellable(f"None for a C++ parameter of type {type_}")
        return Expression("std::nullopt", "none")
    match type_:
        case "at::Tensor" | "std::optional<at::Tensor>":
            return Expression(_tensor(operand, name_of), "tensor")
        case "at::Tensor&":
            # `out=`: handles are constant here, what they refer to is not.
            return Expression(f"writable({_tensor(operand, name_of)})", "tensor")
        case "at::TensorList" | "at::ITensorListRef":
            return Expression(_tensors(operand, name_of), "tensors")
        case "c10::List<std::optional<at::Tensor>>":
            items = ["std::nullopt" if x is None else _tensor(x, name_of) for x in operand]
            return Expression(f"OptionalTensors({{{', '.join(items)}}})", "optional tensors")
        case "at::Scalar" | "std::optional<at::Scalar>":
            return scalar(operand, name_of)
        case "int64_t" | "c10::SymInt" | "std::optional<int64_t>" | "std::optional<c10::SymInt>":
            return _optional(type_, Expression(_int(operand, name_of), "int"))
        case "bool" | "std::optional<bool>":
            text = scalar(operand if isinstance(operand, Value) else bool(operand), name_of).text
            return _optional(type_, Expression(text, "bool"))
        case "double" | "std::optional<double>":
            text = scalar(operand if isinstance(operand, Value) else float(operand), name_of).text
            return _optional(type_, Expression(text, "float"))
    return _spell_rest(operand, type_, name_of, length)


def _spell_rest(
    operand: Any, type_: str, name_of: Callable[[Value | WeightRef], str], length: int | None
) -> Expression:
    match type_:
        case "at::IntArrayRef" | "at::OptionalIntArrayRef":
            return Expression(_ints(operand, name_of, length), "ints")
        case "c10::SymIntArrayRef" | "at::OptionalSymIntArrayRef":
            return Expression(f"c10::fromIntArrayRefSlow({_ints(operand, name_of, length)})", "ints")
        case "at::ArrayRef<double>" | "std::optional<at::ArrayRef<double>>":
            items = ", ".join(scalar(x if isinstance(x, Value) else float(x), name_of).text for x in operand)
            return Expression(f"at::ArrayRef<double>({{{items}}})", "floats")
        case "at::ArrayRef<at::Scalar>":
            items = ", ".join(f"at::Scalar({scalar(x, name_of).text})" for x in operand)
            return Expression(f"at::ArrayRef<at::Scalar>({{{items}}})", "scalars")
        case "at::ScalarType" | "std::optional<at::ScalarType>":
            return Expression(DTYPES[operand], "dtype")
        case "at::Layout" | "std::optional<at::Layout>":
            if operand is not torch.strided:
                raise Unspellable(f"layout {operand}")
            return Expression("at::kStrided", "layout")
        case "at::Device" | "std::optional<at::Device>":
            if torch.device(operand).type != "cpu":
                raise Unspellable(f"device {operand}")
            return Expression("at::kCPU", "device")
        case "at::MemoryFormat" | "std::optional<at::MemoryFormat>":
            return Expression(MEMORY_FORMATS[operand], "memory_format")
        case "c10::string_view" | "std::optional<c10::string_view>":
            text = name_of(operand) if isinstance(operand, Value) else json.dumps(operand)
            return Expression(text, "string")
        case "std::array<bool,2>" | "std::array<bool,3>" | "std::array<bool,4>":
            return Expression(f"{type_}{{{', '.join('true' if x else 'false' for x in operand)}}}", "bools")
    raise Unspellable(f"C++ parameter type {type_}")


def options(dtype: Any, layout: Any, device: Any, pin_memory: Any) -> Expression | None:
    """at::TensorOptions from the four schema arguments it stands for; None when all are absent."""
    if layout not in (None, torch.strided):
        raise Unspellable(f"layout {layout}")
    if device is not None and torch.device(device).type != "cpu":
        raise Unspellable(f"device {device}")
    if pin_memory:
        raise Unspellable("pinned memory")
    # The CPU and strided are what options say when they say nothing.
    return None if dtype is None else Expression(DTYPES[dtype], "dtype")


def scalar(operand: Any, name_of: Callable[[Value | WeightRef], str]) -> Expression:
    """A number."""
    match operand:
        case Value(type=ScalarType(kind=("int" | "float" | "bool" | "complex") as kind)):
            category: dict[str, Category] = {"int": "int", "float": "float", "bool": "bool", "complex": "complex"}
            return Expression(name_of(operand), category[kind])
        case bool():
            return Expression("true" if operand else "false", "bool")
        case int():
            return Expression(int_literal(operand), "int")
        case float():
            return Expression(float_literal(operand), "float")
        case complex():
            parts = f"{float_literal(operand.real)}, {float_literal(operand.imag)}"
            return Expression(f"c10::complex<double>({parts})", "complex")
    raise Unspellable(f"{operand!r} as a number")


def int_literal(value: int) -> str:
    """An int64_t constant.

    >>> int_literal(-3), int_literal(2**40), int_literal(-2**63)
    ('-3', 'int64_t{1099511627776}', 'std::numeric_limits<int64_t>::min()')
    """
    if value == -(2**63):
        return "std::numeric_limits<int64_t>::min()"
    if not -(2**63) < value < 2**63:
        raise Unspellable(f"{value} does not fit in 64 bits")
    return str(value) if -(2**31) < value < 2**31 else f"int64_t{{{value}}}"


def float_literal(value: float) -> str:
    """A double constant with every bit kept.

    >>> float_literal(0.1), float_literal(1e-05), float_literal(2.0), float_literal(float("-inf"))
    ('0.1', '1e-05', '2.0', '-std::numeric_limits<double>::infinity()')
    """
    if math.isnan(value):
        return "std::numeric_limits<double>::quiet_NaN()"
    if math.isinf(value):
        return ("-" if value < 0 else "") + "std::numeric_limits<double>::infinity()"
    return repr(value)


def _optional(type_: str, expression: Expression) -> Expression:
    # optional<SymInt> takes no int64_t by itself.
    if type_ == "std::optional<c10::SymInt>":
        return Expression(f"c10::SymInt({expression.text})", expression.category)
    return expression


def _tensor(operand: Any, name_of: Callable[[Value | WeightRef], str]) -> str:
    if isinstance(operand, WeightRef) or (isinstance(operand, Value) and isinstance(operand.type, TensorType)):
        return name_of(operand)
    # A number where the schema says Tensor: Python wraps it, and it does not take part in type promotion.
    return f"number({scalar(operand, name_of).text})"


def _tensors(operand: Any, name_of: Callable[[Value | WeightRef], str]) -> str:
    if isinstance(operand, Value):
        if isinstance(operand.type, ListType | TupleType):
            return name_of(operand)
        raise Unspellable(f"a {operand.type} as a list of tensors")
    return f"{{{', '.join(_tensor(x, name_of) for x in operand)}}}" if operand else "at::TensorList()"


def _int(operand: Any, name_of: Callable[[Value | WeightRef], str]) -> str:
    if isinstance(operand, Value):
        if operand.type not in (ScalarType("int"), ScalarType("bool")):
            raise Unspellable(f"a {operand.type} as an int")
        return name_of(operand)
    if isinstance(operand, int):
        return int_literal(int(operand))
    raise Unspellable(f"{operand!r} as an int")


def _ints(operand: Any, name_of: Callable[[Value | WeightRef], str], length: int | None) -> str:
    if isinstance(operand, Value) and isinstance(operand.type, ListType):
        return f"{name_of(operand)}.items()"
    items = operand if isinstance(operand, list | tuple) else [operand] * (length or 1)
    return f"Ints({{{', '.join(_int(x, name_of) for x in items)}}})" if items else "Ints()"
