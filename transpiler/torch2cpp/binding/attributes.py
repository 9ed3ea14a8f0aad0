"""Attributes: of modules and their state, objects, tensors, named tuples."""

from __future__ import annotations

import collections
import enum
import inspect
import types
from collections import Counter, OrderedDict, defaultdict, deque
from typing import Any

import torch

from torch2cpp.binding import (
    cached_properties,
    field_loads,
    late_fields,
    model_state,
    named_tuples,
    operators,
    unset_fields,
)
from torch2cpp.binding.calls import call, find_method
from torch2cpp.binding.choices import distribute, distributes, option_value
from torch2cpp.binding.context import Context
from torch2cpp.binding.convert import describe, resolve, to_operand
from torch2cpp.binding.dataclass_methods import refuse_frozen
from torch2cpp.binding.exception_objects import base_init
from torch2cpp.binding.kept_objects import is_kept
from torch2cpp.binding.literal_sets import LiteralSet
from torch2cpp.binding.optional import held_or_raise
from torch2cpp.binding.stand_ins import has_stand_in, stand_in
from torch2cpp.binding.traced.objects import library_class
from torch2cpp.binding.values import (
    AbsVal,
    Array,
    Bound,
    Choice,
    DictObj,
    Host,
    InstanceObj,
    Iter,
    ListObj,
    Native,
    PartialDict,
    Rt,
    SliceVal,
    Static,
    Tup,
    Unbound,
)
from torch2cpp.hostir.types import STR, OptionalType, StructType


class Missing(Exception):
    """The object has no such attribute."""


def get_attribute(cx: Context, obj: AbsVal, name: str) -> AbsVal:
    """`obj.name`; raises AttributeError at run time where Python would."""
    try:
        return find_attribute(cx, obj, name)
    except Missing as error:
        if isinstance(obj, Choice):
            return distribute(cx, obj, lambda o: get_attribute(cx, o, name))  # each names its own class
        cx.raise_(AttributeError, str(error))


def find_attribute(cx: Context, obj: AbsVal, name: str) -> AbsVal:
    """`obj.name`. Raises Missing if there is none."""
    try:
        return _find_attribute(cx, obj, name)
    except Missing:
        own = None if name.startswith("__") else find_method(cx, obj, "__getattr__")
        if not isinstance(own, Bound) or not _is_users(own.callee.value):
            raise
        return call(cx, own, [Static(name)], {})


def _is_users(method: types.FunctionType) -> bool:
    return method.__module__.partition(".")[0] not in ("torch", "enum", "typing")


def _find_attribute(cx: Context, obj: AbsVal, name: str) -> AbsVal:
    if isinstance(obj, Choice):
        return _choice_attribute(cx, obj, name)
    o = resolve(cx, obj)
    if isinstance(o, Rt) and isinstance(o.type, OptionalType):
        held = held_or_raise(cx, o, AttributeError, f"'NoneType' object has no attribute '{name}'")
        return find_attribute(cx, held, name)
    t = operators.tensor_of(cx, o)
    if t is not None:
        from torch2cpp.binding.tensor_methods import tensor_attribute

        return tensor_attribute(cx, t, name)
    if library_class(cx, obj) is not None:
        from torch2cpp.binding.traced.library import library_attribute

        return library_attribute(cx, obj, name)
    match o:
        case Array():
            from torch2cpp.binding.numpy_arrays import attribute

            return attribute(cx, o, name)
        case Static(value):
            return _static_attribute(cx, obj, value, name)
        case InstanceObj():
            return _instance_attribute(cx, obj, o, name)
        case Tup():
            return _tuple_attribute(cx, obj, o, name)
        case SliceVal() if name in ("start", "stop", "step"):
            return getattr(o, name)
        case Iter() if o.kind == "super":
            return _super_attribute(cx, o, name)
        case Iter() if o.kind == "choice":
            return _picked_attribute(cx, o, name)
        case Rt() if isinstance(o.type, StructType):
            return _struct_attribute(cx, obj, o, name)
        case Host() if o.type == STR:
            from torch2cpp.binding.strings import string_method

            return _or_missing(string_method(cx, o, name), "str", name)
        case Host():
            return _scalar_attribute(cx, o, name)
        case ListObj() | DictObj() | PartialDict() | Rt():
            from torch2cpp.binding.container_methods import method
            from torch2cpp.binding.objects import python_class

            cls = python_class(cx, obj)
            full = "collections." if cls in (collections.deque, collections.defaultdict) else ""
            return _or_missing(method(cx, obj, name), full + getattr(cls, "__name__", "object"), name)
    special = getattr(o, "attribute", None)
    if special is not None:
        return special(cx, name)
    cx.refuse("T2C175", f"attribute {name!r} of {describe(cx, obj)}", "read attributes of objects, tensors or modules")


