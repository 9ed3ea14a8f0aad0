"""Objects of user classes: made at run time, kept as known fields or as run-time structs."""

from __future__ import annotations

import collections
import dataclasses
import enum
import inspect
import types
import typing
from collections.abc import Callable
from typing import Any

from torch2cpp.binding.arguments import Generated
from torch2cpp.binding.cached_properties import cached_property
from torch2cpp.binding.choices import distributes
from torch2cpp.binding.context import Context, Restart, struct_name
from torch2cpp.binding.control import branch
from torch2cpp.binding.convert import SCALARS, describe, item_type, resolve, to_operand
from torch2cpp.binding.dict_kinds import factory_of, is_counter
from torch2cpp.binding.growth import fit_inside
from torch2cpp.binding.join_values import may_be_missing
from torch2cpp.binding.unlike import common_type
from torch2cpp.binding.unset_fields import begin, escapes, late_names, note_set
from torch2cpp.binding.values import (
    AbsVal,
    Array,
    DictObj,
    Host,
    InstanceObj,
    PartialDict,
    Ref,
    Rt,
    RtObj,
    Static,
    Tup,
    Unbound,
    fresh_id,
)
from torch2cpp.hostir.types import NEVER, NoneType, OptionalType, StructType, Type, may_be_absent


def instantiate(cx: Context, cls: type, args: list[AbsVal], kwargs: dict[str, AbsVal]) -> AbsVal:
    """`cls(*args, **kwargs)`"""
    if issubclass(cls, BaseException):
        from torch2cpp.binding.exceptions import make_exception

        return make_exception(cx, cls, args, kwargs)
    if issubclass(cls, enum.Enum):
        return _enum_member(cx, cls, args)
    if typing.is_typeddict(cls):
        from torch2cpp.binding.builtin_table import TABLE

        return TABLE[dict](cx, args, kwargs)
    if issubclass(cls, tuple) and hasattr(cls, "_fields"):
        return named_tuple(cx, cls, args, kwargs)
    if not is_interpretable(cls):
        from torch2cpp.binding.calls import _all_static, _run_for_real

        if _all_static(cx, args, kwargs):
            return _run_for_real(cx, cls, args, kwargs)
        cx.refuse("T2C180", f"{cls.__qualname__} objects are made at run time", "use plain Python classes")
    if cls in cx.facts.structs:
        ref = new_struct(cx, cls)
    else:
        ref = Ref(fresh_id())
        cx.state.heap[ref.id] = InstanceObj(cls, {}, cx.site(None))
    initialise(cx, ref, cls, args, kwargs)
    return ref


def initialise(cx: Context, ref: Ref, cls: type, args: list[AbsVal], kwargs: dict[str, AbsVal]) -> None:
    """Runs the `__init__` of a new object."""
    if (dataclasses.is_dataclass(cls) and not isinstance(cls.__dict__.get("__init__"), types.FunctionType)) or (
        dataclasses.is_dataclass(cls) and _generated_init(cls)
    ):
        _dataclass_init(cx, ref, cls, args, kwargs)
        return
    init = inspect.getattr_static(cls, "__init__")
    if isinstance(init, types.FunctionType):
        from torch2cpp.binding.calls import call

        call(cx, Static(init), [ref, *args], kwargs)
    elif issubclass(cls, BaseException):
        if kwargs:
            cx.raise_(TypeError, f"{cls.__name__}() takes no keyword arguments")
    elif init is not object.__init__ or cls.__new__ is not object.__new__:
        cx.refuse("T2C180", f"{cls.__qualname__} objects are made at run time", "use plain Python classes")
    elif args or kwargs:
        cx.raise_(TypeError, f"{cls.__name__}() takes no arguments")


def _generated_init(cls: type) -> bool:
    init = inspect.getattr_static(cls, "__init__")
    return isinstance(init, types.FunctionType) and init.__code__.co_filename == "<string>"


def is_interpretable(cls: type) -> bool:
    """Whether objects of the class can be made at run time."""
    import torch

    if issubclass(cls, torch.nn.Module | torch.Tensor):
        return False
    library = cls.__module__.partition(".")[0] in ("torch", "numpy")
    return not library and all(b is object or b.__module__ != "builtins" for b in cls.__mro__)


