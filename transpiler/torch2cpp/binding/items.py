"""`obj[index]` of containers: known or run-time elements, by a known or a run-time index."""

from __future__ import annotations

import collections
import enum
from typing import Any, NoReturn

import numpy as np
import torch

from torch2cpp.binding import indexing, numpy_arrays, operators, partial_dicts
from torch2cpp.binding.choices import distribute_parts, distributes
from torch2cpp.binding.containers import constant_list, fresh_rt, new_list
from torch2cpp.binding.context import Context, Restart
from torch2cpp.binding.convert import (
    SCALARS,
    NoType,
    describe,
    from_operand,
    is_scalar,
    resolve,
    type_of,
)
from torch2cpp.binding.dict_kinds import factory_in_model, factory_of, is_counter
from torch2cpp.binding.kept_objects import is_kept
from torch2cpp.binding.keys import key_operand
from torch2cpp.binding.optional import held_or_raise
from torch2cpp.binding.picking import index_message, picked_at, picked_by
from torch2cpp.binding.tables import dict_table, refuse_many
from torch2cpp.binding.values import (
    AbsVal,
    Array,
    DictObj,
    Host,
    Iter,
    ListObj,
    PartialDict,
    RangeVal,
    Rt,
    SliceVal,
    Static,
    Tensor,
    Tup,
)
from torch2cpp.binding.widening import widen_dict, widen_list
from torch2cpp.hostir.types import INT, NEVER, STR, DictType, ListType, OptionalType, StructType


@distributes
def get_item(cx: Context, obj: AbsVal, index: AbsVal) -> AbsVal:
    """`obj[index]`"""
    of_parts = distribute_parts(cx, index, lambda each: get_item(cx, obj, each))
    if of_parts is not None:
        return of_parts
    o = resolve(cx, obj)
    if isinstance(o, Rt):
        o = operators.unwrap(cx, o, "'NoneType' object is not subscriptable")
        o = resolve(cx, o)
    if isinstance(o, Array):
        return numpy_arrays.get_item(cx, o, index)
    if isinstance(index, Array):
        index = numpy_arrays.item(cx, index)
    t = operators.tensor_of(cx, o)
    if t is not None:
        return indexing.get_item(cx, t, index)
    if isinstance(index, Tensor) and index.rank == 0:
        from torch2cpp.binding.aten import scalar_item

        index = scalar_item(cx, index)
    index = _index_of_sequence(cx, o, index)
    match o:
        case Static(value) if not is_kept(cx, value):
            return _static_item(cx, obj, value, index)
        case Tup():
            return _sequence_item(cx, obj, list(o.elems), index, is_list=False)
        case ListObj():
            return _sequence_item(cx, obj, list(o.elems), index, is_list=True)
        case DictObj():
            return _dict_item(cx, obj, o, index)
        case PartialDict():
            return partial_dicts.get_item(cx, obj, o, index)
        case Rt():
            return _rt_item(cx, o, index)
        case Host() if o.type == STR:
            from torch2cpp.binding.strings import string_item

            return string_item(cx, o, index)
        case Iter() if o.kind == "choice_slice":
            if slice_operands(cx, index) is not None:
                return slice_choice(cx, o, index)
            picked = cx.scalar("list.get", o.extra, operators.scalar_operand(cx, index))
            return Iter("choice", o.parts, picked)
        case RangeVal():
            return _range_item(cx, o, index)
    from torch2cpp.binding.calls import call_method_if_any

    out = call_method_if_any(cx, obj, "__getitem__", [index])
    if out is not None:
        return out
    cx.refuse("T2C160", f"{describe(cx, obj)} is indexed", "index lists, tuples, dicts, strings or tensors")


def _range_item(cx: Context, o: RangeVal, index: AbsVal) -> AbsVal:
    """`range(...)[i]`, through a run-time list: negative and out-of-range indices are Python's."""
    from torch2cpp.binding.control import branch
    from torch2cpp.binding.iteration import items_of

    items = items_of(cx, o)
    if not is_scalar(index):
        cx.refuse("T2C161", f"a range is indexed with {describe(cx, index)}", "index it with an int")
    low = operators.compare(cx, "<", index, Static(0))
    from_end = operators.truth(cx, low)
    at = (
        (operators.binary(cx, "+", items.count, index) if from_end.value else index)
        if isinstance(from_end, Static)
        else branch(
            cx, from_end.operand, lambda: operators.binary(cx, "+", items.count, index), lambda: index, "i", cx.span
        )
    )
    inside = operators.truth(cx, operators.compare(cx, "<", at, items.count))
    positive = operators.truth(cx, operators.compare(cx, ">=", at, Static(0)))

    def outside() -> AbsVal:
        cx.raise_(IndexError, "range object index out of range")

    for ok in (inside, positive):
        if isinstance(ok, Static):
            if not ok.value:
                outside()
        else:
            branch(cx, ok.operand, lambda: Static(None), outside, "range", cx.span)
    return items.get(at)