def _picked_attribute(cx: Context, o: Iter, name: str) -> AbsVal:
    """An attribute of a module picked at run time: a method to call, or one branch per module."""
    parts = [find_attribute(cx, p, name) for p in o.parts]
    if all(isinstance(p, Native | Bound) or (isinstance(p, Static) and callable(p.value)) for p in parts):
        chosen = Iter(o.kind, tuple(parts), o.extra)
        return Native(name, lambda c, a, k: call(c, chosen, a, k))
    readers = tuple(Native(name, lambda c, a, k, p=p: p) for p in parts)
    return call(cx, Iter(o.kind, readers, o.extra), [], {})


def _choice_attribute(cx: Context, choice: Choice, name: str) -> AbsVal:
    """An attribute of whichever option is there; a method stays unbound until it is called."""

    def probe(i: int) -> AbsVal:
        try:
            return find_attribute(cx, option_value(cx, choice, i), name)
        except Missing:
            return None

    probed = [cx.probe(lambda i=i: probe(i)) for i in range(len(choice.options))]
    found = [p for p in probed if p is not None]
    if not found:
        raise Missing(f"object has no attribute '{name}'")
    if all(isinstance(p, Native | Bound) or (isinstance(p, Static) and callable(p.value)) for p in found):
        return Native(name, lambda c, a, k: distribute(c, choice, lambda o: call(c, get_attribute(c, o, name), a, k)))
    return distribute(cx, choice, lambda o: get_attribute(cx, o, name))


def _or_missing(v: AbsVal | None, kind: str, name: str) -> AbsVal:
    if v is None:
        raise Missing(f"'{kind}' object has no attribute '{name}'")
    return v


def _scalar_attribute(cx: Context, o: Host, name: str) -> AbsVal:
    if name == "item":
        return Native("item", lambda c, a, k: o)
    if name == "is_integer" and o.type.kind == "float":
        return Native(name, lambda c, a, k: c.scalar("eq", c.host("math.floor", o.operand), o.operand))
    if name in ("real", "numerator"):
        return o
    if name in ("name", "value") and o.type.kind == "int":
        cx.refuse("T2C175", f"{name!r} of a run-time int, which may have been a member of an IntEnum",
                  "keep members of a plain Enum, or look the name up in a list")  # fmt: skip
    raise Missing(f"'{o.type}' object has no attribute '{name}'")


def _static_attribute(cx: Context, obj: AbsVal, value: Any, name: str) -> AbsVal:
    if has_stand_in(value):
        obj = stand_in(cx, value)
        value = obj.value
    if isinstance(value, str) and (type(value) is str or not isinstance(value, enum.Enum) or name in _METHODS_OF_STR):
        from torch2cpp.binding.strings import string_method

        return _or_missing(string_method(cx, Static(str.__str__(value)), name), "str", name)
    if type(value) in (list, dict, set, LiteralSet, tuple, frozenset, deque, defaultdict, OrderedDict, Counter):
        from torch2cpp.binding.container_methods import method

        found = method(cx, obj, name)
        if found is not None:
            return found
    if named_tuples.is_class(value):
        of_class = named_tuples.class_attribute(value, name)
        if of_class is not None:
            return of_class
    elif isinstance(value, tuple) and hasattr(value, "_fields") and name in ("_replace", "_asdict", "_make"):
        return find_attribute(cx, Tup(tuple(map(Static, value)), type(value), value._fields), name)
    state = model_state.load_attribute(cx, value, name)
    cached = cached_properties.cached_property(type(value), name)
    if cached is not None and name not in value.__dict__ and _is_user(type(value)):
        return cached_properties.read(cx, obj, cached, state, set_attribute)
    if state is not None:
        return state
    if not isinstance(value, type | types.ModuleType):
        member = inspect.getattr_static(type(value), name, None)
        if isinstance(member, property) and _is_user(type(value)) and member.fget is not None:
            return call(cx, Static(member.fget), [obj], {})
        if isinstance(member, types.FunctionType) and name not in getattr(value, "__dict__", {}):
            return Bound(Static(member), obj)
    if (
        is_kept(cx, value)
        and not isinstance(value, torch.nn.Module)
        and inspect.getattr_static(value, name, _ABSENT) is _ABSENT
    ):
        raise Missing(f"'{type(value).__name__}' object has no attribute '{name}'")
    try:
        return Static(getattr(value, name))
    except AttributeError as e:
        raise Missing(str(e)) from e


