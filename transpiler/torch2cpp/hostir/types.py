"""Types of the host IR: what a C++ variable of the host program can hold.

Every type is a frozen value; two types are the same when they compare equal.
`join` is the least type that holds both, or None where one variable cannot.
"""

from __future__ import annotations

import enum
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeVar, final

import torch


@final
@dataclass(frozen=True, slots=True)
class TensorType:
    """A tensor; dtype and rank are known, each dimension is a size or None for "varies"."""

    dtype: torch.dtype
    dims: tuple[int | None, ...]

    def __str__(self) -> str:
        dims = ", ".join("?" if d is None else str(d) for d in self.dims)
        return f"{str(self.dtype).removeprefix('torch.')}[{dims}]"


@final
class Known:
    """An object of the model by its identity, whatever its class says of `==` and `hash`."""

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Known) and other.value is self.value

    def __hash__(self) -> int:
        return id(self.value)


def plain(x: enum.Enum | Known) -> Any:
    """The member of an enum, or the object."""
    return x.value if isinstance(x, Known) else x


@final
@dataclass(frozen=True, slots=True)
class ScalarType:
    """A Python scalar: int is 64-bit and overflow raises, float is a double."""

    kind: Literal["bool", "int", "float", "str", "complex"]
    #: For an int that stands for one of these objects: by its position among them. They are the members of
    #: an enum, or some modules or other objects of the model.
    of: tuple[enum.Enum | Known, ...] = ()

    def __str__(self) -> str:
        return " | ".join(dict.fromkeys(type(plain(x)).__name__ for x in self.of)) if self.of else self.kind


@final
@dataclass(frozen=True, slots=True)
class NoneType:
    """Python's None, as a value of its own."""

    def __str__(self) -> str:
        return "None"


@final
@dataclass(frozen=True, slots=True)
class NeverType:
    """The type of no value: the element of a list nothing was put in yet."""

    def __str__(self) -> str:
        return "never"


@final
@dataclass(frozen=True, slots=True)
class OptionalType:
    """`elem` or None."""

    elem: Type
    #: For a field of a dict: None says that the key is not there.
    absent: bool = False

    def __str__(self) -> str:
        return f"{self.elem}{' if there' if self.absent else '?'}"


@final
@dataclass(frozen=True, slots=True)
class ListType:
    """A list of run-time length; a reference, as in Python. A deque is one too.

    A tuple whose length is decided at run time is a list that nobody changes.
    """

    elem: Type
    #: "list", "tuple", "deque", or "deque N" of at most N items.
    kind: str = "list"

    def __str__(self) -> str:
        return f"{self.kind}[{self.elem}]"


@final
@dataclass(frozen=True, slots=True)
class TupleType:
    """A sequence of known length; `kind` is what Python gets back."""

    elems: tuple[Type, ...]
    kind: Literal["tuple", "list"] = "tuple"

    def __str__(self) -> str:
        inner = ", ".join(map(str, self.elems))
        return f"({inner})" if self.kind == "tuple" else f"[{inner}]"


@final
@dataclass(frozen=True, slots=True)
class RecordType:
    """Named values of known number: a dict with known keys, a NamedTuple, a dataclass result."""

    kind: Literal["dict", "namedtuple", "object"]
    #: Name of the Python class, or of the C++ struct made for a dict.
    name: str
    fields: tuple[tuple[str, Type], ...]

    def __str__(self) -> str:
        inner = ", ".join(f"{k}: {t}" for k, t in self.fields)
        return f"{self.name}{{{inner}}}"


@final
@dataclass(frozen=True, slots=True)
class DictType:
    """A dict with run-time keys; a reference, in order of insertion."""

    key: Type
    value: Type
    #: What it does for a missing key: nothing, or what the binding knows by this name.
    kind: str = "dict"

    def __str__(self) -> str:
        return f"dict[{self.key}, {self.value}]"


