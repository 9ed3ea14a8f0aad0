"""Types of the host IR as C++ types."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, final

import torch

from torch2cpp.emit.names import Scope, class_identifier
from torch2cpp.hostir.program import Struct
from torch2cpp.hostir.types import (
    DictType,
    ListType,
    NeverType,
    NoneType,
    OptionalType,
    RecordType,
    ScalarType,
    SetType,
    StructType,
    TensorType,
    TupleType,
    Type,
    UnionType,
    is_reference,
)

_SCALARS = {
    "bool": "bool",
    "int": "int64_t",
    "float": "double",
    "str": "std::string",
    "complex": "std::complex<double>",
}
#: torch dtype -> enumerator of torch::headeronly::ScalarType.
DTYPES = {
    torch.uint8: "Byte",
    torch.int8: "Char",
    torch.int16: "Short",
    torch.int32: "Int",
    torch.int64: "Long",
    torch.float16: "Half",
    torch.float32: "Float",
    torch.float64: "Double",
    torch.complex64: "ComplexFloat",
    torch.complex128: "ComplexDouble",
    torch.bool: "Bool",
    torch.bfloat16: "BFloat16",
    torch.uint16: "UInt16",
    torch.uint32: "UInt32",
    torch.uint64: "UInt64",
}


@final
@dataclass(frozen=True, slots=True)
class Record:
    """A generated C++ struct for a RecordType or a StructType."""

    cpp_name: str
    #: Name of the Python class, empty for a dict.
    python_name: str
    kind: Literal["dict", "namedtuple", "object", "struct"]
    #: (Python name, C++ name, type)
    fields: tuple[tuple[str, str, Type], ...]


@final
class CppTypes:
    """Spells types; hands out the names of generated structs.

    Two record types with the same Python name and different fields are different structs.
    """

    def __init__(self, structs: Mapping[StructType, Struct], taken: set[str], namespace: str = "") -> None:
        self.namespace = namespace
        self._names = Scope(taken)
        self._structs: dict[StructType, Record] = {}
        self._records: dict[tuple[object, ...], Record] = {}
        for struct in structs:
            form: Literal["dict", "struct"] = "dict" if structs[struct].kind == "dict" else "struct"
            self._structs[struct] = self._record(struct.name, form, tuple(structs[struct].fields.items()))

    @property
    def structs(self) -> tuple[Record, ...]:
        """Structs for objects of user classes."""
        return tuple(self._structs.values())

    def record(self, t: RecordType | StructType) -> Record:
        """The C++ struct of a record or of a user class."""
        if isinstance(t, StructType):
            return self._structs[t]
        # Dimensions do not matter in C++: records that differ in nothing else are one struct.
        key = (t.kind, t.name, tuple((k, _key_of(f)) for k, f in t.fields))
        if key not in self._records:
            self._records[key] = self._record(t.name, t.kind, t.fields)
        return self._records[key]

    @property
    def records(self) -> tuple[Record, ...]:
        """Structs for dicts with known keys, NamedTuples and the like, inner ones first."""
        return tuple(self._records.values())

    def name_of(self, t: RecordType | StructType) -> str:
        """The C++ name, making the struct where it is new; inner records come first."""
        if isinstance(t, RecordType):
            for _, field in t.fields:
                spell(field, self)
        return self.record(t).cpp_name

    def qualified(self, t: RecordType | StructType) -> str:
        """The C++ name with its namespace, for use outside of it."""
        return f"{self.namespace}::{self.name_of(t)}"

    def _record(self, name: str, kind: Literal["dict", "namedtuple", "object", "struct"],
                fields: tuple[tuple[str, Type], ...]) -> Record:  # fmt: skip
        scope = Scope()
        named = class_identifier(name) if kind != "dict" else dict_name([k for k, _ in fields])
        cpp = self._names.fresh(named or "Record")
        return Record(cpp, "" if kind == "dict" else name, kind, tuple((k, scope.fresh(k), t) for k, t in fields))


def dict_name(keys: Sequence[str]) -> str:
    """The name of the struct for dicts with these keys: the first two say what it is.

    >>> dict_name(["boxes", "class_scores", "labels"]), dict_name(["0", "1"]), dict_name([])
    ('BoxesClassScoresDict', 'Key0Key1Dict', 'EmptyDict')
    """
    words = [re.sub(r"[^0-9A-Za-z]+", "_", key).strip("_") for key in keys[:2]]
    parts = [class_identifier(f"key_{w}" if w[:1].isdigit() else w) for w in words if w]
    return f"{''.join(parts) or 'Empty'}Dict"


@final
class _NoRecords:
    """Spells records by their structure, for keys."""

    def name_of(self, t: RecordType | StructType) -> str:
        if isinstance(t, StructType):
            return t.name
        inner = ",".join(f"{k}:{_key_of(f)}" for k, f in t.fields)
        return f"{t.kind} {t.name}{{{inner}}}"


def _key_of(field: Type) -> str:
    absent = isinstance(field, OptionalType) and field.absent
    return f"{spell(field, _NoRecords())}{' if there' if absent else ''}"


def spell(t: Type, names: CppTypes | _NoRecords, tensor: str = "Tensor", runtime: str = "py") -> str:
    """The C++ type of a variable; `tensor` and `runtime` are how the file at hand writes the tensor type
    and the runtime's namespace: the public header spells both out.

    >>> types = CppTypes({}, set())
    >>> spell(ListType(OptionalType(ScalarType("int"))), types)
    'py::List<std::optional<int64_t>>'
    """

    def sub(inner: Type) -> str:
        return spell(inner, names, tensor, runtime)

    match t:
        case TensorType():
            return tensor
        case ScalarType():
            return _SCALARS[t.kind]
        case NoneType() | NeverType():
            return "std::monostate"
        case OptionalType():
            return f"std::optional<{sub(t.elem)}>"
        case ListType():
            return f"{runtime}::List<{sub(t.elem)}>"
        case TupleType():
            return f"std::tuple<{', '.join(map(sub, t.elems))}>"
        case RecordType():
            return names.name_of(t)
        case DictType():
            return f"{runtime}::Dict<{sub(t.key)}, {sub(t.value)}>"
        case SetType():
            return f"{runtime}::Set<{sub(t.elem)}>"
        case StructType():
            return f"std::shared_ptr<{names.name_of(t)}>"
        case UnionType():
            return f"std::variant<{', '.join(map(sub, t.members))}>"


def passed_by_value(t: Type) -> bool:
    """Whether a parameter of the type is copied: scalars, and whatever holds a reference that the callee may change."""
    match t:
        case ScalarType():
            return t.kind != "str"
        case NoneType() | NeverType() | ListType() | DictType() | SetType() | StructType():
            return True
        case OptionalType():
            return passed_by_value(t.elem)
        case TupleType():
            return any(is_reference(e) for e in t.elems)
        case RecordType():
            return any(is_reference(f) for _, f in t.fields)
        case UnionType():
            return any(map(is_reference, t.members))
        case TensorType():
            return False


def parameter(t: Type, names: CppTypes, tensor: str = "Tensor", runtime: str = "py") -> str:
    """The type of a function parameter, by value or by const reference."""
    text = spell(t, names, tensor, runtime)
    return text if passed_by_value(t) else f"const {text}&"


def describe(t: Type) -> str:
    """A type in words for comments: `float32 [?, 10]`, `int`, `list of bool []`.

    >>> describe(ListType(TensorType(torch.float32, (None, 10))))
    'list of float32 [?, 10]'
    """
    match t:
        case TensorType():
            dims = ", ".join("?" if d is None else str(d) for d in t.dims)
            return f"{str(t.dtype).removeprefix('torch.')} [{dims}]"
        case OptionalType():
            return f"{describe(t.elem)}, if there" if t.absent else f"{describe(t.elem)} or None"
        case ListType():
            return f"{t.kind} of {describe(t.elem)}"
        case TupleType():
            inner = ", ".join(map(describe, t.elems))
            return f"({inner})" if t.kind == "tuple" else f"[{inner}]"
        case RecordType():
            inner = ", ".join(f"{k}: {describe(f)}" for k, f in t.fields)
            return f"{t.name} with {inner}" if t.kind != "dict" else f"{{{inner}}}"
        case DictType():
            return f"dict of {describe(t.key)} to {describe(t.value)}"
        case SetType():
            return f"set of {describe(t.elem)}"
        case UnionType():
            return " or ".join(map(describe, t.members))
        case _:
            return str(t)


def default_value(t: Type) -> str:
    """The initializer of a variable that is assigned in branches; empty where the type has a cheap default."""
    if isinstance(t, ScalarType):
        return {"bool": "false", "int": "0", "float": "0.0"}.get(t.kind, "")
    return ""