#: What a member of an enum of strings has as a string; `name` and `value` are its own.
_METHODS_OF_STR = frozenset(name for name, member in vars(str).items() if not name.startswith("_") and callable(member))
#: No attribute.
_ABSENT = object()


def _is_user(cls: type) -> bool:
    return cls.__module__.partition(".")[0] not in ("torch", "builtins", "enum", "numpy")


def _class_member(cx: Context, obj: AbsVal, cls: type, name: str) -> AbsVal:
    member = inspect.getattr_static(cls, name, None)
    match member:
        case None if not hasattr(cls, name):
            raise Missing(f"'{cls.__name__}' object has no attribute '{name}'")
        case property():
            return call(cx, Static(member.fget), [obj], {})
        case staticmethod():
            return Static(member.__func__)
        case classmethod():
            return Bound(Static(member.__func__), Static(cls))
        case types.FunctionType():
            return Bound(Static(member), obj)
        case types.MethodDescriptorType() | types.WrapperDescriptorType() | types.ClassMethodDescriptorType():
            what = f"{cls.__name__}.{name} is a method of a built-in class"
            cx.refuse("T2C180", what, "hold the container in a field")
    return Static(getattr(cls, name))


def _instance_attribute(cx: Context, obj: AbsVal, o: InstanceObj, name: str) -> AbsVal:
    if name == "__class__":
        return Static(o.cls)
    have = o.fields.get(name)
    have = None if isinstance(have, Unbound) else have
    cached = cached_properties.cached_property(o.cls, name)
    if cached is not None:
        return cached_properties.read(cx, obj, cached, have, _store_cached)
    if have is not None:
        return have
    return _class_member(cx, obj, o.cls, name)


def _struct_attribute(cx: Context, obj: AbsVal, o: Rt, name: str) -> AbsVal:
    assert isinstance(o.type, StructType)
    cls = cx.struct_key(o.type.name)
    fields = cx.facts.structs[cls]
    if not isinstance(cls, type):
        from torch2cpp.binding.struct_dicts import method as dict_method

        return _or_missing(dict_method(cx, o, name), "dict", name)
    cached = cached_properties.cached_property(cls, name)
    if cached is not None:
        have = late_fields.load(cx, o, name) if name in fields else None
        return cached_properties.read(cx, obj, cached, have, _store_cached)
    if name not in fields:
        return _class_member(cx, obj, cls, name)
    return late_fields.attribute(cx, o, cls, name, lambda: _class_member(cx, obj, cls, name))


def _store_cached(cx: Context, obj: AbsVal, name: str, value: AbsVal) -> None:
    """Keeps the value of a cached property, which frozen classes allow too."""
    from torch2cpp.binding.objects import widen_cached

    o = resolve(cx, obj)
    match o:
        case InstanceObj():
            cx.write(obj.id, InstanceObj(o.cls, {**o.fields, name: value}, o.site))
        case Rt() if isinstance(o.type, StructType):
            t = widen_cached(cx, cx.struct_key(o.type.name), name, value)
            cx.effect("struct.set", o.operand, name, to_operand(cx, value, t))
            unset_fields.note_set(cx, o, name)
            field_loads.note_write(cx, o, name, value)
        case _:
            set_attribute(cx, obj, name, value)