@final
@dataclass(frozen=True, slots=True)
class SetType:
    """A set of scalars or tuples of scalars; a reference."""

    elem: Type

    def __str__(self) -> str:
        return f"set[{self.elem}]"


@final
@dataclass(frozen=True, slots=True)
class StructType:
    """An object of a user class that lives at run time; a reference.

    Its fields are in `Program.structs`, since they grow while the program is read.
    """

    name: str

    def __str__(self) -> str:
        return self.name


@final
@dataclass(frozen=True, slots=True)
class UnionType:
    """One of several unlike types, in the order in which the program produces them."""

    members: tuple[Type, ...]

    def __str__(self) -> str:
        return " | ".join(map(str, self.members))


type_classes = (
    TensorType,
    ScalarType,
    NoneType,
    NeverType,
    OptionalType,
    ListType,
    TupleType,
    RecordType,
    DictType,
    SetType,
    StructType,
    UnionType,
)

Type = (
    TensorType
    | ScalarType
    | NoneType
    | NeverType
    | OptionalType
    | ListType
    | TupleType
    | RecordType
    | DictType
    | SetType
    | StructType
    | UnionType
)

Key = TypeVar("Key")

BOOL = ScalarType("bool")
INT = ScalarType("int")
FLOAT = ScalarType("float")
STR = ScalarType("str")
COMPLEX = ScalarType("complex")
NONE = NoneType()
NEVER = NeverType()


#: Flags of an enum that are kept at run time: each combination of them is a value of its own.
MAX_FLAGS = 8


def enum_type(cls: type[enum.Enum]) -> ScalarType | None:
    """A member of an enum as a run-time value; None for an enum of too many flags."""
    if not issubclass(cls, enum.Flag):
        return ScalarType("int", tuple(cls))
    single = list(cls)
    if len(single) > MAX_FLAGS:
        return None
    combined = [cls(0)]
    for flag in single:
        combined += [c | flag for c in combined]
    return ScalarType("int", tuple(combined))


def known_type(objects: Sequence[Known]) -> ScalarType:
    """One of several modules or other objects of the model as a run-time value."""
    return ScalarType("int", tuple(dict.fromkeys(objects)))


def holds_known(t: Type) -> bool:
    """Whether a value stands for one of several objects of the model."""
    return isinstance(t, ScalarType) and bool(t.of) and isinstance(t.of[0], Known)


def limit_of(kind: str) -> int | None:
    """How many items a list of this kind holds at most.

    >>> limit_of("deque 3"), limit_of("deque")
    (3, None)
    """
    _, _, limit = kind.partition(" ")
    return int(limit) if limit else None


def is_reference(t: Type) -> bool:
    """Whether two names for one such value see each other's changes."""
    if isinstance(t, ListType):
        return t.kind != "tuple"
    return isinstance(t, DictType | SetType | StructType)


def _is_int(t: Type) -> bool:
    """Whether a value is an int, members of an IntEnum among them."""
    return isinstance(t, ScalarType) and t.kind == "int" and (not t.of or isinstance(t.of[0], int))


def holds_tensor(t: Type) -> bool:
    """Whether a value of the type has tensors in it."""
    match t:
        case TensorType() | StructType():
            return True
        case OptionalType() | ListType() | SetType():
            return holds_tensor(t.elem)
        case TupleType():
            return any(map(holds_tensor, t.elems))
        case RecordType():
            return any(holds_tensor(x) for _, x in t.fields)
        case DictType():
            return holds_tensor(t.value)
        case UnionType():
            return any(map(holds_tensor, t.members))
        case _:
            return False


