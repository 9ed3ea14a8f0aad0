"""Which fields of run-time objects, and keys of run-time dicts, are set on each path.

`box.rank = n` long after `Box(...)`, `found["mask"] = m` for some of a list of dicts. As long as an object is followed
by its one value, what was not set yet is known on each path (`State.unset`). A field that may still be missing where
the object goes into a container, meets another object or is read becomes *late*: an optional that holds nothing until
the field is set, never None itself (late_fields.py).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NoReturn

from torch2cpp.binding.context import Context, Restart, struct_name
from torch2cpp.binding.values import Rt, State
from torch2cpp.hostir.ops import Value
from torch2cpp.hostir.types import NoneType, OptionalType, StructType, Type, may_be_absent


def fields_of(cx: Context, o: Rt) -> dict[str, Type]:
    """The fields of a run-time object, in order."""
    assert isinstance(o.type, StructType)
    return cx.facts.structs[cx.struct_key(o.type.name)]


def late_names(cx: Context, o: Rt) -> list[str]:
    """Those that may not be there."""
    return [name for name, t in fields_of(cx, o).items() if may_be_absent(t)]


def begin(cx: Context, value: Value, key: Any) -> None:
    """A new object, with nothing set."""
    fields = cx.facts.structs[key]
    cx.state.unset[value.id] = frozenset(name for name, t in fields.items() if not may_be_absent(t))
    for name, t in fields.items():
        if may_be_absent(t):
            cx.effect("struct.set", value, name, cx.host("optional.none", type_=t, label="none"))


def note_set(cx: Context, o: Rt, name: str) -> None:
    """The field is there from here on."""
    unset = cx.state.unset.get(o.operand.id)
    if unset:
        cx.state.unset[o.operand.id] = unset - {name}


def escapes(cx: Context, o: Rt, state: State | None = None) -> None:
    """The object is reached otherwise than by this value from here on: what is not set yet is late."""
    unset = (state or cx.state).unset.get(o.operand.id)
    if unset:
        learn(cx, o, unset)


def learn(cx: Context, o: Rt, names: Iterable[str]) -> NoReturn:
    """Makes fields late; binding starts again."""
    assert isinstance(o.type, StructType)
    learn_of(cx, cx.struct_key(o.type.name), names)


def learn_of(cx: Context, key: Any, names: Iterable[str]) -> NoReturn:
    """The same for the objects of a class, or the dicts of a display."""
    fields = cx.facts.structs[key]
    for name in sorted(names, key=list(fields).index):
        t = fields[name]
        if isinstance(t, OptionalType | NoneType):
            cx.refuse(
                "T2C182",
                f"{struct_name(key)}.{name} may be None, and may not be set at all",
                "set it when the object is made, to None where there is nothing",
            )
        fields[name] = OptionalType(t, absent=True)
    raise Restart


def add(cx: Context, o: Rt, name: str, t: Type) -> NoReturn:
    """A field that no object had when it was made; binding starts again."""
    fields_of(cx, o)[name] = t
    if o.operand.id not in cx.state.unset:
        learn(cx, o, [name])
    raise Restart
