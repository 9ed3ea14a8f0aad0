"""`obj[index] = value`, `del obj[index]` and `dict.update` of containers."""

from __future__ import annotations

import collections
from collections.abc import Mapping
from typing import Any

from torch2cpp.binding import indexing, numpy_arrays, operators, partial_dicts
from torch2cpp.binding.choices import distribute_parts, distributes
from torch2cpp.binding.containers import as_list, new_list, site_of, widen_dict_with, widen_element
from torch2cpp.binding.context import Context, Restart
from torch2cpp.binding.convert import (
    describe,
    resolve,
    same_layout,
    to_operand,
)
from torch2cpp.binding.dict_kinds import factory_of, is_counter, kind_of
from torch2cpp.binding.growth import learn_type
from torch2cpp.binding.items import need_static_if_loop, slice_operands
from torch2cpp.binding.keys import key_operand
from torch2cpp.binding.optional import held_or_raise
from torch2cpp.binding.unlike import common_type
from torch2cpp.binding.values import (
    NONE,
    AbsVal,
    Array,
    DictObj,
    ListObj,
    PartialDict,
    Ref,
    Rt,
    Static,
    Tensor,
)
from torch2cpp.binding.widening import widen_dict, widen_list
from torch2cpp.hostir.types import NEVER, DictType, ListType, OptionalType, StructType


@distributes
def set_item(cx: Context, obj: AbsVal, index: AbsVal, value: AbsVal) -> None:
    """`obj[index] = value`"""

    def each(part: AbsVal) -> AbsVal:
        set_item(cx, obj, part, value)
        return NONE

    if distribute_parts(cx, index, each) is not None:
        return
    o = resolve(cx, obj)
    if isinstance(o, Rt) and isinstance(o.type, OptionalType):
        obj = held_or_raise(cx, o, TypeError, "'NoneType' object does not support item assignment")
        o = resolve(cx, obj)
    if isinstance(o, Array):
        numpy_arrays.set_item(cx, o, index, value)
        return
    t = operators.tensor_of(cx, o)
    if t is not None:
        indexing.set_item(cx, t, index, value)
        return
    if isinstance(index, Tensor) and index.rank == 0:
        from torch2cpp.binding.aten import scalar_item

        index = scalar_item(cx, index)
    match o:
        case ListObj():
            _set_list_item(cx, obj, o, index, value)
        case DictObj():
            _set_dict_item(cx, obj, o, index, value)
        case PartialDict():
            partial_dicts.set_item(cx, obj, o, index, value)
        case Rt() if isinstance(o.type, ListType):
            _set_rt_list(cx, obj, o, index, value)
        case Rt() if isinstance(o.type, DictType):
            _set_rt_dict(cx, obj, o, index, value)
        case Rt() if isinstance(o.type, StructType) and not isinstance(cx.struct_key(o.type.name), type):
            from torch2cpp.binding.struct_dicts import set_item as set_struct_item

            set_struct_item(cx, o, index, value)
        case _:
            from torch2cpp.binding.calls import call_method_if_any

            if isinstance(o, Static) and isinstance(o.value, list | dict | collections.deque):
                from torch2cpp.binding.model_state import make_state

                make_state(cx, o.value)
            if call_method_if_any(cx, obj, "__setitem__", [index, value]) is None:
                cx.refuse("T2C162", f"an item of {describe(cx, obj)} is assigned", "assign items of lists or dicts")


def _set_list_item(cx: Context, ref: Ref, o: ListObj, index: AbsVal, value: AbsVal) -> None:
    elems = list(o.elems)
    if isinstance(index, Static) and isinstance(index.value, int):
        try:
            elems[index.value] = value
        except IndexError:
            cx.raise_(IndexError, "list assignment index out of range")
        cx.write(ref.id, ListObj(tuple(elems), o.site, o.kind))
        return
    if isinstance(index, Static) and isinstance(index.value, slice):
        from torch2cpp.binding.iteration import known_items

        items = known_items(cx, value)
        if items is not None:
            try:
                elems[index.value] = items
            except ValueError as error:  # sizes that differ, with a step
                cx.raise_(ValueError, str(error))
            cx.write(ref.id, ListObj(tuple(elems), o.site, o.kind))
            return
    need_static_if_loop(cx, index)
    widen_list(cx, cx.state, o, None)


