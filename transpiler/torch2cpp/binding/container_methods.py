"""Methods of containers: finds the one that a name means; the methods are in their own modules."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Any

from torch2cpp.binding import counter_methods, operators, partial_dicts
from torch2cpp.binding.container_dunders import container_dunder
from torch2cpp.binding.containers import new_dict, new_list
from torch2cpp.binding.context import Context
from torch2cpp.binding.convert import describe, resolve
from torch2cpp.binding.dict_kinds import is_counter
from torch2cpp.binding.dict_methods import DICT, READING_DICT
from torch2cpp.binding.list_methods import DEQUE, LIST, READING, Handler, list_append, list_extend, static_value
from torch2cpp.binding.literal_sets import LiteralSet, as_made, make_run_time_set, make_set, run_time_copy
from torch2cpp.binding.reductions import reduce_items
from torch2cpp.binding.set_methods import SET, set_add
from torch2cpp.binding.sorting import sorted_list
from torch2cpp.binding.values import AbsVal, DictObj, ListObj, Native, PartialDict, Rt, Static, Tup
from torch2cpp.hostir.types import DictType, ListType, OptionalType, SetType


def method(cx: Context, obj: AbsVal, name: str) -> Native | None:
    """The method `name` of a list, deque, tuple, dict or set; None if it has none of that name."""
    o = resolve(cx, obj)
    if isinstance(o, Rt) and isinstance(o.type, OptionalType):
        obj = operators.unwrap(cx, o, f"'NoneType' object has no attribute '{name}'")
        o = resolve(cx, obj)
    if isinstance(o, PartialDict) and not name.startswith("__"):
        return partial_dicts.method(cx, obj, o, name)
    if name.startswith("__"):
        return container_dunder(cx, obj, name)
    if isinstance(o, Static):
        return _static_method(cx, o.value, name)
    handler = _table(o).get(name)
    return None if handler is None else _native(name, handler, obj)


def _native(name: str, handler: Handler, obj: AbsVal) -> Native:
    return Native(name, lambda cx, args, kwargs: handler(cx, obj, args, kwargs))


def _table(o: AbsVal) -> dict[str, Handler]:
    match o:
        case ListObj():
            return DEQUE if o.kind.startswith("deque") else LIST
        case Tup():
            return READING
        case DictObj() if is_counter(o.factory):
            return COUNTER_METHODS
        case DictObj():
            return DICT
        case Rt(type=ListType(kind=kind)) if kind.startswith("deque"):
            return DEQUE
        case Rt(type=ListType()):
            return LIST
        case Rt(type=DictType(kind="counter")):
            return COUNTER_METHODS
        case Rt(type=DictType()):
            return DICT
        case Rt(type=SetType()):
            return SET
    return {}


COUNTER_METHODS: dict[str, Handler] = {**DICT, **counter_methods.METHODS}


# Containers of the model --------------------------------------------------------------------------

_MUTATING = {
    list: {"append", "extend", "insert", "pop", "remove", "clear", "reverse", "sort"},
    dict: {"pop", "popitem", "setdefault", "update", "clear"},
    deque: {"append", "appendleft", "extend", "extendleft", "insert", "pop", "popleft", "remove", "clear", "reverse",
            "rotate"},
    set: {"add", "discard", "remove", "pop", "clear", "update", "difference_update", "intersection_update",
          "symmetric_difference_update"},
}  # fmt: skip


def _static_method(cx: Context, value: Any, name: str) -> Native | None:
    """A method of a container known while transpiling: run for real, unless it changes the container."""
    from torch2cpp.binding.model_state import make_state, state_of_static

    if not isinstance(value, list | tuple | dict | set | frozenset | range | deque) or not hasattr(value, name):
        return None
    as_state = state_of_static(cx, value)
    if as_state is not None:
        return method(cx, as_state, name)
    for kind, names in _MUTATING.items():
        if isinstance(value, kind) and name in names:

            def change(cx: Context, args: list[AbsVal], kwargs: dict[str, AbsVal]) -> AbsVal:
                if isinstance(value, LiteralSet):
                    make_run_time_set(cx, value)
                make_state(cx, value)
                cx.refuse(
                    "T2C236",
                    f"{describe(cx, Static(value))} is changed with {name}()",
                    "keep what changes between calls in an attribute of the model",
                )

            return Native(name, change)
    return Native(name, _reading(value, name))


def _reading(value: Any, name: str) -> Callable[..., AbsVal]:
    run_time: dict[str, Handler] = {}
    if isinstance(value, list | tuple):
        run_time = READING
    elif isinstance(value, dict):
        run_time = READING_DICT

    def call(cx: Context, args: list[AbsVal], kwargs: dict[str, AbsVal]) -> AbsVal:
        known = [static_value(a) for a in args]
        named = {k: static_value(a) for k, a in kwargs.items()}
        if name == "copy" and isinstance(value, list):
            return new_list(cx, [Static(x) for x in value], cx.site(None))
        if name == "copy" and isinstance(value, dict):
            return new_dict(cx, [(Static(k), Static(x)) for k, x in value.items()], cx.site(None))
        if all(a is not None for a in (*known, *named.values())):
            positional = [a.value for a in known if a is not None]
            keywords = {k: a.value for k, a in named.items() if a is not None}
            out = operators.static_call(cx, lambda: getattr(as_made(value), name)(*positional, **keywords))
            return make_set(cx, out.value, cx.site(None)) if isinstance(out.value, set) else out
        if isinstance(value, set | frozenset) and name in SET:
            return SET[name](cx, run_time_copy(cx, value, (cx.site(None), "known")), args, kwargs)
        if name not in run_time:
            kind = type(value).__name__
            cx.refuse("T2C237", f"{name}() of a {kind} of the model on run-time values", "write it as a loop")
        return run_time[name](cx, Static(value), args, kwargs)

    return call


__all__ = ["list_append", "list_extend", "method", "reduce_items", "set_add", "sorted_list"]