def join(a: Type, b: Type) -> Type | None:
    """The least type that holds both values, or None when they cannot share a variable.

    bool, int and float do not join with each other: `1` and `1.0` print and divide
    differently, so a variable that is sometimes one and sometimes the other is a union.
    A union joins with everything.
    """
    if a == b or isinstance(b, NeverType):
        return a
    if isinstance(a, NeverType):
        return b
    if _is_int(a) and _is_int(b):
        return INT
    if holds_known(a) and holds_known(b):
        return known_type((*a.of, *b.of))  # type: ignore[union-attr]
    if may_be_absent(a) or may_be_absent(b):
        return _join_absent(a, b)
    if isinstance(a, NoneType):
        return b if isinstance(b, OptionalType) else OptionalType(b)
    if isinstance(b, NoneType):
        return join(b, a)
    if isinstance(a, OptionalType) or isinstance(b, OptionalType):
        inner = join(a.elem if isinstance(a, OptionalType) else a, b.elem if isinstance(b, OptionalType) else b)
        return None if inner is None else OptionalType(inner)
    if isinstance(a, UnionType) or isinstance(b, UnionType):
        return _union(a, b)
    match a, b:
        case TensorType(), TensorType():
            if a.dtype != b.dtype or len(a.dims) != len(b.dims):
                return None
            return TensorType(a.dtype, tuple(x if x == y else None for x, y in zip(a.dims, b.dims)))
        case ListType(), ListType() if a.kind == b.kind:
            elem = join(a.elem, b.elem)
            return None if elem is None else ListType(elem, a.kind)
        case TupleType(), ListType() if a.kind == b.kind == "tuple":
            return _varying_tuple(a, b)
        case ListType(), TupleType() if a.kind == b.kind == "tuple":
            return _varying_tuple(a, b)
        case TupleType(), TupleType() if a.kind == b.kind == "tuple" and len(a.elems) != len(b.elems):
            return _varying_tuple(a, b)
        case TupleType(), TupleType() if a.kind == b.kind and len(a.elems) == len(b.elems):
            joined = [join(x, y) for x, y in zip(a.elems, b.elems)]
            return None if None in joined else TupleType(tuple(t for t in joined if t), a.kind)
        case RecordType(kind="dict"), RecordType(kind="dict") if _has_absent(a) or _has_absent(b):
            return _join_dicts(a, b)
        case RecordType(), RecordType() if (a.kind, a.name) == (b.kind, b.name) and len(a.fields) == len(b.fields):
            fields: list[tuple[str, Type]] = []
            for (ka, ta), (kb, tb) in zip(a.fields, b.fields):
                t = join(ta, tb)
                if ka != kb or t is None:
                    return None
                fields.append((ka, t))
            return RecordType(a.kind, a.name, tuple(fields))
        case DictType(), DictType() if a.kind == b.kind:
            key, value = join(a.key, b.key), join(a.value, b.value)
            return None if key is None or value is None else DictType(key, value, a.kind)
        case SetType(), SetType():
            elem = join(a.elem, b.elem)
            return None if elem is None else SetType(elem)
    return None


def may_be_absent(t: Type) -> bool:
    """Whether a field of this type may not be there: no key of its dict, no attribute of its object."""
    return isinstance(t, OptionalType) and t.absent


def _join_absent(a: Type, b: Type) -> Type | None:
    """The values of a key that may be missing; a value None is another thing."""
    x, y = (t.elem if isinstance(t, OptionalType) and t.absent else t for t in (a, b))
    if isinstance(x, NoneType | OptionalType) or isinstance(y, NoneType | OptionalType):
        return None
    inner = join(x, y)
    return None if inner is None else OptionalType(inner, absent=True)


def _has_absent(t: RecordType) -> bool:
    return any(may_be_absent(x) for _, x in t.fields)


def _join_dicts(a: RecordType, b: RecordType) -> RecordType | None:
    """Dicts of which some keys may be missing, if their keys come in one order."""
    x, y = dict(a.fields), dict(b.fields)
    order = merged_order([list(x), list(y)])
    if order is None or a.name != b.name:
        return None
    fields: list[tuple[str, Type]] = []
    for name in order:
        t = join(x[name], y[name]) if name in x and name in y else _if_there(x.get(name) or y[name])
        if t is None:
            return None
        fields.append((name, t))
    return RecordType("dict", a.name, tuple(fields))


