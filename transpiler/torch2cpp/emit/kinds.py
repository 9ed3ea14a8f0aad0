"""Types of the host IR as kinds (`torch2cpp/kinds.h`): what bindings, runner and C API convert by."""

from __future__ import annotations

from torch2cpp.emit.cpp_types import CppTypes
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
)


def kind(t: Type, types: CppTypes) -> str:
    """The kind of a type.

    >>> from torch2cpp.hostir.types import INT
    >>> kind(TupleType((INT, ListType(INT)), "list"), CppTypes({}, set()))
    'kind::FixedList<kind::Int, kind::List<kind::Int>>'
    """

    def several(name: str, *inner: Type) -> str:
        return f"kind::{name}<{', '.join(kind(i, types) for i in inner)}>"

    match t:
        case TensorType():
            return "kind::Tensor"
        case ScalarType():
            return f"kind::{t.kind.capitalize()}"
        case NoneType() | NeverType():
            return "kind::None"
        case OptionalType():
            return several("Absent" if t.absent else "Optional", t.elem)
        case ListType():
            return several({"list": "List", "deque": "Deque", "tuple": "LongTuple"}[t.kind.partition(" ")[0]], t.elem)
        case TupleType():
            return several("FixedList" if t.kind == "list" else "Tuple", *t.elems)
        case RecordType():
            return f"kind::Record<{types.qualified(t)}>"
        case DictType():
            return several("Dict", t.key, t.value)
        case SetType():
            return several("Set", t.elem)
        case StructType():
            return f"kind::Object<{types.qualified(t)}>"
        case UnionType():
            return several("Union", *t.members)
