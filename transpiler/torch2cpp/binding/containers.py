"""Subscripts, membership and operators of lists, tuples, dicts and sets; methods are in container_methods.py.

A container keeps its structure while that is known. What cannot be followed (an append under a
run-time condition, a run-time key) makes it a run-time container from the place where it was made:
the fact is remembered and binding starts again.
"""

from __future__ import annotations

import collections
from typing import Any, NoReturn

import torch

from torch2cpp.binding import indexing, numpy_arrays, operators
from torch2cpp.binding.choices import distributes
from torch2cpp.binding.context import Context, Restart
from torch2cpp.binding.convert import (
    SCALARS,
    NoType,
    describe,
    from_operand,
    is_scalar,
    resolve,
    same_layout,
    static_type,
    table_type,
    to_operand,
    type_of,
)
from torch2cpp.binding.dict_kinds import factory_in_model, factory_of, is_counter, kind_of
from torch2cpp.binding.growth import Inside, fit_inside, learn_type, place_of
from torch2cpp.binding.keys import key_operand
from torch2cpp.binding.optional import held_or_raise
from torch2cpp.binding.picking import index_message, picked_at, picked_by
from torch2cpp.binding.unlike import common_type
from torch2cpp.binding.values import (
    AbsVal,
    Array,
    DictObj,
    Host,
    InstanceObj,
    Iter,
    ListObj,
    RangeVal,
    Ref,
    Rt,
    RtObj,
    SliceVal,
    Static,
    Tensor,
    Tup,
    fresh_id,
)
from torch2cpp.binding.widening import widen_dict, widen_list
from torch2cpp.hostir.types import INT, NEVER, STR, DictType, ListType, OptionalType, SetType, StructType, Type, join

MutableSeq = (list, tuple)


# Making ------------------------------------------------------------------------------------------


def new_list(cx: Context, elems: list[AbsVal], site: Any, kind: str = "list") -> AbsVal:
    """A new list, run-time where it has to be."""
    fact = cx.facts.containers.get(site)
    if fact is None:
        ref = Ref(fresh_id())
        cx.state.heap[ref.id] = ListObj(tuple(elems), site, kind)
        return ref
    assert isinstance(fact, ListType)
    for e in elems:
        widen_element(cx, site, fact, e)
    value = cx.host("list.new", *(to_operand(cx, e, fact.elem) for e in elems), type_=fact, label="list")
    return run_time(cx, Rt(value, fact, example=cx.facts.examples.get(site)), site)


def run_time(cx: Context, rt: Rt, site: Any) -> Ref:
    """Puts a run-time container on the heap, so that all names see one object."""
    ref = Ref(fresh_id())
    cx.state.heap[ref.id] = RtObj(rt, site)
    return ref


def fresh_rt(cx: Context, name: str, *args: Any, type_: Type, example: AbsVal, site: Any) -> AbsVal:
    """The result of an operation that makes a new run-time list (slice, concat, ...)."""
    fact = cx.facts.containers.get(site)
    if fact is not None:
        wider = common_type(cx, type_, fact)
        if isinstance(wider, ListType) and not same_layout(wider, type_):
            narrow = Rt(cx.host(name, *args, type_=type_, label="list"), type_, example=example)
            return _converted(cx, narrow, wider, site)
        type_ = wider or type_
    value = cx.host(name, *args, type_=type_, label="list")
    return run_time(cx, Rt(value, type_, example=example or cx.facts.examples.get(site)), site)


def _converted(cx: Context, narrow: Rt, wide: ListType, site: Any) -> AbsVal:
    """A copy of a run-time list with a wider element type."""
    from torch2cpp.binding.comprehensions import consume

    value = cx.host("list.new", type_=wide, label="list")
    out = run_time(cx, Rt(value, wide, example=narrow.example), site)
    consume(cx, narrow, lambda x: cx.effect("list.append", value, to_operand(cx, x, wide.elem)), (site, "converted"))
    return out


