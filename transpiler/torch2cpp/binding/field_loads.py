"""What is known of the fields of run-time objects along one path: a field read twice is read once.

So a field that was tested for None, or that was just assigned, is known not to be None. A write to a
field of any object of the class makes what is known of that field of other objects uncertain: they may
be one object. After an `if`, what was known before is known where neither arm wrote; where loops begin, nothing is.
"""

from __future__ import annotations

from torch2cpp.binding.context import Context
from torch2cpp.binding.values import AbsVal, Rt
from torch2cpp.hostir.types import StructType


def known(cx: Context, o: Rt, name: str) -> AbsVal | None:
    """The value of a field, None if it has to be read."""
    assert isinstance(o.type, StructType)
    return cx.state.fields.get((o.type.name, name, o.operand.id))


def note_read(cx: Context, o: Rt, name: str, value: AbsVal) -> None:
    """Remembers what a field holds."""
    assert isinstance(o.type, StructType)
    cx.state.fields[o.type.name, name, o.operand.id] = value


def note_write(cx: Context, o: Rt, name: str, value: AbsVal) -> None:
    """Remembers what was put into a field, and forgets that field of other objects."""
    assert isinstance(o.type, StructType)
    this = (o.type.name, name)
    cx.state.fields = {key: v for key, v in cx.state.fields.items() if key[:2] != this}
    note_read(cx, o, name, value)


def forget(cx: Context) -> None:
    """Before a call of an IR function, which may write any field."""
    cx.state.fields = {}
