"""The value of a state variable before the first call, as C++."""

from __future__ import annotations

from typing import Any

import torch

from torch2cpp.emit import literals
from torch2cpp.emit.cpp_types import CppTypes, spell
from torch2cpp.hostir.ops import Cell
from torch2cpp.hostir.pyvalues import field_of, has_fields, own_fields
from torch2cpp.hostir.types import (
    DictType,
    ListType,
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


def state_tensors(cell: Cell) -> dict[str, torch.Tensor]:
    """The tensors among a cell's initial value, by their names in weights.safetensors."""
    out: dict[str, torch.Tensor] = {}
    _collect(cell.initial, cell.name, out)
    return out


def _collect(value: Any, name: str, out: dict[str, torch.Tensor]) -> None:
    if isinstance(value, torch.Tensor):
        out[name] = value.detach()
    elif isinstance(value, list | tuple):
        for i, item in enumerate(value):
            _collect(item, f"{name}.{i}", out)
    elif isinstance(value, dict):
        for key, item in value.items():
            _collect(item, f"{name}.{key}", out)
    elif has_fields(value) and not isinstance(value, type):
        for key, item in own_fields(value).items():
            _collect(item, f"{name}.{key}", out)


def initial_value(value: Any, t: Type, name: str, types: CppTypes) -> str:
    """A C++ expression; tensors are cloned from the weights, so that a reset starts afresh."""

    def sub(inner: Any, inner_type: Type, key: Any) -> str:
        return initial_value(inner, inner_type, f"{name}.{key}", types)

    made = spell(t, types)
    match t:
        case OptionalType():
            return f"{made}{{}}" if value is None else f"{made}({initial_value(value, t.elem, name, types)})"
        case NoneType():
            return "std::monostate{}"
        case TensorType():
            return f"py::clone(weights.get({literals.string(name)}))"
        case ScalarType():
            text = literals.constant(float(value) if t.kind == "float" else value)
            return f"int64_t{{{text}}}" if t.kind == "int" else f"{made}({text})" if t.kind == "str" else text
        case ListType():
            return f"{made}::of({', '.join(sub(x, t.elem, i) for i, x in enumerate(value))})"
        case SetType():
            return f"{made}::of({', '.join(sorted(sub(x, t.elem, i) for i, x in enumerate(value)))})"
        case DictType():
            items = [x for k, v in value.items() for x in (sub(k, t.key, "key"), sub(v, t.value, k))]
            return f"{made}::of({', '.join(items)})"
        case TupleType():
            return f"{made}{{{', '.join(sub(x, e, i) for i, (x, e) in enumerate(zip(value, t.elems)))}}}"
        case RecordType():
            return f"{made}{{{', '.join(sub(_member(value, k), f, k) for k, f in t.fields)}}}"
        case StructType():
            record = types.record(t)
            return (
                f"py::make<{record.cpp_name}>({', '.join(sub(_member(value, k), f, k) for k, _, f in record.fields)})"
            )
        case UnionType():
            return _union(value, t, name, types)
    raise TypeError(f"state {name} of type {t} has no initial value in C++")


def _member(value: Any, key: str) -> Any:
    return value[key] if isinstance(value, dict) else field_of(value, key)


def _union(value: Any, t: UnionType, name: str, types: CppTypes) -> str:
    from torch2cpp.hostir.pyvalues import holds

    for i, member in enumerate(t.members):
        if holds(value, member):
            return f"{spell(t, types)}(std::in_place_index<{i}>, {initial_value(value, member, name, types)})"
    raise TypeError(f"state {name}: {value!r} is no member of {t}")
