"""Between abstract values and operands: `type_of`, `to_operand`, `from_operand`."""

from __future__ import annotations

import enum
from typing import Any

import torch

from torch2cpp.binding.context import Context, tensor_type
from torch2cpp.binding.dict_kinds import kind_of
from torch2cpp.binding.growth import note_container, note_element
from torch2cpp.binding.linked_objects import is_known_object, with_linked
from torch2cpp.binding.meta import DEFAULT_HINTS, distinct, fresh_sym
from torch2cpp.binding.values import (
    NONE,
    STORED,
    UNBOUND,
    AbsVal,
    Array,
    Bound,
    Choice,
    DictObj,
    Dim,
    Func,
    Host,
    InstanceObj,
    Iter,
    ListObj,
    Meta,
    Option,
    PartialDict,
    Poison,
    Ref,
    Rt,
    RtObj,
    SliceVal,
    Static,
    Sym,
    Tensor,
    Tup,
    Unbound,
    fresh_id,
)
from torch2cpp.hostir.ops import Operand, Value
from torch2cpp.hostir.types import (
    BOOL,
    COMPLEX,
    FLOAT,
    INT,
    MAX_FLAGS,
    NEVER,
    STR,
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
    enum_type,
    join,
    join_or_union,
    known_type,
    may_be_absent,
    plain,
)
from torch2cpp.hostir.types import NONE as NONE_TYPE

SCALARS = {bool: BOOL, int: INT, float: FLOAT, str: STR, complex: COMPLEX}


#: Name of the record that a slice is at run time.
SLICE = "slice"


class NoType(Exception):
    """The value has no run-time form (a module, a function, ...)."""


def member_type(cls: type[enum.Enum]) -> ScalarType:
    """The type of a member of an enum at run time. Raises NoType for an enum of too many flags."""
    t = enum_type(cls)
    if t is None:
        raise NoType(f"a member of {cls.__name__}, which has more than {MAX_FLAGS} flags,")
    return t


def picked_choice(v: Iter) -> Choice:
    """One of several modules or functions picked by an index, as a choice."""
    return Choice(v.extra.operand, tuple(Option(None, p) for p in v.parts), "pick")


def position_among(want: ScalarType, value: Any) -> int:
    """The number by which a member of an enum or a module is known. Raises NoType if it is none of the type's."""
    for i, x in enumerate(map(plain, want.of)):
        if x is value or (isinstance(x, enum.Enum) and type(x) is type(value) and x == value):
            return i
    raise NoType(f"{value!r} as {want}")


def resolve(cx: Context, v: AbsVal) -> AbsVal:
    """Follows a reference to its heap object; run-time objects come back as their `Rt`."""
    if isinstance(v, Ref):
        obj = cx.state.heap[v.id]
        if not isinstance(obj, RtObj):
            return obj
        note_container(cx, obj)
        return obj.value
    if isinstance(v, Static) and id(v.value) in cx.facts.state_objects:
        from torch2cpp.binding.model_state import state_of_static

        return state_of_static(cx, v.value)
    return v


def is_scalar(v: AbsVal) -> bool:
    """Whether the value is a Python scalar, known or not."""
    return isinstance(v, Host) or (isinstance(v, Static) and type(v.value) in SCALARS)


#: Kinds of known values that are told apart by a number and looked up, rather than branched over.
_CONSTANTS = (enum.Enum, bool, int, float, str, type(None), torch.dtype)


def is_constant(v: AbsVal) -> bool:
    """Whether a value is known and of a kind that is looked up."""
    return isinstance(v, Static) and isinstance(v.value, _CONSTANTS)


def is_static(v: AbsVal) -> bool:
    return isinstance(v, Static)


