"""Lists, tuples, dicts and sets being made, and made into run-time containers; subscripts are in items.py and
item_writes.py, methods in container_methods.py.

A container keeps its structure while that is known. What cannot be followed (an append under a
run-time condition, a run-time key) makes it a run-time container from the place where it was made:
the fact is remembered and binding starts again.
"""

from __future__ import annotations

from typing import Any

from torch2cpp.binding.context import Context, Restart
from torch2cpp.binding.convert import (
    NoType,
    describe,
    resolve,
    same_layout,
    table_type,
    to_operand,
    type_of,
)
from torch2cpp.binding.dict_kinds import kind_of
from torch2cpp.binding.growth import Inside, fit_inside, learn_type, place_of
from torch2cpp.binding.unlike import common_type
from torch2cpp.binding.values import (
    AbsVal,
    DictObj,
    InstanceObj,
    ListObj,
    PartialDict,
    Ref,
    Rt,
    RtObj,
    Static,
    Tup,
    fresh_id,
)
from torch2cpp.binding.widening import widen_dict, widen_list
from torch2cpp.hostir.ops import Value
from torch2cpp.hostir.types import NEVER, STR, DictType, ListType, SetType, Type, UnionType, join

MutableSeq = (list, tuple)


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
    _note_length(cx, value, name, args)
    return run_time(cx, Rt(value, type_, example=example or cx.facts.examples.get(site)), site)


def _note_length(cx: Context, made: Value, name: str, args: tuple[Any, ...]) -> None:
    """The length of a copy or slice in the sample worlds, where that of the list is known."""
    known = cx.lengths.get(getattr(args[0], "id", -1)) if args else None
    if known is None or name not in ("list.copy", "list.reversed", "list.slice"):
        return
    bounds = args[1:]
    if all(b is None or isinstance(b, int) for b in bounds) and 0 not in bounds[2:]:
        cx.lengths[made.id] = tuple(len(range(n)[slice(*bounds)]) if bounds else n for n in known)


def _converted(cx: Context, narrow: Rt, wide: ListType, site: Any) -> AbsVal:
    """A copy of a run-time list with a wider element type; `site` is where the wider one counts as made."""
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


def element_type(cx: Context, elem: AbsVal, field: bool = False) -> Type:
    """The type an element has inside a run-time container; mutable ones must be run-time themselves."""
    make_run_time(cx, elem)
    try:
        with cx.to_store(field):
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
    elif isinstance(obj, PartialDict):
        widen_dict(cx, cx.state, obj)
        raise Restart
    elif isinstance(obj, Tup):
        for e in obj.elems:
            make_run_time(cx, e)
    elif isinstance(obj, InstanceObj):
        from torch2cpp.binding.objects import make_struct

        make_struct(cx, obj)
    elif isinstance(obj, Static) and isinstance(obj.value, set):
        from torch2cpp.binding.literal_sets import LiteralSet, make_run_time_set

        if isinstance(obj.value, LiteralSet):
            make_run_time_set(cx, obj.value)


def dict_must_be_run_time(cx: Context, obj: DictObj) -> None:
    """A dict goes into a run-time container: with known string keys it is a struct, else a run-time dict."""
    if obj.items and all(isinstance(k, str) for k in obj.items) and obj.site not in cx.facts.containers:
        from torch2cpp.binding.objects import make_struct

        make_struct(cx, obj)
    widen_dict(cx, cx.state, obj)
    raise Restart


def new_dict(cx: Context, items: list[tuple[AbsVal, AbsVal]], site: Any, factory: AbsVal = None) -> AbsVal:
    """A new dict."""
    from torch2cpp.binding.item_writes import set_item

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
    known = cx.object_names.get(id(obj.value)) if isinstance(obj, Static) else None
    label = known.rpartition(".")[2] if known else "list"
    value = cx.host("list.new", *(to_operand(cx, e, elem) for e in elems), type_=t, label=label)
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


def _has_known_keys(cx: Context, site: Any, key: AbsVal, t: DictType) -> bool:
    """Whether a dict that is given values of unlike types has keys that are all known."""
    plain = t.kind == "dict" and t.key == STR and isinstance(key, Static)
    return plain and site in cx.facts.containers and site not in cx.facts.by_key


def widen_dict_with(cx: Context, site: Any, have: Type, key: AbsVal, value: AbsVal) -> Type:
    """The dict type with room for an item; remembered for the next round."""
    assert isinstance(have, DictType)
    key_t = join(have.key, element_type(cx, key))
    value_t = common_type(cx, have.value, element_type(cx, value))
    if key_t is None or value_t is None:
        cx.refuse("T2C111", f"a run-time {have} is given {describe(cx, value)}", "use one dict per type of value")
    wide = DictType(key_t, value_t, have.kind)
    if (
        isinstance(value_t, UnionType)
        and not isinstance(have.value, UnionType)
        and _has_known_keys(cx, site, key, wide)
    ):
        cx.facts.partial.add(site)
        del cx.facts.containers[site]
        raise Restart
    cx.facts.examples.setdefault(site, value)
    if wide != have and not learn_type(cx, site, wide) and isinstance(site, Inside):
        cx.refuse("T2C111", f"{describe(cx, value)} does not fit the {have}", "make the inner dict in one place")
    if wide == have:
        fit_inside(cx, value, wide.value)
    return wide