def _static_item(cx: Context, obj: AbsVal, value: Any, index: AbsVal) -> AbsVal:
    if isinstance(index, Static) and not isinstance(index.value, torch.Tensor):
        if isinstance(value, collections.defaultdict) and index.value not in value:
            from torch2cpp.binding.model_state import make_state

            make_state(cx, value)
        try:
            item = value[index.value]
        except Exception as e:
            cx.raise_(type(e), str(e) if not isinstance(e, KeyError) else repr(index.value))
        if isinstance(value, torch.nn.ModuleList) and isinstance(index.value, slice):
            return Static(list(item))
        return Static(item)
    if isinstance(value, np.ndarray):
        return numpy_arrays.get_item(cx, numpy_arrays.of_model(cx, value), index)
    if isinstance(value, torch.nn.ParameterList):
        return get_item(cx, Static(list(value)), index)
    if isinstance(value, torch.nn.ParameterDict):
        return get_item(cx, Static(dict(value.items())), index)
    if isinstance(value, range) and isinstance(index, Host):
        return _range_item(cx, RangeVal(Static(value.start), Static(value.stop), Static(value.step)), index)
    if isinstance(index, Host):
        if index.loops - cx.facts.unrolled - cx.facts.rolled and isinstance(value, torch.nn.Module | list | tuple):
            need_static(cx, index)
        if isinstance(value, torch.nn.ModuleList | torch.nn.Sequential):
            return picked_at(cx, tuple(map(Static, value)), index, lambda: index_message(cx, index))
        if isinstance(value, torch.nn.ModuleDict):
            return _static_dict_item(cx, dict(value.items()), index)
        if isinstance(value, str):
            from torch2cpp.binding.strings import string_item

            return string_item(cx, Static(value), index)
        if isinstance(value, dict):
            return _static_dict_item(cx, value, index)
        if isinstance(value, enum.EnumMeta) and index.type == STR:
            return _static_dict_item(cx, dict(value.__members__), index)
        rt = constant_list(cx, obj, cx.site(None))
        if rt is not None:
            return _rt_item(cx, rt, index)
        if isinstance(value, tuple | list):
            noun = "tuple" if isinstance(value, tuple) else "list"
            return picked_at(cx, tuple(map(Static, value)), index, lambda: f"{noun} index out of range")
    if isinstance(index, SliceVal):
        if isinstance(value, str):
            from torch2cpp.binding.strings import string_item

            return string_item(cx, Static(value), index)
        if isinstance(value, torch.nn.ModuleList):
            for b in (index.start, index.stop, index.step):
                need_static_if_loop(cx, b)
            return slice_choice(cx, Iter("choice_slice", tuple(map(Static, value)), None), index)
        rt = constant_list(cx, obj, cx.site(None))
        if rt is not None:
            return _rt_item(cx, rt, index)
    cx.refuse("T2C161", f"{describe(cx, obj)} is indexed with {describe(cx, index)}", "index it with a constant")


def slice_choice(cx: Context, choice: Iter, index: AbsVal) -> AbsVal:
    """modules[a:b:c] with run-time bounds: the indices that are left."""
    whole = choice.extra if choice.extra is not None else cx.host("list.range", 0, len(choice.parts), 1)
    bounds = slice_operands(cx, index)
    assert bounds is not None
    return Iter("choice_slice", choice.parts, cx.host("list.slice", whole, *bounds, type_=whole.type))


def _static_dict_item(cx: Context, items: dict[Any, Any], key: Host) -> AbsVal:
    """A dict of static values looked up with a run-time key: one branch per entry."""
    from torch2cpp.binding.control import branch

    if factory_in_model(items) is not None:
        from torch2cpp.binding.model_state import make_state

        make_state(cx, items)  # a missing key may be put in
    if hasattr(type(items), "__missing__"):
        cx.refuse("T2C161", f"a {type(items).__name__} is indexed with a run-time key", "use a plain dict and get()")
    entries = [(k, v) for k, v in items.items() if is_like(k, key)]

    def missing() -> Any:
        from torch2cpp.binding.strings import to_repr

        message = to_repr(cx, key)
        return message.value if isinstance(message, Static) else message.operand

    if any(isinstance(v, torch.nn.Module) or callable(v) for _, v in entries):
        return picked_by(cx, [(k, Static(v)) for k, v in entries], key, KeyError, missing)
    table = dict_table(cx, items, key)
    if table is not None:
        return get_item(cx, table, key)
    refuse_many(cx, len(entries), "a dict looks among")

    def step(i: int) -> AbsVal:
        if i == len(entries):
            cx.raise_(KeyError, missing())
        k, v = entries[i]
        cond = operators.compare(cx, "==", key, Static(k))
        assert isinstance(cond, Host)
        return branch(cx, cond.operand, lambda: Static(v), lambda: step(i + 1), "entry", cx.span)

    return step(0)