def _set_rt_list(cx: Context, ref: AbsVal, o: Rt, index: AbsVal, value: AbsVal) -> None:
    assert isinstance(o.type, ListType)
    site = site_of(cx, ref)
    bounds = slice_operands(cx, index)
    if bounds is not None:
        cx.effect("list.set_slice", o.operand, *bounds, _alike(cx, value, o, site))
        return
    widen_element(cx, site, o.type, value)
    if isinstance(index, Rt) and isinstance(index.type, OptionalType):
        index = held_or_raise(cx, index, TypeError, "list indices must be integers or slices, not NoneType")
    cx.effect("list.set", o.operand, operators.scalar_operand(cx, index), to_operand(cx, value, o.type.elem))


def _alike(cx: Context, v: AbsVal, o: Rt, site: Any) -> Any:
    """An iterable as a run-time list of just the type of another one, which is made at a site."""
    from torch2cpp.binding.aten import elements
    from torch2cpp.binding.comprehensions import consume
    from torch2cpp.binding.list_methods import list_append

    assert isinstance(o.type, ListType)
    items = elements(cx, v)
    if items is not None:
        for item in items:
            widen_element(cx, site, o.type, item)
        return cx.host("list.new", *(to_operand(cx, e, o.type.elem) for e in items), type_=ListType(o.type.elem))
    other = as_list(cx, v)
    assert isinstance(other.type, ListType)
    wide = common_type(cx, o.type.elem, other.type.elem)
    if wide is None or (wide != o.type.elem and not learn_type(cx, site, ListType(wide, o.type.kind))):
        cx.refuse("T2C110", f"a {other.type} does not fit the {o.type}", "use one list per type of element")
    if wide != o.type.elem:
        raise Restart
    if other.type.elem != NEVER and same_layout(other.type.elem, o.type.elem):
        return other.operand
    place = (cx.site(None), "alike")
    cx.facts.containers[place] = ListType(o.type.elem)
    made = new_list(cx, [], place)
    if other.type.elem != NEVER:
        consume(cx, other, lambda x: list_append(cx, made, x), place)
    return resolve(cx, made).operand


def _set_dict_item(cx: Context, ref: Ref, o: DictObj, key: AbsVal, value: AbsVal) -> None:
    if isinstance(key, Static):
        cx.write(ref.id, DictObj({**o.items, key.value: value}, o.site, o.factory))
        return
    need_static_if_loop(cx, key)
    cx.facts.by_key.add(o.site)
    empty = DictType(NEVER, NEVER, kind_of(cx, o.factory, o.site))
    widen_dict_with(cx, o.site, cx.facts.containers.get(o.site, empty), key, value)
    widen_dict(cx, cx.state, o)
    raise Restart


def _set_rt_dict(cx: Context, ref: AbsVal, o: Rt, key: AbsVal, value: AbsVal) -> None:
    site = site_of(cx, ref)
    assert isinstance(o.type, DictType)
    if not isinstance(key, Static):
        cx.facts.by_key.add(site)
    if widen_dict_with(cx, site, o.type, key, value) != o.type:
        raise Restart
    cx.effect("dict.set", o.operand, to_operand(cx, key, o.type.key), to_operand(cx, value, o.type.value))


@distributes
def dict_update(cx: Context, target: AbsVal, other: AbsVal) -> None:
    """`target.update(other)`"""
    from torch2cpp.binding import struct_dicts

    o = resolve(cx, other := struct_dicts.whole(cx, other))
    if isinstance(o, Static) and isinstance(o.value, dict):
        for k, v in o.value.items():
            set_item(cx, target, Static(k), Static(v))
    elif isinstance(o, DictObj):
        for k, v in o.items.items():
            set_item(cx, target, Static(k), v)
    elif isinstance(o, PartialDict):
        partial_dicts.put_all(cx, o, lambda k, v: set_item(cx, target, k, v))
    elif isinstance(o, Rt) and struct_dicts.is_dict(cx, o):
        for name in struct_dicts.keys(cx, o):
            set_item(cx, target, Static(name), struct_dicts.get_item(cx, o, Static(name)))
    elif not put_mapping(cx, target, other):
        t = resolve(cx, target)
        if isinstance(t, DictObj | PartialDict):
            widen_dict(cx, cx.state, t)
            raise Restart
        if not isinstance(o, Rt) or not isinstance(o.type, DictType):
            cx.refuse("T2C111", f"a dict is updated with {describe(cx, other)}", "update it with a dict")
        _update_run_time(cx, target, t, other, o)


