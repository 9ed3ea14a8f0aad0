"""Python values to and from what the reference interpreter holds in variables.

Inside, a tuple of either kind is a tuple, a record is a dict, a deque is a list and an object of
a user class is `host_ops._Object`; at the border each gets back the form its type names.
"""

from __future__ import annotations

import dataclasses
import enum
import functools
import inspect
from collections import deque
from collections.abc import Mapping, Sequence
from typing import Any, final

import torch

from torch2cpp.hostir.host_ops import INT_MAX, INT_MIN, Tagged, _Object
from torch2cpp.hostir.program import Struct
from torch2cpp.hostir.pyerror import IrFault
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
    limit_of,
    may_be_absent,
)

_SCALARS: dict[str, type] = {"bool": bool, "int": int, "float": float, "str": str, "complex": complex}
Structs = Mapping[StructType, Struct]


@final
class Named:
    """A result of a user class (NamedTuple, dataclass, object): its class name and its fields."""

    def __init__(self, class_name: str, fields: dict[str, Any]) -> None:
        self.class_name = class_name
        self.fields = fields

    def __getattr__(self, name: str) -> Any:
        try:
            return self.__dict__["fields"][name]
        except KeyError:
            raise AttributeError(name) from None

    def __getitem__(self, index: int) -> Any:
        return list(self.fields.values())[index]

    def __len__(self) -> int:
        return len(self.fields)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Named) and (self.class_name, self.fields) == (other.class_name, other.fields)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"{self.class_name}({', '.join(f'{k}={v!r}' for k, v in self.fields.items())})"


def to_internal(value: Any, type_: Type, where: str, structs: Structs, memo: dict[int, Any]) -> Any:
    """A Python value as a variable of `type_` holds it.

    Containers are copied, tensors are not (state passes clones); `memo` keeps what was shared
    shared. Raises TypeError or ValueError that names `where`, what was expected and what came.
    """
    if isinstance(value, enum.Enum) and isinstance(type_, ScalarType):
        value = value.value
    match type_:
        case OptionalType():
            return None if value is None else to_internal(value, type_.elem, where, structs, memo)
        case NoneType():
            if value is not None:
                raise _unexpected(where, type_, value)
            return None
        case ScalarType():
            return _scalar(value, type_, where)
        case TensorType():
            return _tensor(value, type_, where)
        case UnionType():
            return _member(value, type_, where, structs, memo)
        case TupleType():
            if not isinstance(value, list | tuple) or len(value) != len(type_.elems):
                raise _unexpected(where, type_, value)
            return tuple(
                to_internal(v, t, f"{where}[{i}]", structs, memo)
                for i, (v, t) in enumerate(zip(value, type_.elems, strict=True))
            )
        case RecordType():
            names = [k for k, t in type_.fields if not (may_be_absent(t) and k not in value)]
            fields = _fields_of(value, names, type_, where)
            if len(names) < len(type_.fields):
                fields = dict.fromkeys(k for k, _ in type_.fields) | dict(fields)
            return {k: to_internal(fields[k], t, f"{where}.{k}", structs, memo) for k, t in type_.fields}
        case ListType() if type_.kind == "tuple":
            if not isinstance(value, tuple):
                raise _unexpected(where, type_, value)
            return tuple(to_internal(v, type_.elem, f"{where}[{i}]", structs, memo) for i, v in enumerate(value))
        case ListType() | DictType() | SetType() | StructType():
            if id(value) not in memo:
                _fill_reference(value, type_, where, structs, memo)
            return memo[id(value)]
        case NeverType():
            raise _unexpected(where, type_, value)


def _fill_reference(value: Any, type_: Type, where: str, structs: Structs, memo: dict[int, Any]) -> None:
    """Puts the copy of a mutable container into `memo` before its elements: they may refer back to it."""
    match type_:
        case ListType() if isinstance(value, list | tuple | deque):
            items: list[Any] = []
            memo[id(value)] = items
            items.extend(to_internal(v, type_.elem, f"{where}[{i}]", structs, memo) for i, v in enumerate(value))
        case DictType() if isinstance(value, dict):
            mapping: dict[Any, Any] = {}
            memo[id(value)] = mapping
            for k, v in value.items():
                key = to_internal(k, type_.key, f"a key of {where}", structs, memo)
                mapping[key] = to_internal(v, type_.value, f"{where}[{k!r}]", structs, memo)
        case SetType() if isinstance(value, set | frozenset):
            memo[id(value)] = {to_internal(v, type_.elem, f"an element of {where}", structs, memo) for v in value}
        case StructType():
            struct = structs[type_]
            made = _Object(type_.name, {})
            memo[id(value)] = made
            names = [n for n, t in struct.fields.items() if not (may_be_absent(t) and not _has(value, n))]
            fields = value.fields if isinstance(value, Named) else _fields_of(value, names, type_, where)
            for name, t in struct.fields.items():
                made.fields[name] = (
                    to_internal(fields[name], t, f"{where}.{name}", structs, memo) if name in names else None
                )
        case _:
            raise _unexpected(where, type_, value)


