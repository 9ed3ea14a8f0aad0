"""State: what the model writes to its own attributes, buffers and containers, and keeps between calls.

An attribute that is written becomes a cell of the C++ object. A write is a `Store` at once, so that
an exception later leaves what Python would leave. A read is a `Load`, unless the value written on
this path is known; a cell that is never read that way is no state at all and goes away later.
"""

from __future__ import annotations

import collections
import enum
import itertools
from typing import Any

import torch

from torch2cpp.binding.cached_properties import cached_property
from torch2cpp.binding.context import Context, Restart, struct_name
from torch2cpp.binding.convert import (
    NoType,
    describe,
    from_operand,
    member_type,
    position_among,
    static_type,
    to_operand,
)
from torch2cpp.binding.dict_kinds import factory_in_model, kind_of
from torch2cpp.binding.growth import fit_inside, note_container
from torch2cpp.binding.linked_objects import is_known_object, with_linked
from torch2cpp.binding.values import AbsVal, Host, Ref, Rt, RtObj, Static, Tensor
from torch2cpp.hostir.ops import Cell, Load, Store
from torch2cpp.hostir.pyvalues import has_fields, own_fields
from torch2cpp.hostir.types import (
    NEVER,
    DictType,
    ListType,
    OptionalType,
    ScalarType,
    SetType,
    StructType,
    TupleType,
    Type,
    holds_known,
    join,
    join_or_union,
    known_type,
)
from torch2cpp.hostir.types import NONE as NONE_TYPE


class _Absent:
    """The initial value of an attribute that does not exist before the first call."""


ABSENT = _Absent()


def _key(obj: Any, name: str) -> tuple[str, str]:
    return (str(id(obj)), name)


def _initial(obj: Any, name: str) -> Any:
    if name not in getattr(obj, "__dict__", {}) and cached_property(type(obj), name) is not None:
        return ABSENT
    try:
        return getattr(obj, name)
    except AttributeError:
        return ABSENT


def _cell_name(cx: Context, obj: Any, name: str) -> str:
    path = cx.module_paths.get(id(obj))
    if path is None:
        path = cx.object_names.get(id(obj), type(obj).__name__.lower())
    plain = f"{path}.{name}" if path else name
    # The initial values of two objects of one class lie under their names in the file of weights.
    taken = {cell.name for cell in cx.cells.values()}
    numbers = itertools.count(2)
    out = plain
    while out in taken:
        out = f"{plain}_{next(numbers)}"
    return out


def runtime_type(cx: Context, value: Any) -> Type:
    """The type of a state value: lists and dicts are run-time containers, since they may grow."""
    if isinstance(value, list | collections.deque):
        elem: Type | None = NEVER
        for x in value:
            elem = join(elem, runtime_type(cx, x)) if elem is not None else None
        if elem is None:
            raise NoType("a list of unlike values")
        limit = getattr(value, "maxlen", None)
        kind = "list" if isinstance(value, list) else "deque" if limit is None else f"deque {limit}"
        return ListType(elem, kind)
    if isinstance(value, dict):
        key: Type | None = NEVER
        item: Type | None = NEVER
        for k, x in value.items():
            key = join(key, static_type(k)) if key is not None else None
            item = join(item, runtime_type(cx, x)) if item is not None else None
        if key is None or item is None:
            raise NoType("a dict of unlike values")
        return DictType(key, item, kind_of(cx, factory_in_model(value), id(value)))
    if isinstance(value, set) and not value:
        return SetType(NEVER)  # of one with members, the order hangs on how it came about
    if isinstance(value, enum.Enum):
        return member_type(type(value))
    if isinstance(value, tuple) and not hasattr(value, "_fields"):
        return TupleType(tuple(runtime_type(cx, x) for x in value))
    if has_fields(value) and not isinstance(value, type | torch.Tensor | torch.nn.Module | enum.Enum):
        return _object_type(cx, value)
    return static_type(value)