def put_mapping(cx: Context, target: AbsVal, other: AbsVal) -> bool:
    """`target.update(other)` of a mapping that is no dict: what has `keys()`; whether it is one."""
    from torch2cpp.binding.calls import call_method_if_any, find_method
    from torch2cpp.binding.comprehensions import consume
    from torch2cpp.binding.items import get_item

    o = resolve(cx, other)
    if isinstance(o, Static) and isinstance(o.value, Mapping):
        for k, v in o.value.items():
            set_item(cx, target, Static(k), Static(v))
        return True
    if isinstance(o, Static) or find_method(cx, other, "keys") is None:
        return False
    keys = call_method_if_any(cx, other, "keys", [])
    consume(cx, keys, lambda k: set_item(cx, target, k, get_item(cx, other, k)), (cx.site(None), "keys"))
    return True


def _update_run_time(cx: Context, target: AbsVal, t: Rt, other: AbsVal, o: Rt) -> None:
    """One run-time dict into another: at once when they are of one C++ type, else item by item."""
    from torch2cpp.binding.comprehensions import consume
    from torch2cpp.binding.dict_views import view
    from torch2cpp.binding.unpacking import unpack

    assert isinstance(t.type, DictType) and isinstance(o.type, DictType)
    key, value = common_type(cx, t.type.key, o.type.key), common_type(cx, t.type.value, o.type.value)
    if key is None or value is None:
        cx.refuse("T2C111", f"a {t.type} is updated with a {o.type}", "use one dict per type of value")
    wide = DictType(key, value, t.type.kind)
    if wide != t.type:
        if learn_type(cx, site_of(cx, target), wide):
            raise Restart
        cx.refuse("T2C111", f"a {o.type} does not fit the {t.type}", "make the dict in one place")
    if o.type.value == NEVER:
        return  # nothing was put in on any path
    if same_layout(o.type, t.type):
        cx.effect("dict.update", t.operand, o.operand)
        return

    def one(pair: AbsVal) -> None:
        k, v = unpack(cx, pair, 2, None)
        set_item(cx, target, k, v)

    consume(cx, view(other, "items"), one, (cx.site(None), "update"))


def _delete_if_there(cx: Context, o: Rt, key: Any) -> None:
    from torch2cpp.binding.control import branch

    def delete() -> AbsVal:
        cx.effect("dict.delete", o.operand, key)
        return Static(None)

    branch(cx, cx.host("dict.contains", o.operand, key), delete, lambda: Static(None), "present", cx.span)


@distributes
def delete_item(cx: Context, obj: AbsVal, index: AbsVal) -> None:
    """`del obj[index]`"""
    o = resolve(cx, obj)
    if isinstance(o, Rt) and isinstance(o.type, OptionalType):
        obj = held_or_raise(cx, o, TypeError, "'NoneType' object does not support item deletion")
        o = resolve(cx, obj)
    match o:
        case ListObj() if isinstance(index, Static):
            elems = list(o.elems)
            try:
                del elems[index.value]
            except IndexError:
                cx.raise_(IndexError, "list assignment index out of range")
            cx.write(obj.id, ListObj(tuple(elems), o.site, o.kind))
        case ListObj():
            need_static_if_loop(cx, index)
            widen_list(cx, cx.state, o, None)
        case DictObj() if isinstance(index, Static):
            if index.value not in o.items:
                if is_counter(o.factory):
                    return
                cx.raise_(KeyError, repr(index.value))
            items = {k: v for k, v in o.items.items() if k != index.value}
            cx.write(obj.id, DictObj(items, o.site, o.factory))
        case DictObj():
            widen_dict(cx, cx.state, o)
            raise Restart
        case PartialDict():
            partial_dicts.delete_item(cx, obj, o, index)
        case Rt() if isinstance(o.type, ListType):
            bounds = slice_operands(cx, index)
            if bounds is not None:
                cx.effect("list.delete_slice", o.operand, *bounds)
            else:
                cx.effect("list.delete", o.operand, operators.scalar_operand(cx, index))
        case Rt() if isinstance(o.type, DictType):
            key = key_operand(cx, o, index)
            if is_counter(factory_of(cx, o.type.kind)):
                _delete_if_there(cx, o, key)
            else:
                cx.effect("dict.delete", o.operand, key)
        case _:
            cx.refuse("T2C162", f"an item of {describe(cx, obj)} is deleted", "delete items of lists or dicts")