def static_type(value: Any) -> Type:
    """The type of a Python value known while transpiling, if it can exist at run time."""
    if value is None:
        return NONE_TYPE
    if type(value) in SCALARS:
        return SCALARS[type(value)]
    if isinstance(value, enum.IntEnum):
        return INT
    if isinstance(value, torch.Tensor):
        return TensorType(value.dtype, tuple(value.shape))
    if isinstance(value, torch.Size):
        return TupleType((INT,) * len(value))
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        fields = tuple((n, static_type(x)) for n, x in zip(value._fields, value))
        return RecordType("namedtuple", type(value).__name__, fields)
    if isinstance(value, tuple | list):
        return TupleType(tuple(map(static_type, value)), "tuple" if isinstance(value, tuple) else "list")
    if isinstance(value, dict) and all(isinstance(k, str) for k in value):
        return RecordType("dict", "", tuple((k, static_type(x)) for k, x in value.items()))
    if isinstance(value, dict):
        return table_type(value)
    if isinstance(value, torch.dtype | torch.device):
        return STR
    if isinstance(value, slice):
        return slice_type(static_type(value.start), static_type(value.stop), static_type(value.step))
    raise NoType(type(value).__name__)


def slice_type(*bounds: Type) -> Type:
    """The type of a slice that is kept at run time: a record of its bounds."""
    if not all(b in (INT, NONE_TYPE) for b in bounds):
        raise NoType("a slice of other bounds than ints")
    return RecordType("namedtuple", SLICE, tuple(zip(("start", "stop", "step"), bounds)))


def table_type(value: dict[Any, Any]) -> Type:
    """The type of a dict whose keys are data. Raises NoType where keys or values are of several types."""
    key: Type | None = NEVER
    item: Type | None = NEVER
    for k, x in value.items():
        key = join(key, static_type(k)) if key is not None else None
        item = join(item, static_type(x)) if item is not None else None
    if key is None or item is None or not isinstance(key, ScalarType | TupleType | NeverType):
        raise NoType("a dict of unlike values")
    return DictType(key, item)


def type_of(cx: Context, v: AbsVal) -> Type:
    """The IR type a value has when it is handed to the run time. Raises NoType if it has none."""
    v = resolve(cx, v)
    match v:
        case Static(value):
            if (
                cx.storing
                and isinstance(value, enum.Enum)
                and (cx.storing_field or not isinstance(value, enum.IntEnum))
            ):
                return member_type(type(value))
            if cx.storing and is_known_object(value):
                return known_type(with_linked(value))
            if cx.storing and type(value) in (tuple, list):
                types = tuple(type_of(cx, Static(x)) for x in value)
                return TupleType(types, "list" if type(value) is list else "tuple")
            if isinstance(value, tuple) and hasattr(value, "_fields"):
                cx.facts.named_tuples[type(value).__name__] = type(value)
            return static_type(value)
        case Host():
            return v.type
        case Tensor():
            return tensor_type(v.meta)
        case Rt():
            return v.type
        case Tup():
            types = tuple(type_of(cx, e) for e in v.elems)
            if v.cls is not None and v.names:
                cx.facts.named_tuples[v.cls.__name__] = v.cls
                return RecordType("namedtuple", v.cls.__name__, tuple(zip(v.names, types)))
            return TupleType(types)
        case ListObj() if v.kind != "list":
            elem: Type | None = NEVER
            for e in v.elems:
                elem = join(elem, type_of(cx, e)) if elem is not None else None
            if elem is None:
                raise NoType("a deque of unlike values")
            return ListType(elem, v.kind)
        case ListObj():
            return TupleType(tuple(type_of(cx, e) for e in v.elems), "list")
        case DictObj():
            if not all(isinstance(k, str) for k in v.items):
                key: Type = NEVER
                item: Type | None = NEVER
                for k, x in v.items.items():
                    joined = join(key, static_type(k))
                    item = join(item, type_of(cx, x)) if item is not None else None
                    if joined is None or item is None:
                        raise NoType("dict of unlike values")
                    key = joined
                return DictType(key, item or NEVER, kind_of(cx, v.factory, v.site))
            return RecordType("dict", "", tuple((k, type_of(cx, x)) for k, x in v.items.items()))
        case PartialDict():
            return RecordType("dict", "", tuple((k, item_type(cx, x)) for k, x in v.items.items()))
        case InstanceObj():
            return RecordType("object", v.cls.__name__, tuple((k, type_of(cx, x)) for k, x in v.fields.items()))
        case Array():
            if not cx.returning:
                raise NoType("a numpy array")
            whole = tensor_type(v.tensor.meta)
            return whole if v.tensor.rank > 0 else FLOAT
        case Choice():
            return _choice_type(cx, v)
        case SliceVal():
            return slice_type(type_of(cx, v.start), type_of(cx, v.stop), type_of(cx, v.step))
        case Iter() if v.kind == "list":
            return TupleType(tuple(type_of(cx, e) for e in v.parts), "list")
        case Iter() if v.kind == "choice":
            return _choice_type(cx, picked_choice(v))
    raise NoType(describe(cx, v))