def _enum_member(cx: Context, cls: type[enum.Enum], args: list[AbsVal]) -> AbsVal:
    (value,) = args
    if isinstance(value, Static):
        from torch2cpp.binding.operators import static_call

        return static_call(cx, cls, value.value)
    from torch2cpp.binding.operators import compare

    members = list(cls)

    def step(i: int) -> AbsVal:
        if i == len(members):
            text = cx.host("repr", value.operand)
            cx.raise_(ValueError, cx.host("str.add", text, f" is not a valid {cls.__qualname__}"))
        same = compare(cx, "==", value, Static(members[i].value))
        if isinstance(same, Static):
            return step(i + 1)
        return branch(cx, same.operand, lambda: Static(members[i]), lambda: step(i + 1), "member", cx.span)

    return step(0)


def named_tuple(cx: Context, cls: Any, args: list[AbsVal], kwargs: dict[str, AbsVal]) -> AbsVal:
    """`cls(...)` of a NamedTuple class."""
    names = cls._fields
    values = Generated.of(f"{cls.__name__}.__new__", cls.__new__).bind(cx, args, kwargs)
    for n in names:
        if n not in values:
            values[n] = Static(cls._field_defaults[n])
    return Tup(tuple(values[n] for n in names), cls, tuple(names))


def _dataclass_init(cx: Context, ref: Ref, cls: Any, args: list[AbsVal], kwargs: dict[str, AbsVal]) -> None:
    from torch2cpp.binding.calls import call, call_method_if_any

    values = Generated.of(f"{cls.__qualname__}.__init__", cls.__init__).bind(cx, args, kwargs)
    for f in cls.__dataclass_fields__.values():
        if f.name in values or f._field_type is dataclasses._FIELD_CLASSVAR:  # type: ignore[attr-defined]
            continue
        if f.default is not dataclasses.MISSING:
            values[f.name] = Static(f.default)
        elif f.default_factory is not dataclasses.MISSING:
            with cx.at(("field", f.name)):  # each field's list is one of its own
                values[f.name] = call(cx, Static(f.default_factory), [], {})
    ordered = {f.name: values[f.name] for f in dataclasses.fields(cls) if f.name in values}
    obj = cx.state.heap[ref.id]
    if isinstance(obj, RtObj):
        from torch2cpp.binding.attributes import put_field

        for name, value in ordered.items():
            put_field(cx, obj.value, name, value)
    else:
        cx.write(ref.id, InstanceObj(cls, {**obj.fields, **ordered}, obj.site))
    passed_on = [
        values[f.name]
        for f in cls.__dataclass_fields__.values()
        if f._field_type is dataclasses._FIELD_INITVAR and f.name in values  # type: ignore[attr-defined]
    ]
    call_method_if_any(cx, ref, "__post_init__", passed_on)


# Run-time structs --------------------------------------------------------------------------------


def make_struct(cx: Context, obj: InstanceObj | DictObj) -> None:
    """Objects of this class (dicts made at this place) must be run-time structs: binding starts again."""
    key = obj.cls if isinstance(obj, InstanceObj) else _dict_key(cx, obj)
    # A class may refer to itself; the keys of a dict count only when all are known.
    have = cx.facts.structs.setdefault(key, {}) if isinstance(obj, InstanceObj) else dict(cx.facts.structs.get(key, {}))
    fields = obj.fields if isinstance(obj, InstanceObj) else obj.items
    for name, value in fields.items():
        if isinstance(value, Unbound):
            continue
        _widen(cx, key, have, name, value)
    cx.facts.structs[key] = have
    raise Restart


def _dict_key(cx: Context, obj: DictObj) -> Any:
    """What stands for the dicts of a display: the same for all calls that lead there, if their keys are the same."""
    site = cx.facts.same_dicts.get(obj.site, obj.site)
    if site in cx.facts.structs:
        return site
    alike = [k for k in cx.facts.structs if struct_name(k).partition("v")[0] == struct_name(site)]
    for k in alike:
        if [n for n, t in cx.facts.structs[k].items() if not may_be_absent(t)] == list(obj.items):
            cx.facts.same_dicts[obj.site] = k
            return k
    if alike and len(site) > 3:
        site = (*site[:2], f"{site[2]}v{len(alike)}", *site[3:])
        cx.facts.same_dicts[obj.site] = site
    return site


def new_struct(cx: Context, key: Any) -> Ref:
    """A run-time object with no field set yet."""
    name = struct_name(key)
    value = cx.host("struct.new", name, (), type_=StructType(name), label=name.lower())
    begin(cx, value, key)
    if isinstance(key, type):
        for property_name in _cached_in(key, cx.facts.structs[key]):
            nothing = to_operand(cx, Static(None), cx.facts.structs[key][property_name])
            cx.effect("struct.set", value, property_name, nothing)
            note_set(cx, Rt(value, StructType(name)), property_name)
    ref = Ref(fresh_id())
    cx.state.heap[ref.id] = RtObj(Rt(value, StructType(name)), ("struct", name))
    return ref