def widen_element(cx: Context, site: Any, have: Type, elem: AbsVal) -> None:
    """Makes sure that a run-time list or set can hold an element; starts again when its type must grow."""
    assert isinstance(have, ListType | SetType)
    t = element_type(cx, elem)
    wide = common_type(cx, have.elem, t)
    if wide is None:
        cx.refuse(
            "T2C110",
            f"a run-time {have} is given {describe(cx, elem)}",
            "keep values of different types in different lists",
        )
    if wide != have.elem:
        kind: Type = ListType(wide, have.kind) if isinstance(have, ListType) else SetType(wide)
        if site is None or not learn_type(cx, site, kind):
            cx.refuse("T2C110", f"{describe(cx, elem)} does not fit the {have}", "make the inner list in one place")
        cx.facts.examples.setdefault(site, elem)
        raise Restart
    fit_inside(cx, elem, wide)
    cx.facts.examples.setdefault(site, elem)


def element_type(cx: Context, elem: AbsVal) -> Type:
    """The type an element has inside a run-time container; mutable ones must be run-time themselves."""
    make_run_time(cx, elem)
    try:
        with cx.to_store():
            return type_of(cx, elem)
    except NoType as error:
        cx.refuse("T2C112", f"{error} is stored in a run-time container", "store tensors and numbers")


def make_run_time(cx: Context, v: AbsVal) -> None:
    """A mutable object that goes into a run-time container must be a run-time object."""
    obj = resolve(cx, v)
    if isinstance(obj, ListObj):
        widen_list(cx, cx.state, obj, None)
    elif isinstance(obj, DictObj):
        dict_must_be_run_time(cx, obj)
    elif isinstance(obj, Tup):
        for e in obj.elems:
            make_run_time(cx, e)
    elif isinstance(obj, InstanceObj):
        from torch2cpp.binding.objects import make_struct

        make_struct(cx, obj)


def dict_must_be_run_time(cx: Context, obj: DictObj) -> None:
    """A dict goes into a run-time container: with known string keys it is a struct, else a run-time dict."""
    if obj.items and all(isinstance(k, str) for k in obj.items) and obj.site not in cx.facts.containers:
        from torch2cpp.binding.objects import make_struct

        make_struct(cx, obj)
    widen_dict(cx, cx.state, obj)
    raise Restart


def new_dict(cx: Context, items: list[tuple[AbsVal, AbsVal]], site: Any, factory: AbsVal = None) -> AbsVal:
    """A new dict."""
    site = cx.facts.same_dicts.get(site, site)
    fact = cx.facts.containers.get(site)
    if site in cx.facts.structs:
        from torch2cpp.binding.objects import new_struct

        made = new_struct(cx, site)
        for k, v in items:
            set_item(cx, made, k, v)
        return made
    ref = Ref(fresh_id())
    if fact is None:
        cx.state.heap[ref.id] = DictObj({}, site, factory)
    else:
        value = cx.host("dict.new", type_=fact, label="dict")
        cx.state.heap[ref.id] = RtObj(Rt(value, fact, example=cx.facts.examples.get(site)), site)
        kind_of(cx, factory, site)  # notes the factory
    for k, v in items:
        set_item(cx, ref, k, v)
    return ref


def new_set(cx: Context, elems: list[AbsVal], site: Any) -> AbsVal:
    """A new run-time set."""
    have = cx.facts.containers.get(site, SetType(NEVER))
    for e in elems:
        widen_element(cx, site, have, e)
    assert isinstance(have, SetType)
    value = cx.host("set.new", *(to_operand(cx, e, have.elem) for e in elems), type_=have, label="set")
    return run_time(cx, Rt(value, have), site)


def concat_parts(cx: Context, parts: list[tuple[bool, AbsVal]], site: Any) -> AbsVal:
    """`[a, *b, c]`"""
    from torch2cpp.binding.iteration import known_items

    known: list[AbsVal] | None = []
    for starred, v in parts:
        items = known_items(cx, v) if starred else [v]
        known = None if known is None or items is None else known + items
    if known is not None:
        return new_list(cx, known, site)
    from torch2cpp.binding.list_methods import list_append, list_extend

    out = new_list(cx, [], site)
    for i, (starred, v) in enumerate(parts):
        if starred:
            with cx.at(("part", i)):
                list_extend(cx, out, v)
        else:
            list_append(cx, out, v)
    return out


