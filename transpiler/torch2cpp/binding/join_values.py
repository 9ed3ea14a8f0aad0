"""What joins ask of single values: of which type they are on their path, what they hold, whether two are the same."""

from __future__ import annotations

import enum
from dataclasses import dataclass
from typing import Any

import torch

from torch2cpp.binding.context import Context, Exit
from torch2cpp.binding.convert import NoType, describe, picked_choice, type_of
from torch2cpp.binding.values import (
    UNBOUND,
    AbsVal,
    Array,
    Bound,
    Choice,
    DictObj,
    Func,
    Host,
    InstanceObj,
    Iter,
    ListObj,
    Native,
    Option,
    PartialDict,
    Poison,
    RangeVal,
    Ref,
    Rt,
    ScopeObj,
    SliceVal,
    Static,
    Tensor,
    Tup,
    Unbound,
)
from torch2cpp.hostir.ops import Operand
from torch2cpp.hostir.types import INT, NEVER, ListType, OptionalType, TupleType, Type, join


def inside_of(v: AbsVal) -> list[AbsVal]:
    """What an abstract value or heap object refers to."""
    match v:
        case Tup():
            return list(v.elems)
        case Iter():
            return [*v.parts, v.extra]
        case Bound():
            return [v.callee, v.self]
        case Func():
            return [Ref(v.scope), *v.defaults.values()] if v.scope is not None else list(v.defaults.values())
        case ListObj():
            return list(v.elems)
        case DictObj() | PartialDict():
            return [*v.items.values(), v.factory]
        case InstanceObj():
            return list(v.fields.values())
        case ScopeObj():
            return [*v.names.values(), *([Ref(v.parent)] if v.parent is not None else [])]
        case RangeVal() | SliceVal():
            return [v.start, v.stop, v.step]
    return []


@dataclass
class Group:
    """Options that share a type; a static one when `type` is None."""

    type: Type | None
    example: AbsVal


def mapped_tag(cx: Context, v: AbsVal, numbers: list[int]) -> Operand:
    """The tag of a value in the joined choice; an incoming choice's own tag is renumbered."""
    if not isinstance(v, Choice):
        return numbers[0]
    known = cx.state.narrowed.get(v.tag)
    if known is not None:
        return numbers[known]
    if numbers == list(range(len(numbers))):
        return v.tag
    out: Operand = numbers[-1]
    for i in reversed(range(len(numbers) - 1)):
        out = cx.host("select", cx.host("eq", v.tag, i), numbers[i], out, type_=INT)
    return out


def as_choice(v: AbsVal, name: str) -> AbsVal:
    """One of several modules or functions picked by an index, as a choice that can meet others."""
    if isinstance(v, Iter) and v.kind == "choice":
        return picked_choice(v)
    return v


def of_any_length(t: Type) -> Type:
    """A list of known length as one of any length, where its elements have one type."""
    if not isinstance(t, TupleType) or t.kind != "list":
        return t
    elem: Type | None = NEVER
    for e in t.elems:
        elem = join(elem, e) if elem is not None else None
    return t if elem is None else ListType(elem)


def is_none(v: AbsVal) -> bool:
    """Whether a value is known to be None."""
    return isinstance(v, Static) and v.value is None


def may_be_unbound(v: AbsVal) -> bool:
    """Whether a value is an optional that stands for a name not assigned on every path."""
    return isinstance(v, Rt) and bool(v.unbound) and isinstance(v.type, OptionalType)


def may_be_missing(v: AbsVal) -> bool:
    """Whether an item of a partial dict may be missing."""
    if isinstance(v, Choice):
        return any(isinstance(o.static, Unbound) for o in v.options)
    return isinstance(v, Unbound) or may_be_unbound(v)


def dict_of(items: dict[Any, AbsVal], site: Any, factory: AbsVal = None) -> DictObj | PartialDict:
    """A dict with these items, without those that are surely missing."""
    there = {k: x for k, x in items.items() if not isinstance(x, Unbound)}
    return (PartialDict if any(map(may_be_missing, there.values())) else DictObj)(there, site, factory)


def types_where_there(cx: Context, v: AbsVal) -> list[Type]:
    """The types of an item of a partial dict where it is there. Raises NoType."""
    if isinstance(v, Choice) and may_be_missing(v):
        there = [o for o in v.options if not isinstance(o.static, Unbound)]
        return [type_of(cx, o.static) if o.slot is None else o.type or o.slot.type for o in there]
    t = type_of(cx, v)
    return [t.elem if may_be_unbound(v) and isinstance(t, OptionalType) else t]


def example_of(v: AbsVal) -> AbsVal:
    """A representative of what an item of a partial dict is where it is there."""
    return v.example if may_be_unbound(v) else v