def _cached_in(cls: type, fields: dict[str, Type]) -> list[str]:
    """The fields that hold what cached properties computed: None before that."""
    return [name for name in fields if cached_property(cls, name) is not None]


def widen_cached(cx: Context, cls: type, name: str, value: AbsVal) -> Type:
    """The type of the field that holds a cached property: the value's, or None as long as it was not computed."""
    from torch2cpp.binding.containers import element_type

    t = element_type(cx, value)
    if isinstance(t, OptionalType | NoneType):
        cx.refuse("T2C180", f"the cached property {cls.__name__}.{name}, which may be None",
                  "compute it in __init__, or use a plain property")  # fmt: skip
    fields = cx.facts.structs[cls]
    if _widen(cx, cls, fields, name, value) | _widen(cx, cls, fields, name, Static(None)):
        raise Restart
    fit_inside(cx, value, fields[name])
    return fields[name]


def copied(cx: Context, v: AbsVal) -> AbsVal | None:
    """`copy.copy(v)` of an object of a user class: another one with the same values; None for anything else."""
    from torch2cpp.binding.calls import call_method_if_any

    o = resolve(cx, v)
    cls = python_class(cx, v)
    if cls is None or not (isinstance(o, InstanceObj) or (isinstance(o, Rt) and isinstance(o.type, StructType))):
        return None
    if any(hasattr(cls, name) for name in ("__getstate__", "__setstate__")) and not _copies_plainly(cls):
        return None
    own = call_method_if_any(cx, v, "__copy__", [])
    if own is not None:
        return own
    if isinstance(o, Rt) or cls in cx.facts.structs:
        assert isinstance(o, Rt), "an object of a class that lives at run time does so from the start"
        ref = new_struct(cx, cls)
        new = resolve(cx, ref)
        escapes(cx, o)
        for name, t in cx.facts.structs[cls].items():
            cx.effect("struct.set", new.operand, name, cx.host("struct.get", o.operand, name, type_=t, label=name))
            note_set(cx, new, name)
        return ref
    ref = Ref(fresh_id())
    cx.state.heap[ref.id] = InstanceObj(cls, dict(o.fields), cx.site(None))
    return ref


def deep_copied(cx: Context, v: AbsVal, inner: Callable[[AbsVal, object], AbsVal]) -> AbsVal | None:
    """`copy.deepcopy(v)` of an object of a user class, `inner` being that of a field; None for anything else."""
    from torch2cpp.binding.attributes import find_attribute, set_attribute
    from torch2cpp.binding.calls import find_method
    from torch2cpp.hostir.types import is_reference

    o, cls = resolve(cx, v), python_class(cx, v)
    if isinstance(o, InstanceObj):
        types: list[Any] = [x.id if isinstance(x, Ref) else None for x in o.fields.values()]
        names = [n for n, x in o.fields.items() if not isinstance(x, Unbound)]
    elif isinstance(o, Rt) and isinstance(o.type, StructType) and cls is not None and cls in cx.facts.structs:
        if late_names(cx, o):
            return None
        types = [t if is_reference(t) else None for t in cx.facts.structs[cls].values()]
        names = list(cx.facts.structs[cls])
    else:
        return None
    known = [t for t in types if t is not None]
    if cls is None or find_method(cx, v, "__deepcopy__") is not None or len(set(known)) < len(known):
        return None  # two fields may hold one object, which is one in the copy too
    parts = {n: inner(find_attribute(cx, v, n), n) for n in names}
    out = copied(cx, v)
    for n, x in parts.items() if out is not None else ():
        set_attribute(cx, out, n, x)
    return out


def _copies_plainly(cls: type) -> bool:
    """Whether a class says nothing itself about how it is copied."""
    plain = (object, *(b for b in cls.__mro__ if b.__module__ in ("typing", "abc")))
    names = ("__getstate__", "__setstate__", "__reduce__", "__reduce_ex__", "__getnewargs__", "__setattr__")
    return not any(name in b.__dict__ for b in cls.__mro__ if b not in plain for name in names)