def is_like(k: Any, key: Host) -> bool:
    """Whether a known key of a dict has the type of a run-time one: only then may it be equal."""
    k = operators.plain(Static(k)).value
    return type(k) in SCALARS and SCALARS[type(k)] == key.type


def _index_of_sequence(cx: Context, o: AbsVal, index: AbsVal) -> AbsVal:
    """An index that may be None: lists, tuples and strings take none."""
    missing = isinstance(index, Static) and index.value is None
    if not missing and not (isinstance(index, Rt) and isinstance(index.type, OptionalType)):
        return index
    noun = _sequence_noun(o)
    if noun is None:
        return index
    text = f"{noun} indices must be integers or slices, not NoneType"
    if noun == "string":
        text = "string indices must be integers, not 'NoneType'"
    if missing:
        cx.raise_(TypeError, text)
    return held_or_raise(cx, index, TypeError, text)


def _sequence_noun(o: AbsVal) -> str | None:
    match o:
        case Static(value=str()):
            return "string"
        case Host() if o.type == STR:
            return "string"
        case Tup() | Static(value=tuple()):
            return "tuple"
        case ListObj(kind="list") | Static(value=list()):
            return "list"
        case Rt(type=ListType(kind=kind)) if kind in ("list", "tuple"):
            return kind
    return None


def need_static(cx: Context, index: Host) -> None:
    """A value that must be static follows from loops over static ranges: unroll those."""
    loops = index.loops - cx.facts.unrolled - cx.facts.rolled
    if loops:
        cx.facts.unrolled |= loops
        raise Restart


def need_static_if_loop(cx: Context, v: AbsVal) -> None:
    if isinstance(v, Host):
        need_static(cx, v)


def _sequence_item(cx: Context, obj: AbsVal, elems: list[AbsVal], index: AbsVal, is_list: bool) -> AbsVal:
    if isinstance(index, Static):
        if isinstance(index.value, slice):
            part = elems[index.value]
            return new_list(cx, part, cx.site(None)) if is_list else _tuple(part)
        try:
            return elems[index.value]
        except (IndexError, TypeError) as e:
            kind = "list" if is_list else "tuple"
            text = f"{kind} index out of range" if isinstance(e, IndexError) else str(e)
            cx.raise_(type(e), text)
    if isinstance(index, Host | SliceVal):
        for b in (index,) if isinstance(index, Host) else (index.start, index.stop, index.step):
            need_static_if_loop(cx, b)
        typed = all(_has_type(cx, e) for e in elems)
        if not typed and isinstance(index, Host):
            noun = "list" if is_list else "tuple"
            return picked_at(cx, elems, index, lambda: f"{noun} index out of range")
        if is_list:
            o = resolve(cx, obj)
            widen_list(cx, cx.state, o, None)
        rt = constant_list(cx, obj, cx.site(None))
        if rt is not None:
            return _rt_item(cx, rt, index)
        if isinstance(index, Host):
            return _picked(cx, elems, index)
    cx.refuse("T2C161", f"{describe(cx, obj)} is indexed with {describe(cx, index)}", "index it with an int")


def _has_type(cx: Context, v: AbsVal) -> bool:
    """Whether a value can exist at run time."""
    try:
        type_of(cx, v)
    except NoType:
        return False
    return True


def _picked(cx: Context, elems: list[AbsVal], index: Host) -> AbsVal:
    """An element of a tuple of unlike types, by a run-time index."""
    from torch2cpp.binding.control import branch

    behind = cx.host("add", index.operand, len(elems))
    at = cx.host("select", cx.host("lt", index.operand, 0), behind, index.operand, type_=INT, label="index")

    def step(i: int) -> AbsVal:
        if i == len(elems):
            cx.raise_(IndexError, "tuple index out of range")
        return branch(cx, cx.host("eq", at, i, label="is_item"), lambda: elems[i], lambda: step(i + 1), "item", cx.span)

    return step(0)


def _tuple(elems: list[AbsVal]) -> AbsVal:
    if all(isinstance(e, Static) for e in elems):
        return Static(tuple(e.value for e in elems))
    return Tup(tuple(elems))