def constant_list(cx: Context, v: AbsVal, site: Any) -> Rt | None:
    """A run-time copy of an immutable sequence, to index it with a run-time int."""
    from torch2cpp.binding.aten import elements

    obj = resolve(cx, v)
    if isinstance(obj, Rt) and isinstance(obj.type, ListType):
        return obj
    elems = elements(cx, v)
    if elems is None and isinstance(obj, Static) and isinstance(obj.value, range):
        elems = [Static(x) for x in obj.value]
    if not elems:
        return None
    elem = _tables(elems)
    for e in elems if elem is None else ():
        try:
            elem = common_type(cx, NEVER if elem is None else elem, type_of(cx, e))
        except NoType:
            return None
        if elem is None:
            return None
    assert elem is not None
    is_list = isinstance(obj, ListObj) or (isinstance(obj, Static) and isinstance(obj.value, list))
    t = ListType(elem, "list" if is_list else "tuple")
    value = cx.host("list.new", *(to_operand(cx, e, elem) for e in elems), type_=t, label="list")
    return Rt(value, t, example=elems[0])


def _tables(elems: list[AbsVal]) -> Type | None:
    """The type of dicts of the model with other keys each: their keys are data. None where there are others."""
    values = [e.value for e in elems if isinstance(e, Static) and isinstance(e.value, dict)]
    if len(values) < len(elems) or len({tuple(v) for v in values}) == 1:
        return None
    try:
        t: Type | None = NEVER
        for v in values:
            t = join(t, table_type(v)) if t is not None else None
    except NoType:
        return None
    return t


# Subscripts --------------------------------------------------------------------------------------


@distributes
def get_item(cx: Context, obj: AbsVal, index: AbsVal) -> AbsVal:
    """`obj[index]`"""
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
    match o:
        case Static(value):
            return _static_item(cx, obj, value, index)
        case Tup():
            return _sequence_item(cx, obj, list(o.elems), index, is_list=False)
        case ListObj():
            return _sequence_item(cx, obj, list(o.elems), index, is_list=True)
        case DictObj():
            return _dict_item(cx, obj, o, index)
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
    if isinstance(value, range) and isinstance(index, Host):
        return _range_item(cx, RangeVal(Static(value.start), Static(value.stop), Static(value.step)), index)
    if isinstance(index, Host):
        if index.loops - cx.facts.unrolled and isinstance(value, torch.nn.Module | list | tuple):
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
    entries = [(k, v) for k, v in items.items() if static_type(k) == key.type]

    def missing() -> Any:
        from torch2cpp.binding.strings import to_repr

        message = to_repr(cx, key)
        return message.value if isinstance(message, Static) else message.operand

    if any(isinstance(v, torch.nn.Module) or callable(v) for _, v in entries):
        return picked_by(cx, [(k, Static(v)) for k, v in entries], key, KeyError, missing)

    def step(i: int) -> AbsVal:
        if i == len(entries):
            cx.raise_(KeyError, missing())
        k, v = entries[i]
        cond = operators.compare(cx, "==", key, Static(k))
        assert isinstance(cond, Host)
        return branch(cx, cond.operand, lambda: Static(v), lambda: step(i + 1), "entry", cx.span)

    return step(0)


def need_static(cx: Context, index: Host) -> None:
    """A value that must be static follows from loops over static ranges: unroll those."""
    loops = index.loops - cx.facts.unrolled
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


@distributes
def set_item(cx: Context, obj: AbsVal, index: AbsVal, value: AbsVal) -> None:
    """`obj[index] = value`"""
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


