"""`collections.Counter`: a dict that gives 0 for a missing key, with methods and operators of its own."""

from __future__ import annotations

import collections
from typing import Any

from torch2cpp.binding import struct_dicts
from torch2cpp.binding.builtin_table import builtin
from torch2cpp.binding.context import Context
from torch2cpp.binding.convert import resolve
from torch2cpp.binding.dict_kinds import COUNTER, factory_in_model, is_counter
from torch2cpp.binding.in_python import counters
from torch2cpp.binding.values import NONE, AbsVal, DictObj, Rt, Static
from torch2cpp.hostir.types import DictType

Args = list[AbsVal]
Kwargs = dict[str, AbsVal]
_OPERATORS = {"+": counters.plus, "-": counters.minus, "|": counters.larger, "&": counters.smaller}


def is_a_counter(cx: Context, v: AbsVal) -> bool:
    """Whether a value is a Counter."""
    o = resolve(cx, v)
    if isinstance(o, DictObj):
        return is_counter(o.factory)
    if isinstance(o, Rt):
        return isinstance(o.type, DictType) and o.type.kind == "counter"
    return isinstance(o, Static) and is_counter(factory_in_model(o.value))


def _is_mapping(cx: Context, v: AbsVal) -> bool:
    o = resolve(cx, v)
    is_dict = isinstance(o, DictObj) or (
        isinstance(o, Rt) and (isinstance(o.type, DictType) or struct_dicts.is_dict(cx, o))
    )
    return is_dict or (isinstance(o, Static) and isinstance(o.value, dict))


def _run(cx: Context, body: Any, *args: AbsVal) -> AbsVal:
    from torch2cpp.binding.calls import call_python

    return call_python(cx, body, list(args), {})


def _counted(cx: Context, ref: AbsVal, args: Args, kwargs: Kwargs, of_items: Any, of_mapping: Any) -> AbsVal:
    from torch2cpp.binding.containers import new_dict

    for other in args:
        if not (isinstance(other, Static) and other.value is None):
            _run(cx, of_mapping if _is_mapping(cx, other) else of_items, ref, other)
    if kwargs:
        named = new_dict(cx, [(Static(k), v) for k, v in kwargs.items()], (cx.site(None), "named"))
        _run(cx, of_mapping, ref, named)
    return NONE


@builtin(collections.Counter, static=False)
def _counter(cx: Context, args: Args, kwargs: Kwargs) -> AbsVal:
    from torch2cpp.binding.containers import new_dict

    ref = new_dict(cx, [], cx.site(None), COUNTER)
    _counted(cx, ref, args, kwargs, counters.count, counters.add_counts)
    return ref


def _update(cx: Context, ref: AbsVal, args: Args, kwargs: Kwargs) -> AbsVal:
    return _counted(cx, ref, args, kwargs, counters.count, counters.add_counts)


def _subtract(cx: Context, ref: AbsVal, args: Args, kwargs: Kwargs) -> AbsVal:
    return _counted(cx, ref, args, kwargs, counters.uncount, counters.subtract_counts)


def _most_common(cx: Context, ref: AbsVal, args: Args, kwargs: Kwargs) -> AbsVal:
    return _run(cx, counters.most_common, ref, *args, *kwargs.values())


#: Methods that a dict has not, or has with another meaning.
METHODS = {
    "update": _update, "subtract": _subtract, "most_common": _most_common,
    "elements": lambda cx, ref, args, kwargs: _run(cx, counters.elements, ref),
    "total": lambda cx, ref, args, kwargs: _run(cx, counters.total, ref),
}  # fmt: skip


def counter_binary(cx: Context, sign: str, a: AbsVal, b: AbsVal) -> AbsVal | None:
    """`a <sign> b` of two Counters; None when they are not."""
    body = _OPERATORS.get(sign)
    if body is None or not (is_a_counter(cx, a) and is_a_counter(cx, b)):
        return None
    return _run(cx, body, a, b)


def counter_inplace(cx: Context, sign: str, old: AbsVal, value: AbsVal) -> bool:
    """`a += b` changes a Counter itself: it takes over what the operator gives; whether it was one."""
    from torch2cpp.binding.dict_methods import DICT
    from torch2cpp.binding.item_writes import dict_update

    made = counter_binary(cx, sign, old, value)
    if made is None:
        return False
    DICT["clear"](cx, old, [], {})
    dict_update(cx, old, made)
    return True


def counter_equal(cx: Context, a: AbsVal, b: AbsVal) -> AbsVal | None:
    """`a == b` of two Counters; None when they are not."""
    if not (is_a_counter(cx, a) and is_a_counter(cx, b)):
        return None
    return _run(cx, counters.same, a, b)