def _tuple_attribute(cx: Context, obj: AbsVal, o: Tup, name: str) -> AbsVal:
    if name in o.names:
        return o.elems[o.names.index(name)]
    if o.cls is torch.Size and name == "numel":
        from torch2cpp.binding.operators import binary

        def numel(c: Context, a: Any, k: Any) -> AbsVal:
            out: AbsVal = Static(1)
            for e in o.elems:
                out = binary(c, "*", out, e)
            return out

        return Native("numel", numel)
    of_class = named_tuples.attribute(o, name)
    if of_class is not None:
        return of_class
    if o.cls is not None and find_method(cx, obj, name) is None and hasattr(o.cls, name):
        member = inspect.getattr_static(o.cls, name)
        if isinstance(member, property):
            return call(cx, Static(member.fget), [obj], {})
    found = find_method(cx, obj, name)
    if found is not None:
        return found
    from torch2cpp.binding.container_methods import method

    return _or_missing(method(cx, obj, name), "tuple", name)


def _super_attribute(cx: Context, o: Iter, name: str) -> AbsVal:
    first = o.parts[0]
    obj = resolve(cx, first)
    if operators.tensor_of(cx, obj) is not None:
        from torch2cpp.binding.tensor_methods import aten_method

        return Native(name, lambda c, a, k: aten_method(c, name, obj, a, k))
    if isinstance(obj, Static) and isinstance(obj.value, type):
        cls = obj.value
    else:
        from torch2cpp.binding.objects import python_class

        of_class = python_class(cx, first)
        assert of_class is not None
        cls = of_class
    mro = cls.__mro__
    for base in mro[mro.index(o.extra) + 1 :]:
        if name in base.__dict__:
            member = base.__dict__[name]
            match member:
                case property():
                    return call(cx, Static(member.fget), [first], {})
                case classmethod():
                    return Bound(Static(member.__func__), Static(cls))
                case staticmethod():
                    return Static(member.__func__)
                case types.FunctionType():
                    return Bound(Static(member), first)
            if name == "__setattr__":
                return Native(name, lambda c, a, k: _put(c, first, a))
            if name == "__init__":
                is_exception = issubclass(cls, BaseException)
                return base_init(first) if is_exception else Native("__init__", lambda c, a, k: Static(None))
            return Static(member)
    raise Missing(f"'super' object has no attribute '{name}'")


def _put(cx: Context, obj: AbsVal, args: list[AbsVal]) -> AbsVal:
    assert isinstance(args[0], Static)
    put_attribute(cx, obj, args[0].value, args[1])
    return Static(None)


@distributes
def set_attribute(cx: Context, obj: AbsVal, name: str, value: AbsVal) -> None:
    """`obj.name = value`"""
    o = resolve(cx, obj)
    if isinstance(o, Rt) and isinstance(o.type, OptionalType):
        o = resolve(cx, held_or_raise(cx, o, AttributeError, f"'NoneType' object has no attribute '{name}'"))
    if library_class(cx, obj) is not None:
        from torch2cpp.binding.traced.library import set_library_attribute

        set_library_attribute(cx, obj, name, value)
        return
    if isinstance(o, Iter) and o.kind == "choice":
        writers = [Native(name, lambda c, a, k, p=p: set_attribute(c, p, name, value)) for p in o.parts]
        call(cx, Iter(o.kind, tuple(writers), o.extra), [], {})
        return
    if _set_by_own(cx, obj, name, value):
        return
    match o:
        case InstanceObj():
            setter = inspect.getattr_static(o.cls, name, None)
            if isinstance(setter, property) and setter.fset is not None:
                call(cx, Static(setter.fset), [obj, value], {})
                return
            refuse_frozen(cx, o.cls, name, "assign to")
            cx.write(obj.id, InstanceObj(o.cls, {**o.fields, name: value}, o.site))
        case Static():
            setter = inspect.getattr_static(type(o.value), name, None)
            if isinstance(setter, property) and setter.fset is not None:
                call(cx, Static(setter.fset), [obj, value], {})
                return
            model_state.store_attribute(cx, o.value, name, value)
        case Rt() if isinstance(o.type, StructType):
            _set_struct(cx, obj, o, name, value)
        case _:
            t = operators.tensor_of(cx, o)
            if t is not None and name in ("requires_grad", "grad"):
                return
            if t is not None and name == "data":
                cx.refuse("T2C176", "tensor.data is assigned", "use copy_ to change a tensor in place")
            cx.refuse("T2C176", f"attribute {name!r} of {describe(cx, obj)} is assigned", "keep it in an object")