def _object_type(cx: Context, value: Any) -> Type:
    """An object of a user's class that an attribute holds: objects of the class are run-time structs then."""
    from torch2cpp.binding.objects import is_interpretable

    cls = type(value)
    if not is_interpretable(cls):
        raise NoType(cls.__name__)
    fields = {name: runtime_type(cx, x) for name, x in own_fields(value).items()}
    have = cx.facts.structs.get(cls, {})
    wide: dict[str, Type] = dict(have)
    for name, t in fields.items():
        joined = join_or_union(have.get(name, NEVER), t)
        if joined is None:
            raise NoType(f"{cls.__name__}.{name} of several types")
        wide[name] = joined
    # What an object lacks that others have.
    for name in have:
        if name not in fields and not isinstance(wide[name], OptionalType):
            wide[name] = OptionalType(wide[name], absent=True)
    if cls not in cx.facts.structs or wide != have:
        cx.facts.structs[cls] = wide
        raise Restart
    return StructType(struct_name(cls))


def load_attribute(cx: Context, obj: Any, name: str) -> AbsVal | None:
    """The current value of an attribute that is state, None if it is not."""
    key = _key(obj, name)
    if key not in cx.facts.state:
        return None
    overlay = cx.state.heap.get(("attr", *key))
    if overlay is not None:
        return overlay
    cell = _cell(cx, obj, name)
    value = cx.value(cell.type, name)
    cx.emit(Load(value, cell, cx.span))
    cx.mark("host")
    out = from_operand(cx, value, cell.type, cx.facts.state_examples.get(key))
    if isinstance(out, Rt) and isinstance(out.type, ListType | DictType | SetType):
        ref = _on_heap(cx, out, ("state", key))
        cx.write(("attr", *key), ref)
        return ref
    if isinstance(out, Rt) and isinstance(out.type, OptionalType):
        if _initial(obj, name) is ABSENT:
            out.unbound = ""
        cx.write(("attr", *key), out)
    return out


def _on_heap(cx: Context, rt: Rt, site: Any) -> Ref:
    from torch2cpp.binding.containers import run_time

    return run_time(cx, rt, site)


def _cell(cx: Context, obj: Any, name: str) -> Cell:
    key = _key(obj, name)
    if key not in cx.cells:
        cx.keep.append(obj)
        initial = _initial(obj, name)
        t = cx.facts.state[key]
        fact = cx.facts.containers.get(("state", key))
        if fact is not None and (wide := join(t, fact)) is not None:
            t = wide
        cx.cells[key] = Cell(_cell_name(cx, obj, name), t, "state", _as_initial(initial, t))
    return cx.cells[key]


def _as_initial(value: Any, t: Type) -> Any:
    """The value of an attribute before the first call, as a cell holds it."""
    if value is ABSENT:
        return None
    if isinstance(t, ScalarType) and t.of:
        return position_among(t, value)
    return value


def store_attribute(cx: Context, obj: Any, name: str, value: AbsVal) -> None:
    """`obj.name = value` for an object of the model."""
    if isinstance(obj, type) or not has_fields(obj):
        cx.refuse("T2C177", f"{name!r} of {obj!r} is assigned", "keep what changes in an attribute of the model")
    key = _key(obj, name)
    initial = _initial(obj, name)
    from torch2cpp.binding.containers import element_type

    one_of_several = isinstance(value, Static) and is_known_object(value.value) and is_known_object(initial)
    try:
        start = known_type(with_linked(initial)) if one_of_several else runtime_type(cx, _or_none(initial))
    except NoType:
        cx.refuse(
            "T2C177",
            f"the attribute {name!r}, which holds {describe(cx, Static(initial))}, is replaced at run time",
            "choose between modules or functions with an if, and keep tensors and numbers in attributes",
        )
    if isinstance(value, Static) and value.value is initial and key not in cx.facts.state:
        return
    new = element_type(cx, value, field=True)
    old = cx.facts.state.get(key, start)
    if old != NONE_TYPE and new != NONE_TYPE and _holds_known(old) != _holds_known(new):
        what = f"the attribute {name!r} holds objects of the model on some paths and {describe(cx, value)} here"
        cx.refuse("T2C177", what, "make all of them in forward, or choose among those of the model by their numbers")
    wide = join_or_union(old, new)
    if not (isinstance(value, Static) and value.value is None):
        cx.facts.state_examples.setdefault(key, value)
    if cx.facts.state.get(key) != wide:
        first = key not in cx.facts.state
        cx.facts.state[key] = wide
        if first and is_known_object(initial):
            raise Restart  # what was read from it in this round was known
        cx.dirty = True
    # What is put into a container elsewhere may have made the cell's type wider already.
    if key in cx.cells and join(cx.cells[key].type, wide) != cx.cells[key].type:
        del cx.cells[key]
    cell = _cell(cx, obj, name)
    fit_inside(cx, value, cell.type)
    cx.emit(Store(cell, to_operand(cx, value, cell.type), cx.span))
    cx.mark("host")
    cx.write(("attr", *key), value)


