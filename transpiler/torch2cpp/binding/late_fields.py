"""Reading and adding fields of run-time objects that may not be there: late ones, see unset_fields.py.

Reading one asks whether it is there, as Python does.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable

from torch2cpp.binding import field_loads, partial_dicts
from torch2cpp.binding.context import Context
from torch2cpp.binding.control import branch
from torch2cpp.binding.convert import from_operand
from torch2cpp.binding.unset_fields import fields_of, late_names, learn
from torch2cpp.binding.values import NONE, UNBOUND, AbsVal, Host, PartialDict, Ref, Rt, Static, fresh_id
from torch2cpp.hostir.types import OptionalType, StructType


def load(cx: Context, o: Rt, name: str) -> AbsVal:
    """What a field holds; for a late one that may be missing, an optional that stands for an unbound name."""
    assert isinstance(o.type, StructType)
    before = field_loads.known(cx, o, name)
    if before is not None:
        return before
    key = cx.struct_key(o.type.name)
    t = fields_of(cx, o)[name]
    if name in cx.state.unset.get(o.operand.id, ()):
        learn(cx, o, [name])
    value = cx.host("struct.get", o.operand, name, type_=t, label=name)
    if (key, name) in cx.facts.field_lengths:
        cx.lengths[value.id] = cx.facts.field_lengths[key, name]
    example = cx.facts.examples.get((key, name))
    if isinstance(t, OptionalType) and t.absent:
        plain = OptionalType(t.elem)
        out: AbsVal = Rt(cx.host("optional.cast", value, type_=plain, label=name), plain, example, unbound=name)
    else:
        out = from_operand(cx, value, t, example)
    field_loads.note_read(cx, o, name, out)
    return out


def presence(cx: Context, o: Rt, name: str) -> Static | Host:
    """Whether the object has the field."""
    return partial_dicts.presence(cx, load(cx, o, name) if name in fields_of(cx, o) else UNBOUND)


def read(cx: Context, o: Rt, name: str, error: type[Exception], message: str) -> AbsVal:
    """The value of a field; raises the error where it is not there."""
    return partial_dicts.item_or_raise(cx, load(cx, o, name), error, message)


def read_or(cx: Context, o: Rt, name: str, otherwise: Callable[[], AbsVal]) -> AbsVal:
    """The value of a field, or what `otherwise` gives where it is not there."""
    item = load(cx, o, name)
    there = partial_dicts.presence(cx, item)
    if isinstance(there, Static):
        return partial_dicts.held_item(cx, item) if there.value else otherwise()
    return branch(cx, there.operand, functools.partial(partial_dicts.held_item, cx, item), otherwise, name, cx.span)


def attribute(cx: Context, o: Rt, cls: type, name: str, member: Callable[[], AbsVal]) -> AbsVal:
    """`o.name` for a field: where it is not set, what the class has of that name."""
    if inspect.getattr_static(cls, name, UNBOUND) is not UNBOUND:
        return read_or(cx, o, name, member)
    return read(cx, o, name, AttributeError, f"'{cls.__name__}' object has no attribute '{name}'")


def keep_order(cx: Context, o: Rt, name: str) -> None:
    """Refuses to add a key of which it is not known that it comes before or after others that may be there."""
    from torch2cpp.binding.list_methods import raise_if
    from torch2cpp.binding.operators import logical_not

    names = late_names(cx, o)
    later = names[names.index(name) + 1 :] if name in names else []
    for other in later:
        text = f"the keys {name!r} and {other!r} are added to a dict in another order than before"
        there, known = presence(cx, o, other), presence(cx, o, name)
        if any(isinstance(x, Static) and x.value == wrong for x, wrong in ((there, False), (known, True))):
            continue
        if isinstance(there, Static) and isinstance(known, Static):
            cx.refuse("T2C161", text, "add them in one order, or give the dict all its keys where it is made")

        def check(known: AbsVal = known, text: str = text) -> AbsVal:
            raise_if(cx, logical_not(cx, known).operand, NotImplementedError, lambda: text)
            return NONE

        if isinstance(there, Host) and isinstance(known, Host):
            branch(cx, there.operand, check, lambda: NONE, "order", cx.span)
        elif isinstance(there, Host):
            raise_if(cx, there.operand, NotImplementedError, functools.partial(str, text))
        else:
            check()


def snapshot(cx: Context, o: Rt) -> Ref:
    """A dict with late keys as one of which some may be missing: what is done with it as a whole is done with that."""
    ref = Ref(fresh_id())
    cx.state.heap[ref.id] = PartialDict({name: load(cx, o, name) for name in fields_of(cx, o)}, cx.site(None))
    return ref