def _set_by_own(cx: Context, obj: AbsVal, name: str, value: AbsVal) -> bool:
    """Calls the `__setattr__` of a user's class, if it has one."""
    method = find_method(cx, obj, "__setattr__")
    function = method.callee.value if isinstance(method, Bound) and isinstance(method.callee, Static) else None
    if not isinstance(function, types.FunctionType) or not _is_users(function):
        return False
    if function.__code__.co_filename == "<string>":
        return False  # that of a frozen dataclass, see refuse_frozen
    call(cx, method, [Static(name), value], {})
    return True


def _set_struct(cx: Context, obj: AbsVal, o: Rt, name: str, value: AbsVal) -> None:
    assert isinstance(o.type, StructType)
    cls = cx.struct_key(o.type.name)
    setter = inspect.getattr_static(cls, name, None)
    if isinstance(setter, property) and setter.fset is not None:
        call(cx, Static(setter.fset), [obj, value], {})
        return
    if isinstance(cls, type):
        refuse_frozen(cx, cls, name, "assign to")
    put_field(cx, o, name, value)


def put_attribute(cx: Context, obj: AbsVal, name: str, value: AbsVal) -> None:
    """`object.__setattr__(obj, name, value)`: without what the class itself does about it."""
    o = resolve(cx, obj)
    match o:
        case InstanceObj():
            cx.write(obj.id, InstanceObj(o.cls, {**o.fields, name: value}, o.site))
        case Rt() if isinstance(o.type, StructType):
            put_field(cx, o, name, value)
        case _:
            set_attribute(cx, obj, name, value)


def put_field(cx: Context, o: Rt, name: str, value: AbsVal) -> None:
    """Writes a field of a run-time object, of a frozen class too: its `__init__` does."""
    from torch2cpp.binding.objects import widen_field

    assert isinstance(o.type, StructType)
    t = widen_field(cx, cx.struct_key(o.type.name), name, value)
    cx.effect("struct.set", o.operand, name, to_operand(cx, value, t))
    unset_fields.note_set(cx, o, name)
    field_loads.note_write(cx, o, name, value)


def delete_attribute(cx: Context, obj: AbsVal, name: str) -> None:
    """`del obj.name`"""
    o = resolve(cx, obj)
    if isinstance(o, InstanceObj) and name in o.fields:
        refuse_frozen(cx, o.cls, name, "delete")
        fields = {k: v for k, v in o.fields.items() if k != name}
        cx.write(obj.id, InstanceObj(o.cls, fields, o.site))
        return
    cx.refuse("T2C176", f"attribute {name!r} of {describe(cx, obj)} is deleted", "set it to None")


@distributes
def has_attribute(cx: Context, obj: AbsVal, name: str) -> AbsVal:
    """`hasattr(obj, name)`"""
    o = resolve(cx, obj)
    if isinstance(o, Static):
        out = model_state.has_attribute(cx, o.value, name)
        if out is not None:
            return out
        return Static(hasattr(o.value, name))
    if is_late(cx, o, name):
        return late_fields.presence(cx, o, name)
    probe = cx.probe(lambda: _found(cx, obj, name))
    return Static(bool(probe))


def is_late(cx: Context, o: AbsVal, name: str) -> bool:
    """Whether it is a field that may not be there, of whose name the class has nothing."""
    if not isinstance(o, Rt) or not isinstance(o.type, StructType) or name not in unset_fields.late_names(cx, o):
        return False
    cls = cx.struct_key(o.type.name)
    return isinstance(cls, type) and not hasattr(cls, name)


def _found(cx: Context, obj: AbsVal, name: str) -> bool:
    try:
        find_attribute(cx, obj, name)
    except Missing:
        return False
    return True