def _if_there(t: Type) -> Type | None:
    """The type of a field that one of two dicts lacks."""
    return t if may_be_absent(t) else _join_absent(OptionalType(t, absent=True), t)


def merged_order(orders: list[list[Key]]) -> list[Key] | None:
    """One order of which all given ones are parts; None where they contradict each other.

    >>> merged_order([["a", "c"], ["a", "b"], []]), merged_order([["a", "b"], ["b", "a"]])
    (['a', 'c', 'b'], None)
    """
    left = [list(order) for order in orders if order]
    out: list[Key] = []
    while left:
        for order in left:
            if not any(order[0] in other[1:] for other in left):
                break
        else:
            return None
        first = order[0]
        out.append(first)
        left = [rest for o in left if (rest := o[1:] if o[0] == first else o)]
    return out


def _varying_tuple(a: TupleType | ListType, b: TupleType | ListType) -> Type | None:
    """Tuples of unlike lengths as one of run-time length, if all their elements join."""
    elem: Type | None = NEVER
    for t in (*_elements(a), *_elements(b)):
        elem = join(elem, t) if elem is not None else None
    return None if elem is None else ListType(elem, "tuple")


def _elements(t: TupleType | ListType) -> tuple[Type, ...]:
    return t.elems if isinstance(t, TupleType) else (t.elem,)


def _as_list(t: Type) -> ListType | None:
    """A Python list of known length as one of run-time length, if its elements join."""
    if isinstance(t, ListType):
        return t
    if not isinstance(t, TupleType) or t.kind != "list":
        return None
    elem: Type | None = NEVER
    for e in t.elems:
        elem = join(elem, e) if elem is not None else None
    return None if elem is None else ListType(elem)


def _as_one(a: Type, b: Type) -> Type | None:
    """One type for both that is no union itself, though its elements may be unions."""
    joined = join(a, b)
    if joined is not None:
        return joined
    listed = _as_list(a), _as_list(b)
    if listed[0] is not None and listed[1] is not None:
        elem = join(listed[0].elem, listed[1].elem)
        if elem is not None:
            return ListType(elem)
    if isinstance(a, TupleType) and isinstance(b, TupleType) and a.kind == b.kind and len(a.elems) == len(b.elems):
        return TupleType(tuple(join_or_union(x, y) for x, y in zip(a.elems, b.elems)), a.kind)
    return None


def join_or_union(a: Type, b: Type) -> Type:
    """`join`, or the union of both where they do not join; for results, which may be variants."""
    one = _as_one(a, b)
    if one is not None:
        return one
    if may_be_absent(a) or may_be_absent(b):
        return _union(a, b)
    if isinstance(a, OptionalType) or isinstance(b, OptionalType):
        inner_a = a.elem if isinstance(a, OptionalType) else a
        inner_b = b.elem if isinstance(b, OptionalType) else b
        return OptionalType(join_or_union(inner_a, inner_b))
    return _union(a, b)


def _union(a: Type, b: Type) -> Type:
    """The members of both, those that join as one."""
    members: list[Type] = list(a.members) if isinstance(a, UnionType) else [a]
    for t in b.members if isinstance(b, UnionType) else (b,):
        at = next((i for i, m in enumerate(members) if _as_one(m, t) is not None), None)
        if at is None:
            members.append(t)
            continue
        wide = _as_one(members[at], t)
        # What has grown may take in others.
        for m in members[at + 1 :]:
            more = None if wide is None else _as_one(wide, m)
            if more is not None:
                wide = more
                members.remove(m)
        assert wide is not None
        members[at] = wide
    return union_of(members)


def union_of(members: Sequence[Type]) -> Type:
    """The union of types of which no two join; numbers alone in one order, whichever the program makes first."""
    if len(members) == 1:
        return members[0]
    numbers = (BOOL, INT, FLOAT)
    if all(m in numbers for m in members):
        return UnionType(tuple(n for n in numbers if n in members))
    return UnionType(tuple(members))