def item_type(cx: Context, v: AbsVal) -> Type:
    """The type of an item of a partial dict. Raises NoType where it may be None or missing."""
    from torch2cpp.binding.join_values import may_be_missing, types_where_there

    if not may_be_missing(v):
        return type_of(cx, v)
    types = types_where_there(cx, v)
    out = types[0]
    for t in types[1:]:
        out = join_or_union(out, t)
    if isinstance(out, OptionalType | NoneType):
        raise NoType("a dict with a value that may be None where its key is there")
    return OptionalType(out, absent=True)


def _choice_type(cx: Context, v: Choice) -> Type:
    """The union of a choice's options. Raises NoType if one is static only."""
    members: list[Type] = []
    for option in v.options:
        static = option.slot is None and isinstance(option.static, Static)
        t = type_of(cx, option.static) if static else option.type
        if t is None:
            raise NoType("a function or module")
        members.append(t)
    out = members[0]
    for m in members[1:]:
        out = join_or_union(out, m)
    return out


def describe(cx: Context, v: AbsVal) -> str:
    """A short description for diagnostics."""
    v = resolve(cx, v)
    match v:
        case Static(value):
            text = repr(value)
            if isinstance(value, torch.nn.Module):
                return f"the module {type(value).__name__}"
            if isinstance(value, torch.Tensor):
                return f"a tensor of the model, {static_type(value)}"
            by_address = getattr(type(value), "__repr__", None) is object.__repr__
            return text if len(text) < 60 and not by_address else f"a {type(value).__name__}"
        case Host():
            return f"a run-time {v.type}"
        case Tensor():
            return f"a tensor {tensor_type(v.meta)}"
        case Array():
            return f"a numpy array {tensor_type(v.tensor.meta)}"
        case Rt():
            return f"a run-time {v.type}"
        case Tup():
            return f"a tuple of {len(v.elems)}"
        case ListObj():
            return f"a list of {len(v.elems)}"
        case DictObj():
            return f"a dict with keys {list(v.items)}"
        case PartialDict():
            return f"a dict with keys {list(v.items)}, of which some may be missing"
        case InstanceObj():
            return f"a {v.cls.__name__}"
        case Func():
            return f"the function {v.name}"
        case Bound():
            return "a method"
        case Poison():
            return v.reason
        case Unbound():
            return "an unassigned name"
        case _:
            return f"a {type(v).__name__}"


def to_operand(cx: Context, v: AbsVal, want: Type) -> Operand:
    """Emits what is needed to have `v` as a run-time value of type `want`."""
    if isinstance(v, Iter) and v.kind == "choice":
        v = picked_choice(v)
    if isinstance(v, Choice):
        return _choice_operand(cx, v, want)
    if isinstance(want, OptionalType):
        return _to_optional(cx, v, want)
    if isinstance(want, UnionType):
        return _to_union(cx, v, want)
    obj = resolve(cx, v)
    match obj:
        case Static(value):
            return _static_operand(cx, value, want)
        case Host():
            if want == FLOAT and obj.type != FLOAT:
                return cx.host("float", obj.operand, label="as_float")
            return obj.operand
        case Tensor():
            cx.note_stored(obj.bases)
            return obj.operand
        case Array() if cx.returning:
            if obj.tensor.rank > 0:
                return obj.tensor.operand
            return cx.host("tensor.item", obj.tensor.operand, label="item")
        case Rt():
            if isinstance(obj.type, StructType):
                from torch2cpp.binding.unset_fields import escapes

                escapes(cx, obj)
            return _convert(cx, obj, want)
        case Tup():
            return _sequence(cx, obj.elems, want)
        case SliceVal():
            return _sequence(cx, (obj.start, obj.stop, obj.step), want)
        case ListObj():
            return _sequence(cx, obj.elems, want)
        case DictObj() | PartialDict():
            return _mapping(cx, list(obj.items.items()), want)
        case InstanceObj():
            return _mapping(cx, list(obj.fields.items()), want)
    raise NoType(describe(cx, v))


