"""Known dicts and sets that are looked up by what is known at run time only: vocabularies, label maps.

A few entries are compared one by one, which folds into what is around. More become a run-time dict or set of constants;
the C++ makes it once (emit/tables.py).
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

from torch2cpp.binding.context import Context
from torch2cpp.binding.convert import SCALARS, to_operand
from torch2cpp.binding.values import AbsVal, Host, Rt, Static
from torch2cpp.hostir.ops import Value
from torch2cpp.hostir.types import BOOL, INT, STR, DictType, SetType, Type

#: Fewer are compared one by one.
LEAST = 12
#: More than these are never compared one by one: the program would be as deep as they are many.
MOST_COMPARED = 100


def dict_table(cx: Context, items: dict[Any, Any], key: AbsVal) -> Rt | None:
    """The entries whose keys may equal `key` as a run-time dict; None where they are few or of unlike types."""
    if not isinstance(key, Host) or key.type not in (STR, INT):
        return None
    entries = {k: v for k, v in items.items() if _alike(k, key.type)}
    types = {type(v) for v in entries.values()}
    if len(entries) < LEAST or len(types) != 1 or not types <= set(SCALARS):
        return None
    t = DictType(key.type, SCALARS[types.pop()])
    return _made(cx, entries, items, t)


def set_table(cx: Context, elems: Collection[Any], item: AbsVal, owner: Any = None) -> Rt | None:
    """Known values that may equal `item` as a run-time set; None where they are few, or one is no scalar."""
    if not isinstance(item, Host) or item.type not in (STR, INT):
        return None
    # True is 1, and 1.0 is: an int that is looked for may be one of another type.
    if len(elems) < LEAST or any(type(x) not in SCALARS for x in elems):
        return None
    if item.type == INT and any(SCALARS[type(x)] not in (INT, STR) for x in elems):
        return None
    found = dict.fromkeys(x for x in elems if _alike(x, item.type))
    return _made(cx, list(found), owner, SetType(item.type)) if len(found) >= LEAST else None


def static_elements(elems: Sequence[AbsVal]) -> list[Any] | None:
    """The values, where all are known."""
    return [e.value for e in elems if isinstance(e, Static)] if all(isinstance(e, Static) for e in elems) else None


def refuse_many(cx: Context, count: int, what: str) -> None:
    """Refuses what would be compared with too many known values one by one."""
    if count > MOST_COMPARED:
        cx.refuse(
            "T2C161",
            f"{what} {count} known values of several types, or of none that a table can hold, by one of run time",
            "look among strings or ints, with bools, numbers or strings as their values",
        )


def _alike(k: Any, t: Type) -> bool:
    return type(k) in SCALARS and SCALARS[type(k)] == t and t != BOOL and not (isinstance(k, str) and "\0" in k)


def _made(cx: Context, values: Any, owner: Any, t: Type) -> Rt:
    if isinstance(t, DictType):
        operand = to_operand(cx, Static(values), t)
    else:
        operand = cx.host("set.new", *values, type_=t)
    assert isinstance(operand, Value)
    operand.name = cx.object_names.get(id(owner), "table").rpartition(".")[2]
    return Rt(operand, t)