def bound_or_not(cx: Context, v: Rt, name: str) -> Choice:
    """The same as a choice between nothing assigned and the value: it can meet what may be None."""
    unassigned = cx.host("optional.is_none", v.operand, label="unassigned")
    tag = cx.host("select", unassigned, 0, 1, type_=INT, label=f"{name}_kind")
    return Choice(tag, (Option(None, UNBOUND), Option(v.operand, v.example)), name)


def is_itself(v: AbsVal) -> bool:
    """Whether a value is known and told apart by itself: a member of an enum, a list or dict of the model."""
    return isinstance(v, Static) and isinstance(v.value, enum.Enum | list | dict)


def is_tree(v: AbsVal) -> bool:
    """Whether a value is a dict of the model that holds others: one of them is told from the others by itself."""
    return isinstance(v, Static) and isinstance(v.value, dict) and any(isinstance(x, dict) for x in v.value.values())


def origin(v: AbsVal) -> Any:
    """What tells a function from others although each iteration of a loop makes it anew; None for other values."""
    match v:
        case Func():
            return ("function", id(v.node))
        case Bound():
            of = id(v.self.value) if isinstance(v.self, Static) else None
            return ("method", origin(v.callee) or id(getattr(v.callee, "value", v.callee)), of)
        case Native():
            return ("built-in", v.name)
    return None


def as_tup(v: AbsVal) -> AbsVal:
    """A tuple that is known altogether, as one of known items."""
    if not isinstance(v, Static) or not isinstance(v.value, tuple) or isinstance(v.value, torch.Size):
        return v
    cls = type(v.value) if hasattr(v.value, "_fields") else None
    return Tup(tuple(map(Static, v.value)), cls, tuple(getattr(v.value, "_fields", ())))


def part_name(name: str, t: Tup, i: int) -> str:
    return f"{name}_{t.names[i] if t.names else i}"


def same_value(a: AbsVal, b: AbsVal) -> bool:
    if isinstance(a, Static) and isinstance(b, Static):
        x, y = a.value, b.value
        if x is y:
            return True
        return type(x) is type(y) and type(x) in (bool, int, float, str, tuple, torch.dtype, torch.device) and x == y
    if isinstance(a, Tensor) and isinstance(b, Tensor):
        return a.operand == b.operand and a.meta == b.meta
    if isinstance(a, Array) and isinstance(b, Array):
        return same_value(a.tensor, b.tensor)
    if isinstance(a, Host) and isinstance(b, Host):
        return a.operand is b.operand
    if isinstance(a, Rt) and isinstance(b, Rt):
        return a.operand is b.operand
    if isinstance(a, Choice) and isinstance(b, Choice):
        return a.tag is b.tag
    if isinstance(a, Func) and isinstance(b, Func):
        # One definition that was run twice in the same call: it reads the same variables.
        one = a.node is b.node and a.scope == b.scope and a.defaults.keys() == b.defaults.keys()
        return one and all(same_value(a.defaults[k], b.defaults[k]) for k in a.defaults)
    if isinstance(a, Tup) and isinstance(b, Tup):
        return a.cls is b.cls and len(a.elems) == len(b.elems) and all(map(same_value, a.elems, b.elems))
    return bool(a == b) if isinstance(a, Ref | Unbound | Poison) else a is b


def same_name(before: Any, after: Any, name: str) -> bool:
    """Whether a variable has one and the same value in two forms of a scope."""
    return (
        isinstance(before, ScopeObj)
        and isinstance(after, ScopeObj)
        and name in before.names
        and name in after.names
        and same_value(before.names[name], after.names[name])
    )


class Inside:
    """Emits into the block of one incoming path."""

    def __init__(self, cx: Context, path: Exit) -> None:
        self.cx, self.path = cx, path

    def __enter__(self) -> None:
        self.saved = (self.cx.block, self.cx.state, self.cx.span)
        self.cx.block, self.cx.state = self.path.block, self.path.state
        self.cx.span = self.path.span

    def __exit__(self, *_: object) -> None:
        self.cx.block, self.cx.state, self.cx.span = self.saved


def type_in(cx: Context, path: Exit, v: AbsVal) -> Type:
    """The type of a value in the state of a path."""
    with Inside(cx, path):
        return type_of(cx, v)


def held_type_in(cx: Context, path: Exit, v: AbsVal) -> Type:
    """The same; what a tuple holds is told apart as in a run-time container, such as members of an enum."""
    try:
        return type_in(cx, path, v)
    except NoType:
        if not isinstance(v, Tup):
            raise
        with cx.to_store():
            return type_in(cx, path, v)


def describe_in(cx: Context, path: Exit, v: AbsVal) -> str:
    with Inside(cx, path):
        return describe(cx, v)