def _choice_operand(cx: Context, v: Choice, want: Type) -> Operand:
    """Whichever option is there, as a value of `want`."""
    from torch2cpp.binding.choices import distribute

    def convert(option: AbsVal) -> AbsVal:
        operand = to_operand(cx, option, want)
        if not isinstance(operand, Value):
            return Static(operand)
        return Host(want, operand) if isinstance(want, ScalarType) else Rt(operand, want)

    if isinstance(want, ScalarType) and want.of and all(o.slot is None for o in v.options):
        return _member_operand(cx, v, want)
    out = distribute(cx, v, convert)
    return out.value if isinstance(out, Static) else out.operand


def _member_operand(cx: Context, v: Choice, want: ScalarType) -> Operand:
    """One of several members of an enum as a run-time value."""
    at = [position_among(want, o.static.value) for o in v.options]
    known = cx.state.narrowed.get(v.tag)
    position: Operand = v.tag if at == list(range(len(at))) else at[-1]
    if known is not None:
        position = at[known]
    elif not isinstance(position, Value):
        for i in reversed(range(len(at) - 1)):
            position = cx.host("select", cx.host("eq", v.tag, i), at[i], position, type_=INT, label="position")
    return cx.host("enum.member", position, type_=want, label="member")


def _static_operand(cx: Context, value: Any, want: Type) -> Operand:
    if isinstance(value, torch.Tensor):
        weight = cx.weight(value)
        cx.note_stored(weight.bases)
        return weight.operand
    if isinstance(want, ScalarType) and want.of:
        return cx.host("enum.member", position_among(want, value), type_=want, label="member")
    if isinstance(value, enum.IntEnum):
        return int(value)
    if isinstance(value, torch.dtype | torch.device):
        return str(value)
    if value is None or type(value) in SCALARS:
        return float(value) if want == FLOAT and type(value) is int else value
    if isinstance(value, tuple | list):
        return _sequence(cx, tuple(map(Static, value)), want)
    if isinstance(value, slice):
        return _sequence(cx, (Static(value.start), Static(value.stop), Static(value.step)), want)
    if isinstance(value, dict):
        return _mapping(cx, [(k, Static(x)) for k, x in value.items()], want)
    raise NoType(type(value).__name__)


def _sequence(cx: Context, elems: tuple[AbsVal, ...], want: Type) -> Operand:
    match want:
        case TupleType() if len(want.elems) == len(elems):
            return cx.host("tuple.make", *(to_operand(cx, e, t) for e, t in zip(elems, want.elems)), type_=want)
        case RecordType() if len(want.fields) == len(elems):
            values = [to_operand(cx, e, t) for e, (_, t) in zip(elems, want.fields)]
            return cx.host("record.make", tuple(n for n, _ in want.fields), *values, type_=want)
        case ListType():
            return cx.host("list.new", *(to_operand(cx, e, want.elem) for e in elems), type_=want)
        case SetType():
            return cx.host("set.new", *(to_operand(cx, e, want.elem) for e in elems), type_=want)
    raise NoType(f"a sequence of {len(elems)} as {want}")


def _mapping(cx: Context, items: list[tuple[Any, AbsVal]], want: Type) -> Operand:
    match want:
        case RecordType():
            by_name = dict(items)
            values = [_field(cx, by_name.get(n, UNBOUND), t) for n, t in want.fields]
            return cx.host("record.make", tuple(n for n, _ in want.fields), *values, type_=want)
        case DictType():
            flat: list[Operand] = []
            for k, x in items:
                flat += [_static_operand(cx, k, want.key), to_operand(cx, x, want.value)]
            return cx.host("dict.new", *flat, type_=want)
        case StructType():
            names = tuple(n for n, _ in items)
            fields = cx.facts.structs[cx.struct_key(want.name)]
            given = {n: x for n, x in items if not isinstance(x, Unbound)}
            from torch2cpp.binding.unset_fields import learn_of

            if missing := [n for n, t in fields.items() if n not in given and not may_be_absent(t)]:
                learn_of(cx, cx.struct_key(want.name), missing)
            names = tuple(fields)
            values = [_field(cx, given.get(n, UNBOUND), t) for n, t in fields.items()]
            return cx.host("struct.new", want.name, names, *values, type_=want)
    raise NoType(f"a mapping as {want}")