def as_list(cx: Context, v: AbsVal) -> Rt:
    """Any iterable as a run-time list (a copy when it is not one already)."""
    from torch2cpp.binding.iteration import to_run_time_list

    obj = resolve(cx, v)
    if isinstance(obj, Rt) and isinstance(obj.type, ListType):
        return obj
    return to_run_time_list(cx, v)


def site_of(cx: Context, ref: AbsVal) -> Any:
    """Where a container was made, if that is known."""
    if isinstance(ref, Static):
        from torch2cpp.binding.model_state import state_ref

        ref = state_ref(cx, ref.value)
    if isinstance(ref, Ref):
        return getattr(cx.state.heap[ref.id], "site", None)
    if isinstance(ref, Rt):
        cx.keep_apart(ref.operand)
    return place_of(cx, ref)


def _set_dict_item(cx: Context, ref: Ref, o: DictObj, key: AbsVal, value: AbsVal) -> None:
    if isinstance(key, Static):
        cx.write(ref.id, DictObj({**o.items, key.value: value}, o.site, o.factory))
        return
    need_static_if_loop(cx, key)
    empty = DictType(NEVER, NEVER, kind_of(cx, o.factory, o.site))
    widen_dict_with(cx, o.site, cx.facts.containers.get(o.site, empty), key, value)
    widen_dict(cx, cx.state, o)
    raise Restart


def widen_dict_with(cx: Context, site: Any, have: Type, key: AbsVal, value: AbsVal) -> Type:
    """The dict type with room for an item; remembered for the next round."""
    assert isinstance(have, DictType)
    key_t = join(have.key, element_type(cx, key))
    value_t = common_type(cx, have.value, element_type(cx, value))
    if key_t is None or value_t is None:
        cx.refuse("T2C111", f"a run-time {have} is given {describe(cx, value)}", "use one dict per type of value")
    wide = DictType(key_t, value_t, have.kind)
    cx.facts.examples.setdefault(site, value)
    if wide != have and not learn_type(cx, site, wide) and isinstance(site, Inside):
        cx.refuse("T2C111", f"{describe(cx, value)} does not fit the {have}", "make the inner dict in one place")
    if wide == have:
        fit_inside(cx, value, wide.value)
    return wide


def _set_rt_dict(cx: Context, ref: AbsVal, o: Rt, key: AbsVal, value: AbsVal) -> None:
    site = site_of(cx, ref)
    assert isinstance(o.type, DictType)
    if widen_dict_with(cx, site, o.type, key, value) != o.type:
        raise Restart
    cx.effect("dict.set", o.operand, to_operand(cx, key, o.type.key), to_operand(cx, value, o.type.value))


@distributes
def dict_update(cx: Context, target: AbsVal, other: AbsVal) -> None:
    """`target.update(other)`"""
    from torch2cpp.binding import struct_dicts

    o = resolve(cx, other)
    if isinstance(o, Static) and isinstance(o.value, dict):
        for k, v in o.value.items():
            set_item(cx, target, Static(k), Static(v))
    elif isinstance(o, DictObj):
        for k, v in o.items.items():
            set_item(cx, target, Static(k), v)
    elif isinstance(o, Rt) and struct_dicts.is_dict(cx, o):
        for name in struct_dicts.keys(cx, o):
            set_item(cx, target, Static(name), struct_dicts.get_item(cx, o, Static(name)))
    else:
        t = resolve(cx, target)
        if isinstance(t, DictObj):
            widen_dict(cx, cx.state, t)
            raise Restart
        if not isinstance(o, Rt) or not isinstance(o.type, DictType):
            cx.refuse("T2C111", f"a dict is updated with {describe(cx, other)}", "update it with a dict")
        _update_run_time(cx, target, t, other, o)


def _update_run_time(cx: Context, target: AbsVal, t: Rt, other: AbsVal, o: Rt) -> None:
    """One run-time dict into another: at once when they are of one C++ type, else item by item."""
    from torch2cpp.binding.comprehensions import consume
    from torch2cpp.binding.dict_views import view
    from torch2cpp.binding.iteration import unpack

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