def _dict_item(cx: Context, ref: AbsVal, d: DictObj, key: AbsVal) -> AbsVal:
    from torch2cpp.binding.item_writes import set_item

    if isinstance(key, Static):
        if key.value in d.items:
            return d.items[key.value]
        if is_counter(d.factory):
            return Static(0)
        if d.factory is not None:
            from torch2cpp.binding.calls import call

            value = call(cx, d.factory, [], {})
            set_item(cx, ref, key, value)
            return value
        cx.raise_(KeyError, repr(key.value))
    need_static_if_loop(cx, key)
    if isinstance(key, Host) and d.factory is None and not all(_has_type(cx, v) for v in d.items.values()):
        entries = [(k, v) for k, v in d.items.items() if type(k) in SCALARS and SCALARS[type(k)] == key.type]

        return picked_by(cx, entries, key, KeyError, lambda: cx.host("repr", key.operand))
    widen_dict(cx, cx.state, d)
    raise Restart


def _rt_item(cx: Context, o: Rt, index: AbsVal) -> AbsVal:
    from torch2cpp.binding import struct_dicts

    match o.type:
        case StructType() if struct_dicts.is_dict(cx, o):
            return struct_dicts.get_item(cx, o, index)
        case ListType():
            return _rt_list_item(cx, o, index)
        case DictType():
            return _rt_dict_item(cx, o, index)
    from torch2cpp.binding.calls import call_method_if_any

    out = call_method_if_any(cx, o, "__getitem__", [index])
    if out is not None:
        return out
    cx.refuse("T2C160", f"{describe(cx, o)} is indexed", "index lists, tuples, dicts, strings or tensors")


def slice_operands(cx: Context, index: AbsVal) -> tuple[Any, Any, Any] | None:
    """(start, stop, step) operands of a slice, None if it is not one."""
    if isinstance(index, Static) and isinstance(index.value, slice):
        return index.value.start, index.value.stop, index.value.step
    if isinstance(index, SliceVal):
        out = []
        for b in (index.start, index.stop, index.step):
            if isinstance(b, Tensor):
                from torch2cpp.binding.aten import scalar_item

                b = scalar_item(cx, b)
            out.append(b.value if isinstance(b, Static) else b.operand)
        return out[0], out[1], out[2]
    return None


def _rt_list_item(cx: Context, o: Rt, index: AbsVal) -> AbsVal:
    assert isinstance(o.type, ListType)
    bounds = slice_operands(cx, index)
    if bounds is not None:
        return fresh_rt(cx, "list.slice", o.operand, *bounds, type_=o.type, example=o.example, site=cx.site(None))
    if not is_scalar(index):
        cx.refuse("T2C161", f"a list is indexed with {describe(cx, index)}", "index it with an int")
    if o.type.elem == NEVER:
        cx.raise_(IndexError, "list index out of range")  # nothing was put in on any path
    noun = o.type.kind.partition(" ")[0]
    op, named = ("list.get", ()) if noun == "list" else ("list.item", (noun,))
    value = cx.host(op, o.operand, operators.scalar_operand(cx, index), *named, type_=o.type.elem)
    return from_operand(cx, value, o.type.elem, o.example)


def _rt_dict_item(cx: Context, o: Rt, key: AbsVal) -> AbsVal:
    from torch2cpp.binding.control import branch
    from torch2cpp.binding.item_writes import set_item

    assert isinstance(o.type, DictType)
    k = key_operand(cx, o, key)
    factory = factory_of(cx, o.type.kind)
    if is_counter(factory):
        if o.type.value == NEVER:
            return Static(0)
        present = cx.host("dict.contains", o.operand, k, label="present")
        return branch(cx, present, lambda: _rt_value(cx, o, k), lambda: Static(0), "count", cx.span)
    if factory is not None:
        missing = cx.host("not", cx.host("dict.contains", o.operand, k))

        def fill() -> AbsVal:
            from torch2cpp.binding.calls import call

            set_item(cx, o, key, call(cx, factory, [], {}))
            return Static(None)

        branch(cx, missing, fill, lambda: Static(None), "default", cx.span)
    if o.type.value == NEVER:
        missing_key(cx, key)  # nothing was put in on any path
    return _rt_value(cx, o, k)


def _rt_value(cx: Context, o: Rt, k: Any) -> AbsVal:
    assert isinstance(o.type, DictType)
    value = cx.host("dict.get", o.operand, k, type_=o.type.value)
    return from_operand(cx, value, o.type.value, o.example)


def missing_key(cx: Context, key: AbsVal) -> NoReturn:
    """Ends the path as Python does where a dict lacks a key."""
    from torch2cpp.binding.strings import to_repr

    text = to_repr(cx, key)
    cx.raise_(KeyError, text.value if isinstance(text, Static) else text.operand)
