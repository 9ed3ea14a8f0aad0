"""How the types of run-time containers grow, those of containers inside others too.

A container is known by the site where it was made. One that was read out of another container has
no site of its own here: it is known by its place in the outer one, whose type then grows. A
container put into one of a wider type takes that type at its own site.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from torch2cpp.binding.context import Context, Restart
from torch2cpp.binding.values import AbsVal, Ref, Rt, RtObj, Tup
from torch2cpp.hostir.ops import HostOp, Value
from torch2cpp.hostir.types import (
    DictType,
    ListType,
    NeverType,
    OptionalType,
    RecordType,
    SetType,
    StructType,
    TupleType,
    Type,
    join,
)

Step = tuple[str, Any]


@dataclass(frozen=True)
class Inside:
    """A place inside the containers made at a site."""

    site: Any
    path: tuple[Step, ...]


@dataclass(frozen=True)
class FieldSite:
    """The site of whatever is in a field of a run-time object: its type is the field's."""

    struct: str
    name: str


def _type_at(cx: Context, site: Any) -> Type | None:
    if isinstance(site, FieldSite):
        return cx.facts.structs[cx.struct_key(site.struct)].get(site.name)
    return cx.facts.containers.get(site)


def _put_type(cx: Context, site: Any, t: Type) -> None:
    if isinstance(site, FieldSite):
        cx.facts.structs[cx.struct_key(site.struct)][site.name] = t
    else:
        cx.facts.containers[site] = t


def note_container(cx: Context, obj: RtObj) -> None:
    """Remembers where the container behind a value was made."""
    if obj.site is not None:
        cx.inside.setdefault(obj.value.operand.id, (Inside(obj.site, ()), obj.value.type))


def note_element(cx: Context, value: Value) -> None:
    """Remembers that a value was just read out of a container."""
    op = cx.block.ops[-1] if cx.block.ops else None
    if not isinstance(op, HostOp) or op.result is not value or not op.args or not isinstance(op.args[0], Value):
        return
    if op.name == "struct.get" and isinstance(op.args[0].type, StructType):
        cx.inside[value.id] = (Inside(FieldSite(op.args[0].type.name, str(op.args[1])), ()), value.type)
        return
    outer = cx.inside.get(op.args[0].id)
    if outer is None:
        return
    place, whole = outer
    path = _followed(place.path, op)
    if path is not None:
        cx.inside[value.id] = (Inside(place.site, path), whole)


def note_joined(cx: Context, value: Value, incoming: Sequence[Any]) -> None:
    """Remembers that a value is one of several that were read out of one place, on each path another."""
    places = [cx.inside.get(v.id) if isinstance(v, Value) else None for v in incoming]
    if places[0] is not None and all(p is not None and p[0] == places[0][0] for p in places):
        cx.inside[value.id] = places[0]


def note_view(cx: Context, view: Value, of: Value) -> None:
    """Remembers that a list holds the values (or items) of a dict."""
    outer = cx.inside.get(of.id)
    if outer is not None:
        kind = "items" if isinstance(view.type, ListType) and isinstance(view.type.elem, TupleType) else "values"
        cx.inside[view.id] = (Inside(outer[0].site, (*outer[0].path, (kind, None))), outer[1])


def _followed(path: tuple[Step, ...], op: HostOp) -> tuple[Step, ...] | None:
    """The path of what an operation reads out of the value at `path`."""
    last = path[-1][0] if path else ""
    match op.name:
        case "list.get" | "list.item" | "list.pop" if last in ("values", "items"):
            return (*path[:-1], ("value" if last == "values" else "item", None))
        case "list.get" | "list.item" | "list.pop":
            return (*path, ("elem", None))
        case "tuple.get" if last == "item":
            return (*path[:-1], ("value", None)) if op.args[1] == 1 else None
        case "dict.get" | "dict.pop":
            return (*path, ("value", None))
        case "dict.find":
            return (*path, ("value", None), ("found", None))
        case "optional.get" if last == "found":
            return path[:-1]
        case "optional.get":
            return (*path, ("held", None))
        case "tuple.get" | "record.get":
            return (*path, ("part", op.args[1]))
    return None


def place_of(cx: Context, v: AbsVal) -> Any:
    """The site of a run-time container, or its place inside another one; None if neither is known."""
    if not isinstance(v, Rt) or v.operand.id not in cx.inside:
        return None
    place: Inside = cx.inside[v.operand.id][0]
    return place if place.path else place.site


def learn_type(cx: Context, site: Any, wide: Type, operand: Value | None = None) -> bool:
    """Records the type of the containers made at a site, or at a place inside others; whether it is news."""
    if not isinstance(site, Inside):
        old = _type_at(cx, site)
        if isinstance(site, FieldSite) and isinstance(old, OptionalType) and not isinstance(wide, OptionalType):
            wide = OptionalType(wide)
        _put_type(cx, site, wide)
        return old != wide
    whole = _type_at(cx, site.site)
    if whole is None:
        whole = next((t for place, t in cx.inside.values() if place.site == site.site), None)
    grown = None if whole is None else _with(whole, site.path, wide)
    joined = None if grown is None or whole is None else join(whole, grown)
    if joined is None or joined == whole:
        return False
    _put_type(cx, site.site, joined)
    return True


def _with(t: Type, path: tuple[Step, ...], new: Type) -> Type | None:
    """A type with another one at a place inside it."""
    if not path:
        return new
    (kind, index), rest = path[0], path[1:]
    match t:
        case ListType() if kind == "elem":
            inner = _with(t.elem, rest, new)
            return None if inner is None else ListType(inner, t.kind)
        case DictType() if kind == "value":
            inner = _with(t.value, rest, new)
            return None if inner is None else DictType(t.key, inner, t.kind)
        case OptionalType() if kind == "held":
            inner = _with(t.elem, rest, new)
            return None if inner is None else OptionalType(inner)
        case TupleType() if kind == "part":
            inner = _with(t.elems[index], rest, new)
            return None if inner is None else TupleType((*t.elems[:index], inner, *t.elems[index + 1 :]), t.kind)
        case RecordType() if kind == "part":
            fields = [(n, _with(x, rest, new) if n == index else x) for n, x in t.fields]
            return None if any(x is None for _, x in fields) else RecordType(t.kind, t.name, tuple(fields))  # type: ignore[arg-type]
    return None


def fit_inside(cx: Context, v: AbsVal, want: Type) -> None:
    """A container that goes into another takes the type that the other gives its elements."""
    if isinstance(want, OptionalType):
        want = want.elem
    if isinstance(v, Tup) and isinstance(want, TupleType) and len(v.elems) == len(want.elems):
        for e, t in zip(v.elems, want.elems):
            fit_inside(cx, e, t)
        return
    obj = cx.state.heap.get(v.id) if isinstance(v, Ref) else None
    if not isinstance(obj, RtObj) or not isinstance(want, ListType | DictType | SetType):
        return
    from torch2cpp.binding.convert import same_layout

    have = obj.value.type
    wider = have != want and join(have, want) == want
    if wider and (_unfinished(have) or not same_layout(have, want)) and learn_type(cx, obj.site, want):
        raise Restart


def _unfinished(t: Type) -> bool:
    """Whether the type of an element is not known yet."""
    match t:
        case NeverType():
            return True
        case ListType() | SetType() | OptionalType():
            return _unfinished(t.elem)
        case DictType():
            return _unfinished(t.key) or _unfinished(t.value)
        case TupleType():
            return any(map(_unfinished, t.elems))
        case RecordType():
            return any(_unfinished(x) for _, x in t.fields)
    return False