def _or_none(initial: Any) -> Any:
    return None if initial is ABSENT else initial


def _holds_known(t: Type) -> bool:
    return holds_known(t.elem if isinstance(t, OptionalType) else t)


def has_attribute(cx: Context, obj: Any, name: str) -> AbsVal | None:
    """`hasattr` for an attribute that comes into being at run time; None if it always or never exists."""
    key = _key(obj, name)
    if key not in cx.facts.state or _initial(obj, name) is not ABSENT:
        return None
    from torch2cpp.binding.operators import logical_not
    from torch2cpp.binding.optional import is_none

    v = load_attribute(cx, obj, name)
    assert v is not None
    missing = is_none(cx, v)
    out = logical_not(cx, missing)
    if isinstance(missing, Host) and isinstance(out, Host):
        tested = cx.none_tests.get(missing.operand.id)
        cx.knows[out.operand.id] = ((tested,), ())
    return out


# Containers and tensors of the model that are written in place -----------------------------------


def make_state(cx: Context, value: Any) -> None:
    """A list or dict of the model is changed at run time: it becomes state, and binding starts again."""
    if id(value) not in cx.facts.state_objects:
        cx.facts.state_objects[id(value)] = value
        raise Restart


def state_of_static(cx: Context, value: Any) -> Rt | None:
    """The run-time form of a list or dict of the model that is state."""
    if id(value) not in cx.facts.state_objects:
        return None
    overlay = cx.state.heap.get(("object", id(value)))
    if overlay is not None:
        found = cx.state.heap[overlay.id]
        assert isinstance(found, RtObj)
        note_container(cx, found)
        return found.value
    key = ("object", str(id(value)))
    site = ("state", key)
    try:
        t = runtime_type(cx, value)
    except NoType:
        cx.refuse("T2C178", "a container of the model with values of different types is changed", "use one type")
    fact = cx.facts.containers.get(site)
    if fact is not None:
        t = join(t, fact) or t
    if key not in cx.cells:
        name = cx.object_names.get(id(value), f"{type(value).__name__}_{len(cx.cells)}")
        cx.cells[key] = Cell(name, t, "state", value)
    v = cx.value(t, cx.cells[key].name.rpartition(".")[2])
    cx.emit(Load(v, cx.cells[key], cx.span))
    rt = Rt(v, t, example=cx.facts.examples.get(site))
    ref = _on_heap(cx, rt, site)
    cx.write(("object", id(value)), ref)
    made = cx.state.heap[ref.id]
    assert isinstance(made, RtObj)
    note_container(cx, made)
    return rt


def state_ref(cx: Context, value: Any) -> Ref | None:
    """The heap reference of a container that is state."""
    if state_of_static(cx, value) is None:
        return None
    ref = cx.state.heap[("object", id(value))]
    assert isinstance(ref, Ref)
    return ref


def written_tensor(cx: Context, tensor: torch.Tensor, name: str) -> AbsVal | None:
    """A buffer or parameter that is written: a cell holding a tensor of this model instance."""
    if name not in cx.facts.written_weights:
        return None
    key = ("weight", name)
    dims: tuple[int | None, ...] = tuple(tensor.shape)
    if name in cx.facts.resized_weights:
        dims = tuple(None for _ in tensor.shape)
    from torch2cpp.hostir.types import TensorType

    t = TensorType(tensor.dtype, dims)
    if key not in cx.cells:
        cx.cells[key] = Cell(name, t, "state", tensor)
    v = cx.value(t, name.rpartition(".")[2])
    cx.loaded[v.id] = name
    cx.emit(Load(v, cx.cells[key], cx.span))
    out = from_operand(cx, v, t)
    assert isinstance(out, Tensor)
    out.bases = frozenset({name})
    return out
