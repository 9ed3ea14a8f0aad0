"""One element type for values of unlike types: dicts of one form are one struct, all else is a union.

A list that holds ints and floats, or tensors of different rank, has a union as its element; what is
read out of it is a choice (see choices.py). Dicts that are made at several places with the same keys
in the same order become one struct, so that they share a list without a union.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from torch2cpp.binding.context import Context, Restart, struct_name
from torch2cpp.hostir.types import (
    STR,
    DictType,
    ListType,
    OptionalType,
    RecordType,
    SetType,
    StructType,
    TupleType,
    Type,
    UnionType,
    join,
    join_or_union,
    union_of,
)

#: A union of more members is refused: it is rather a mistake than a plan.
MAX_MEMBERS = 8


def common_type(cx: Context, a: Type, b: Type) -> Type | None:
    """The least type that holds both, None where there is none. Raises Restart when two structs became one."""
    same = _merged(cx, a, b)
    if same:
        raise Restart
    wide = join(a, b)
    if wide is not None:
        return wide
    wide = join_or_union(a, b)
    return wide if _largest_union(wide) <= MAX_MEMBERS else None


def _largest_union(t: Type) -> int:
    match t:
        case UnionType():
            return max(len(t.members), *map(_largest_union, t.members))
        case OptionalType() | ListType() | SetType():
            return _largest_union(t.elem)
        case DictType():
            return max(_largest_union(t.key), _largest_union(t.value))
        case TupleType():
            return max(map(_largest_union, t.elems), default=0)
        case RecordType():
            return max((_largest_union(x) for _, x in t.fields), default=0)
    return 0


def make_alike(cx: Context, types: Sequence[Type]) -> None:
    """Dicts of one form that meet in one variable become one struct. Raises Restart when there were any."""
    merged = [_merged(cx, types[0], t) for t in types[1:]]
    if any(merged):
        raise Restart


# Dicts of one form --------------------------------------------------------------------------------


def _merged(cx: Context, a: Type, b: Type) -> bool:
    """Makes dicts that meet here and have one form one struct; whether there were any."""
    match a, b:
        case StructType(), StructType() if a != b:
            return _merge(cx, cx.struct_key(a.name), cx.struct_key(b.name))
        case OptionalType(), OptionalType():
            return _merged(cx, a.elem, b.elem)
        case OptionalType(), _:
            return _merged(cx, a.elem, b)
        case _, OptionalType():
            return _merged(cx, a, b.elem)
        case ListType(), ListType():
            return _merged(cx, a.elem, b.elem)
        case SetType(), SetType():
            return _merged(cx, a.elem, b.elem)
        case DictType(), DictType():
            return _merged(cx, a.value, b.value)
        case TupleType(), TupleType() if len(a.elems) == len(b.elems):
            merged = [_merged(cx, x, y) for x, y in zip(a.elems, b.elems)]
            return any(merged)
        case UnionType(), _:
            return any(_merged(cx, m, b) for m in a.members)
        case _, UnionType():
            return any(_merged(cx, a, m) for m in b.members)
    return False


def _merge(cx: Context, a: Any, b: Any) -> bool:
    if isinstance(a, type) or isinstance(b, type):
        return False
    into, gone = cx.facts.structs[a], cx.facts.structs[b]
    if list(into) != list(gone):
        return False
    renamed: dict[StructType, Type] = {StructType(struct_name(b)): StructType(struct_name(a))}
    for name, t in gone.items():
        into[name] = join_or_union(into[name], _replaced(t, renamed))
    cx.facts.same_dicts[b] = a
    del cx.facts.structs[b]
    _replace_everywhere(cx, renamed)
    return True


def dicts_of_data(cx: Context, key: Any, values: Type) -> None:
    """Dicts that were structs, since their keys were known, become run-time dicts. Raises Restart."""
    table = DictType(STR, values)
    del cx.facts.structs[key]
    cx.facts.containers[key] = table
    _replace_everywhere(cx, {StructType(struct_name(key)): table})
    raise Restart


def _replace_everywhere(cx: Context, renamed: dict[StructType, Type]) -> None:
    """Types with other ones in place of structs, in all that was learned."""
    tables: list[dict[Any, Type]] = [cx.facts.containers, cx.facts.kept]
    tables += [cx.facts.state, cx.facts.function_results]
    for table in tables:
        for key, t in table.items():
            table[key] = _replaced(t, renamed)
    for fields in cx.facts.structs.values():
        for name, t in fields.items():
            fields[name] = _replaced(t, renamed)
    for name, types in cx.facts.function_params.items():
        cx.facts.function_params[name] = [_replaced(t, renamed) for t in types]


def _replaced(t: Type, new: dict[StructType, Type]) -> Type:
    """A type with other structs in it."""
    match t:
        case StructType():
            return new.get(t, t)
        case OptionalType():
            return OptionalType(_replaced(t.elem, new))
        case ListType():
            return ListType(_replaced(t.elem, new), t.kind)
        case SetType():
            return SetType(_replaced(t.elem, new))
        case DictType():
            return DictType(_replaced(t.key, new), _replaced(t.value, new), t.kind)
        case TupleType():
            return TupleType(tuple(_replaced(e, new) for e in t.elems), t.kind)
        case RecordType():
            return RecordType(t.kind, t.name, tuple((n, _replaced(x, new)) for n, x in t.fields))
        case UnionType():
            members = list(dict.fromkeys(_replaced(m, new) for m in t.members))
            return union_of(members)
    return t