def _field(cx: Context, v: AbsVal, want: Type) -> Operand:
    if isinstance(want, OptionalType) and want.absent:
        from torch2cpp.binding.partial_dicts import field_operand

        return field_operand(cx, v, want)
    return to_operand(cx, v, want)


def _to_optional(cx: Context, v: AbsVal, want: OptionalType) -> Operand:
    if (isinstance(v, Static) and v.value is None) or (isinstance(v, Rt) and isinstance(v.type, NoneType)):
        return cx.host("optional.none", type_=want, label="none")
    if isinstance(v, Rt) and v.type == want:
        return v.operand
    if isinstance(v, Rt) and isinstance(v.type, OptionalType):
        if isinstance(v.type.elem, TensorType) and isinstance(want.elem, TensorType):
            return v.operand  # the same C++ type: sizes are not part of it
        return cx.host("optional.cast", v.operand, type_=want)
    return cx.host("optional.some", to_operand(cx, v, want.elem), type_=want, label="some")


def _to_union(cx: Context, v: AbsVal, want: UnionType) -> Operand:
    if isinstance(v, Rt) and v.type == want:
        return v.operand
    if isinstance(v, Rt) and isinstance(v.type, UnionType):
        return to_operand(cx, _from_union(cx, v.operand, v.type, v.example, None), want)
    have = type_of(cx, v)
    for i, member in enumerate(want.members):
        if join_or_union(member, have) == member:
            return cx.host("union.make", i, to_operand(cx, v, member), type_=want)
    raise NoType(f"{have} is not in {want}")


def _convert(cx: Context, v: Rt, want: Type) -> Operand:
    if v.type == want or same_layout(v.type, want):
        return v.operand
    if isinstance(v.type, TupleType) and isinstance(want, TupleType | RecordType | ListType):
        return _sequence(cx, tuple(from_operand(cx, tuple_item(cx, v, i), t) for i, t in enumerate(v.type.elems)), want)
    raise NoType(f"{v.type} as {want}")


def same_layout(a: Type, b: Type) -> bool:
    """Whether two types are the same C++ type: tensor sizes are not part of it."""
    match a, b:
        case TensorType(), TensorType():
            return True
        case OptionalType(), OptionalType():
            return same_layout(a.elem, b.elem)
        case ListType(), ListType():
            return isinstance(a.elem, NeverType) or same_layout(a.elem, b.elem)
        case SetType(), SetType():
            return isinstance(a.elem, NeverType) or same_layout(a.elem, b.elem)
        case DictType(), DictType():
            return same_layout(a.key, b.key) and same_layout(a.value, b.value)
        case TupleType(), TupleType():
            return len(a.elems) == len(b.elems) and all(map(same_layout, a.elems, b.elems))
        case _:
            return a == b


def tuple_item(cx: Context, v: Rt, index: int) -> Value:
    """One element of a run-time tuple or record."""
    if isinstance(v.type, RecordType):
        name, t = v.type.fields[index]
        return cx.host("record.get", v.operand, name, type_=t, label=name)
    assert isinstance(v.type, TupleType)
    return cx.host("tuple.get", v.operand, index, type_=v.type.elems[index], label=f"{v.operand.name}_{index}")


def meta_from(cx: Context, t: TensorType, example: AbsVal, site: Any) -> Meta:
    """Metadata for a tensor of which only the type is known; hints come from an example element."""
    dims: list[Dim] = []
    known = example.meta.dims if isinstance(example, Tensor) and example.rank == len(t.dims) else None
    for i, d in enumerate(t.dims):
        if d is not None:
            dims.append(d)
            continue
        like = known[i] if known else None
        if isinstance(like, Sym):
            dims.append(Sym(like.hints, like.free, like.site))
        elif isinstance(like, int):
            dims.append(Sym(distinct((like,) * 3), True, (site, i)))
        else:
            dims.append(fresh_sym(cx, (site, i)))
    return Meta(t.dtype, tuple(dims))