def _unexpected(where: str, type_: Type, value: Any) -> TypeError:
    return TypeError(f"{where}: expected {type_}, got {describe(value)}")


def describe(value: Any) -> str:
    """What a value is, for messages: the type of a tensor, else the Python class.

    >>> describe(torch.zeros(2, 3)), describe(4)
    ('float32[2, 3]', 'int')
    """
    if isinstance(value, torch.Tensor):
        return str(TensorType(value.dtype, tuple(value.shape)))
    return type(value).__name__


def _scalar(value: Any, type_: ScalarType, where: str) -> Any:
    if type(value) is not _SCALARS[type_.kind]:
        raise _unexpected(where, type_, value)
    if isinstance(value, int) and not INT_MIN <= value <= INT_MAX:
        raise OverflowError(f"{where}: {value} does not fit in 64 bits")
    return value


def _tensor(value: Any, type_: TensorType, where: str) -> torch.Tensor:
    if not isinstance(value, torch.Tensor):
        raise _unexpected(where, type_, value)
    if value.dtype != type_.dtype or value.dim() != len(type_.dims):
        raise _unexpected(where, type_, value)
    for i, (size, want) in enumerate(zip(value.shape, type_.dims, strict=True)):
        if want is not None and size != want:
            raise ValueError(f"{where}: expected size {want} in dimension {i} of {type_}, got {describe(value)}")
    # The same object, where that can be: `x is y` may be asked.
    return value.detach() if value.requires_grad else value


def _member(value: Any, type_: UnionType, where: str, structs: Structs, memo: dict[int, Any]) -> Any:
    for i, member in enumerate(type_.members):
        try:
            return Tagged(i, to_internal(value, member, where, structs, dict(memo)))
        except (TypeError, ValueError):
            continue
    raise _unexpected(where, type_, value)


def _fields_of(value: Any, names: Sequence[str], type_: Type, where: str) -> Mapping[str, Any]:
    if isinstance(value, Named):
        found: Mapping[str, Any] = value.fields
    elif isinstance(value, Mapping):
        found = value
    elif hasattr(value, "_asdict"):
        found = value._asdict()
    elif dataclasses.is_dataclass(value) or has_fields(value):
        found = {name: field_of(value, name) for name in names if _is_cached(value, name) or hasattr(value, name)}
    else:
        raise _unexpected(where, type_, value)
    if missing := [name for name in names if name not in found]:
        raise TypeError(f"{where}: {describe(value)} lacks {', '.join(missing)} of {type_}")
    if isinstance(value, dict) and len(value) > len(names):
        more = [repr(key) for key in value if key not in names]
        raise TypeError(f"{where}: {', '.join(more)} in a dict for {type_}")
    return found


def has_fields(value: Any) -> bool:
    """Whether a value is an object with attributes of its own, in `__dict__` or in `__slots__`."""
    return hasattr(value, "__dict__") or any(cls.__dict__.get("__slots__") for cls in type(value).__mro__)


def own_fields(value: Any) -> dict[str, Any]:
    """The attributes of an object itself, by name."""
    slots = [n for cls in reversed(type(value).__mro__) for n in _slots(cls) if hasattr(value, n)]
    return {name: getattr(value, name) for name in slots} | getattr(value, "__dict__", {})


def _slots(cls: type) -> Sequence[str]:
    names = cls.__dict__.get("__slots__", ())
    return [n for n in ((names,) if isinstance(names, str) else names) if n not in ("__dict__", "__weakref__")]


def field_of(value: Any, name: str) -> Any:
    """A field of an object; None for a cached property that was not read yet."""
    return vars(value).get(name) if _is_cached(value, name) else getattr(value, name)


def _is_cached(value: Any, name: str) -> bool:
    return isinstance(inspect.getattr_static(type(value), name, None), functools.cached_property)