def _widen(cx: Context, key: Any, fields: dict[str, Type], name: str, value: AbsVal) -> bool:
    """Makes room for a value in a field; whether the field's type changed."""
    from torch2cpp.binding.containers import element_type

    have = fields.get(name, NEVER)
    given = item_type(cx, value) if may_be_missing(value) else element_type(cx, value, field=True)
    wide = common_type(cx, have, given)
    if wide is None:
        text = f"{struct_name(key)}.{name} holds {have} and is given {describe(cx, value)}"
        cx.refuse("T2C182", text, "use one type per field")
    cx.facts.examples.setdefault((key, name), value)
    if not (isinstance(value, Static) and value.value is None):
        cx.facts.examples[(key, name)] = value
    fields[name] = wide
    o = resolve(cx, value)
    if isinstance(o, Rt) and o.operand.id in cx.lengths:
        cx.facts.field_lengths.setdefault((key, name), cx.lengths[o.operand.id])
    return wide != have


def widen_field(cx: Context, key: Any, name: str, value: AbsVal) -> Type:
    """The type of a struct's field with room for a value."""
    fields = cx.facts.structs[key]
    if _widen(cx, key, fields, name, value):
        raise Restart
    fit_inside(cx, value, fields[name])
    return fields[name]


def _dict_class(factory: AbsVal) -> type:
    if is_counter(factory):
        return collections.Counter
    return dict if factory is None else collections.defaultdict


# isinstance --------------------------------------------------------------------------------------


def python_class(cx: Context, v: AbsVal) -> type | None:
    """`type(v)` where it is known."""
    import torch

    from torch2cpp.binding.exceptions import Exc
    from torch2cpp.binding.values import Bound, Func, Iter, ListObj, RangeVal, SliceVal, Tensor
    from torch2cpp.hostir.types import DictType, ListType, RecordType, SetType, TupleType

    o = resolve(cx, v)
    match o:
        case Static(value):
            return type(value)
        case Tensor():
            return torch.Tensor
        case Array():
            import numpy as np

            return np.ndarray if o.tensor.rank > 0 else np.float32
        case Host():
            return {t: p for p, t in SCALARS.items()}[o.type]
        case Tup():
            return o.cls or tuple
        case ListObj():
            if o.kind.startswith("deque"):
                return collections.deque
            return list
        case DictObj() | PartialDict():
            return _dict_class(o.factory)
        case InstanceObj():
            return getattr(o.cls, "library", o.cls)
        case RangeVal():
            return range
        case SliceVal():
            return slice
        case Exc():
            return None if o.caught else o.cls
        case Func() | Bound():
            return types.FunctionType
        case Rt():
            if isinstance(o.type, StructType):
                key = cx.struct_key(o.type.name)
                return getattr(key, "library", key) if isinstance(key, type) else dict
            if isinstance(o.type, DictType):
                return _dict_class(factory_of(cx, o.type.kind))
            if isinstance(o.type, ListType) and o.type.kind != "list":
                return tuple if o.type.kind == "tuple" else collections.deque
            return {ListType: list, SetType: set, TupleType: tuple, RecordType: dict}.get(type(o.type))
        case Iter():
            return {"enumerate": enumerate, "zip": zip, "map": map}.get(o.kind)
    return None


@distributes
def is_instance(cx: Context, v: AbsVal, classes: Any) -> AbsVal:
    """`isinstance(v, classes)`"""
    from torch2cpp.binding.optional import held, is_none
    from torch2cpp.hostir.types import OptionalType

    o = resolve(cx, v)
    if isinstance(o, Rt) and isinstance(o.type, OptionalType):
        missing = is_none(cx, o)
        if isinstance(missing, Host):
            return branch(
                cx,
                missing.operand,
                lambda: Static(isinstance(None, classes)),
                lambda: is_instance(cx, held(cx, o), classes),
                "is_instance",
                cx.span,
            )
    from torch2cpp.binding.exceptions import Exc, has_class

    if isinstance(o, Exc):
        return has_class(cx, o, classes)
    cls = python_class(cx, v)
    if cls is None:
        cx.refuse("T2C183", f"the class of {describe(cx, v)} is not known", "test a value of known class")
    if isinstance(o, Static):
        return Static(isinstance(o.value, classes))
    if hasattr(classes, "__args__"):
        classes = classes.__args__
    try:
        return Static(issubclass(cls, classes))
    except TypeError:
        import torch

        listed = classes if isinstance(classes, tuple) else (classes,)
        return Static(any(issubclass(cls, c) for c in listed if isinstance(c, type)) and cls is not torch.Tensor)