def from_operand(cx: Context, value: Value, t: Type | None = None, example: AbsVal = None, site: Any = None) -> AbsVal:
    """The abstract value of a run-time value; tuples are taken apart."""
    t = value.type if t is None else t
    note_element(cx, value)
    site = site if site is not None else ("value", cx.site(None), value.name)
    match t:
        case TensorType():
            return Tensor(value, meta_from(cx, t, example, site), bases=frozenset({STORED}))
        case ScalarType():
            if len(t.of) == 1:
                return Static(plain(t.of[0]))
            if t.of:
                position = cx.host("enum.position", value, label=value.name)
                return Choice(position, tuple(Option(None, Static(plain(m))) for m in t.of), value.name)
            hints = None
            if t == INT:
                hints = example.hints if isinstance(example, Host) and example.hints else DEFAULT_HINTS
            return Host(t, value, hints)
        case NoneType():
            return NONE
        case UnionType():
            return _from_union(cx, value, t, example, site)
        case TupleType() | RecordType():
            types = t.elems if isinstance(t, TupleType) else tuple(x for _, x in t.fields)
            parts = _parts_of(cx, example, len(types))
            rt = Rt(value, t)
            elems = tuple(from_operand(cx, tuple_item(cx, rt, i), x, parts[i], (site, i)) for i, x in enumerate(types))
            if isinstance(t, RecordType):
                return Rt(value, t) if t.kind == "object" else _record(cx, t, elems, site)
            return Tup(elems) if t.kind == "tuple" else _new_list(cx, elems, site)
        case _:
            return Rt(value, t)


def _from_union(cx: Context, value: Value, t: UnionType, example: AbsVal, site: Any) -> AbsVal:
    """A union as a choice between its members."""
    tag = cx.host("union.index", value, label=f"{value.name}_kind")
    options = []
    for i, member in enumerate(t.members):
        if isinstance(member, NoneType):
            options.append(Option(None, NONE))
            continue
        slot = cx.host("union.get", value, i, type_=OptionalType(member), label=f"{value.name}_{i}")
        like = example.options[i].static if isinstance(example, Choice) and i < len(example.options) else None
        options.append(Option(slot, like))
    return Choice(tag, tuple(options), value.name)


def _record(cx: Context, t: RecordType, elems: tuple[AbsVal, ...], site: Any) -> AbsVal:
    from torch2cpp.binding.containers import new_dict

    names = tuple(n for n, _ in t.fields)
    if t.name == SLICE and SLICE not in cx.facts.named_tuples:
        return SliceVal(*elems)
    if t.kind == "namedtuple":
        return Tup(elems, cx.facts.named_tuples.get(t.name), names)
    if any(isinstance(x, OptionalType) and x.absent for _, x in t.fields):
        return _partial_record(cx, t, elems, site)
    return new_dict(cx, [(Static(n), e) for n, e in zip(names, elems)], site)


def _partial_record(cx: Context, t: RecordType, elems: tuple[AbsVal, ...], site: Any) -> AbsVal:
    """A struct with optional fields as a dict some of whose keys may be missing."""
    items: dict[Any, AbsVal] = {}
    for (name, x), e in zip(t.fields, elems):
        if isinstance(x, OptionalType) and x.absent:
            plain = OptionalType(x.elem)
            e = Rt(cx.host("optional.cast", e.operand, type_=plain, label=name), plain, e.example, unbound=name)
        items[name] = e
    ref = Ref(fresh_id())
    cx.state.heap[ref.id] = PartialDict(items, site)
    return ref


def _new_list(cx: Context, elems: tuple[AbsVal, ...], site: Any) -> AbsVal:
    from torch2cpp.binding.containers import new_list

    return new_list(cx, list(elems), site)


def _parts_of(cx: Context, example: AbsVal, n: int) -> tuple[AbsVal, ...]:
    if isinstance(example, Tup) and len(example.elems) == n:
        return example.elems
    obj = cx.state.heap.get(example.id) if isinstance(example, Ref) else None
    if isinstance(obj, ListObj) and len(obj.elems) == n:
        return obj.elems
    if isinstance(obj, DictObj) and len(obj.items) == n:
        return tuple(obj.items.values())
    return (None,) * n