def to_python(value: Any, type_: Type, structs: Structs, memo: dict[int, Any] | None = None) -> Any:
    """A variable's value in the form Python had it: the nesting and the kinds its type names."""
    memo = {} if memo is None else memo
    match type_:
        case OptionalType():
            return None if value is None else to_python(value, type_.elem, structs, memo)
        case TupleType():
            items = [to_python(v, t, structs, memo) for v, t in zip(value, type_.elems, strict=True)]
            return items if type_.kind == "list" else tuple(items)
        case RecordType():
            fields = {k: to_python(value[k], t, structs, memo) for k, t in type_.fields if not is_absent(value[k], t)}
            return fields if type_.kind == "dict" else Named(type_.name, fields)
        case UnionType():
            held = tagged(value, type_)
            return to_python(held.value, type_.members[held.index], structs, memo)
        case ListType() if type_.kind == "tuple":
            return tuple(to_python(v, type_.elem, structs, memo) for v in value)
        case ListType() | DictType() | SetType() | StructType():
            if id(value) not in memo:
                _restore_reference(value, type_, structs, memo)
            return memo[id(value)]
        case _:
            return value


def _has(value: Any, name: str) -> bool:
    """Whether a dict has a key, or an object an attribute of its own."""
    if isinstance(value, Named):
        return name in value.fields
    return name in value if isinstance(value, Mapping) else name in own_fields(value)


def is_absent(value: Any, type_: Type) -> bool:
    """Whether the key of a field with this value is not in its dict."""
    return may_be_absent(type_) and value is None


def tagged(value: Any, type_: UnionType) -> Tagged:
    """A union's value with the number of its member, found by its kind where it has none yet."""
    if isinstance(value, Tagged):
        return value
    for i, member in enumerate(type_.members):
        if holds(value, member):
            return Tagged(i, value)
    raise IrFault(f"{describe(value)} is no member of {type_}")


def _restore_reference(value: Any, type_: Type, structs: Structs, memo: dict[int, Any]) -> None:
    match type_:
        case ListType():
            items: list[Any] | deque[Any] = [] if type_.kind == "list" else deque(maxlen=limit_of(type_.kind))
            memo[id(value)] = items
            items.extend(to_python(v, type_.elem, structs, memo) for v in value)
        case DictType():
            mapping: dict[Any, Any] = {}
            memo[id(value)] = mapping
            for k, v in value.items():
                mapping[to_python(k, type_.key, structs, memo)] = to_python(v, type_.value, structs, memo)
        case SetType():
            memo[id(value)] = {to_python(v, type_.elem, structs, memo) for v in value}
        case StructType():
            struct = structs[type_]
            fields: dict[str, Any] = {}
            memo[id(value)] = fields if struct.kind == "dict" else Named(type_.name, fields)
            for name, t in struct.fields.items():
                if name in value.fields and not is_absent(value.fields[name], t):
                    fields[name] = to_python(value.fields[name], t, structs, memo)


def holds(value: Any, type_: Type) -> bool:
    """Whether a variable of `type_` can hold this internal value; tells members of a union apart.

    >>> holds((1, 2.0), TupleType((ScalarType("int"), ScalarType("float")))), holds(True, ScalarType("int"))
    (True, False)
    """
    match type_:
        case NoneType():
            return value is None
        case NeverType():
            return False
        case OptionalType():
            return value is None or holds(value, type_.elem)
        case ScalarType():
            return type(value) is _SCALARS[type_.kind]
        case TensorType():
            return (
                isinstance(value, torch.Tensor)
                and value.dtype == type_.dtype
                and value.dim() == len(type_.dims)
                and all(want in (None, size) for size, want in zip(value.shape, type_.dims, strict=True))
            )
        case UnionType():
            if isinstance(value, Tagged):
                return value.index < len(type_.members) and holds(value.value, type_.members[value.index])
            return any(holds(value, m) for m in type_.members)
        case TupleType():
            return (
                isinstance(value, tuple)
                and len(value) == len(type_.elems)
                and all(holds(v, t) for v, t in zip(value, type_.elems, strict=True))
            )
        case RecordType():
            names = [k for k, _ in type_.fields]
            return isinstance(value, dict) and list(value) == names and all(holds(value[k], t) for k, t in type_.fields)
        case ListType():
            return isinstance(value, tuple if type_.kind == "tuple" else list) and all(
                holds(v, type_.elem) for v in value
            )
        case DictType():
            return isinstance(value, dict) and all(
                holds(k, type_.key) and holds(v, type_.value) for k, v in value.items()
            )
        case SetType():
            return isinstance(value, set) and all(holds(v, type_.elem) for v in value)
        case StructType():
            return isinstance(value, _Object) and value.cls == type_.name
