"""Run-time containers whose elements say themselves when they are equal: dicts, dataclasses, classes with `__eq__`.

The run time compares objects by identity; such containers are searched by `==` instead.
"""

from __future__ import annotations

from typing import Any

from torch2cpp.binding.context import Context
from torch2cpp.binding.in_python import searching
from torch2cpp.binding.values import AbsVal, Rt
from torch2cpp.hostir.types import (
    DictType,
    ListType,
    OptionalType,
    RecordType,
    StructType,
    TupleType,
    Type,
    UnionType,
)


def compares_itself(cx: Context, t: Type, method: str = "__eq__") -> bool:
    """Whether there is an object in a value of this type that defines the comparison."""
    match t:
        case StructType():
            cls = cx.struct_key(t.name)
            if not isinstance(cls, type):
                return method == "__eq__"  # a dict
            return getattr(cls, method, None) is not getattr(object, method)
        case OptionalType() | ListType():
            inner: tuple[Type, ...] = (t.elem,)
        case DictType():
            inner = (t.value,)
        case TupleType():
            inner = t.elems
        case RecordType():
            inner = tuple(x for _, x in t.fields)
        case UnionType():
            inner = t.members
        case _:
            return False
    return any(compares_itself(cx, x, method) for x in inner)


def searched(cx: Context, o: Any, what: str, *args: AbsVal) -> AbsVal | None:
    """`what` (a function of in_python/searching.py) of a run-time list; None where the run time compares rightly."""
    from torch2cpp.binding.calls import call_python

    if not isinstance(o, Rt) or not isinstance(o.type, ListType) or not compares_itself(cx, o.type):
        return None
    return call_python(cx, getattr(searching, what), [o, *args], {})


def sort(cx: Context, ref: AbsVal) -> None:
    """`ref.sort()` by the elements' own `<`."""
    from torch2cpp.binding.calls import call_python

    call_python(cx, searching.sort, [ref], {})  # type: ignore[arg-type]
