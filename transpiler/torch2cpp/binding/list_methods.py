"""Methods of lists, deques and tuples."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Any, NoReturn

import torch

from torch2cpp.binding import operators
from torch2cpp.binding.containers import constant_list, fresh_rt, new_list, site_of, widen_element
from torch2cpp.binding.context import Context, Restart
from torch2cpp.binding.control import branch
from torch2cpp.binding.convert import (
    NoType,
    describe,
    from_operand,
    is_scalar,
    resolve,
    same_layout,
    to_operand,
    type_of,
)
from torch2cpp.binding.growth import learn_type
from torch2cpp.binding.items import need_static_if_loop
from torch2cpp.binding.own_equality import searched
from torch2cpp.binding.unlike import common_type
from torch2cpp.binding.values import NONE, AbsVal, Host, ListObj, Ref, Rt, Static, Tensor, Tup
from torch2cpp.binding.widening import widen_list
from torch2cpp.hostir.ops import Operand
from torch2cpp.hostir.types import BOOL, FLOAT, INT, NEVER, ListType, join, limit_of

Handler = Callable[[Context, AbsVal, list[AbsVal], dict[str, AbsVal]], AbsVal]


# Shared by the methods of all containers ----------------------------------------------------------


def arity(cx: Context, name: str, args: list[AbsVal], kwargs: dict[str, AbsVal], low: int, high: int) -> None:
    """Refuses a call with a number of arguments that the method does not take."""
    if kwargs or not low <= len(args) <= high:
        names = f" and {', '.join(kwargs)}" if kwargs else ""
        cx.refuse("T2C230", f"{name}() is called with {len(args)} arguments{names}", "pass what the method takes")


def raise_if(cx: Context, cond: Operand, error: type[Exception], message: Callable[[], Operand]) -> None:
    """Raises a Python exception when a run-time condition holds."""

    def fail() -> AbsVal:
        cx.raise_(error, message())

    branch(cx, cond, fail, lambda: NONE, "check", cx.span)


def message_of(cx: Context, before: str, value: AbsVal, after: str) -> Operand:
    """A message around the repr of a value."""
    from torch2cpp.binding.strings import concatenated, to_repr

    text = concatenated(cx, [Static(before), to_repr(cx, value), Static(after)])
    return text.value if isinstance(text, Static) else text.operand


def index_of(cx: Context, v: AbsVal) -> AbsVal:
    """An index argument: 0-d tensors become ints, as `__index__` does."""
    t = operators.tensor_of(cx, v)
    if t is not None and t.rank == 0:
        from torch2cpp.binding.aten import scalar_item

        return scalar_item(cx, t)
    if not is_scalar(v):
        cx.refuse("T2C161", f"{describe(cx, v)} as an index", "index with an int")
    return v


def make_run_time_list(cx: Context, o: ListObj) -> NoReturn:
    """Starts binding again with this list as a run-time one."""
    try:
        widen_list(cx, cx.state, o, None)
    except NoType as error:
        cx.refuse("T2C112", f"{error} is stored in a list of run-time length", "store tensors and numbers in it")
    raise Restart


def equal(cx: Context, a: AbsVal, b: AbsVal) -> Static | Host:
    """Whether a container's element is what is looked for: identical or equal."""
    if a is b or (isinstance(a, Ref) and isinstance(b, Ref) and a == b):
        return Static(True)
    if isinstance(a, Static) and isinstance(b, Static) and a.value is b.value:
        return Static(True)
    if isinstance(a, Tensor) and isinstance(b, Tensor) and a.operand == b.operand:
        return Static(True)
    same = operators.truth(cx, operators.compare(cx, "==", a, b))
    assert isinstance(same, Static | Host)
    return same


def static_position(cx: Context, elems: list[AbsVal], item: AbsVal) -> int | None:
    """Index of the first element equal to `item`, -1 if there is none, None if only the run time knows."""

    def search() -> int | None:
        for i, e in enumerate(elems):
            same = equal(cx, e, item)
            if not isinstance(same, Static):
                return None
            if same.value:
                return i
        return -1

    found = cx.probe(search)
    assert found is None or isinstance(found, int)
    return found


def static_value(v: AbsVal) -> Static | None:
    """A value known while transpiling, tuples of such values included; tensors are none."""
    if isinstance(v, Tup) and v.cls is None:
        parts = [static_value(e) for e in v.elems]
        return None if any(p is None for p in parts) else Static(tuple(p.value for p in parts if p is not None))
    if isinstance(v, Static) and not isinstance(v.value, torch.Tensor):
        return v
    return None


def list_rt(cx: Context, ref: AbsVal) -> Rt:
    """The run-time list behind a reference."""
    o = resolve(cx, ref)
    assert isinstance(o, Rt) and isinstance(o.type, ListType)
    return o


def _noun(o: ListObj | Rt) -> str:
    kind = o.kind if isinstance(o, ListObj) else o.type.kind if isinstance(o.type, ListType) else "list"
    return "deque" if kind.startswith("deque") else "list"


def _rebuilt(cx: Context, ref: AbsVal, o: ListObj, elems: list[AbsVal]) -> None:
    cx.write(ref.id, ListObj(tuple(elems), o.site, o.kind))


# Growing ------------------------------------------------------------------------------------------


def list_append(cx: Context, ref: AbsVal, value: AbsVal) -> None:
    """`ref.append(value)`"""
    o = resolve(cx, ref)
    if isinstance(o, ListObj):
        _rebuilt(cx, ref, o, _last(o.kind, [*o.elems, value]))
        return
    o = list_rt(cx, ref)
    assert isinstance(o.type, ListType)
    widen_element(cx, site_of(cx, ref), o.type, value)
    cx.effect("list.append", o.operand, to_operand(cx, value, o.type.elem))
    _drop_surplus(cx, o, 0)


def _last(kind: str, elems: list[AbsVal]) -> list[AbsVal]:
    """What a list of this kind keeps of elements that were added at its end."""
    limit = limit_of(kind)
    return elems if limit is None else elems[max(0, len(elems) - limit) :]


def _drop_surplus(cx: Context, o: Rt, at: int) -> None:
    """A deque of limited length that is one too long loses an item: its first (at 0) or its last (at -1)."""
    assert isinstance(o.type, ListType)
    limit = limit_of(o.type.kind)
    if limit is None:
        return

    def drop() -> AbsVal:
        cx.effect("list.delete", o.operand, at)
        return NONE

    over = cx.host("gt", cx.host("list.len", o.operand), limit, label="over")
    branch(cx, over, drop, lambda: NONE, "limit", cx.span)


def list_extend(cx: Context, ref: AbsVal, iterable: AbsVal) -> None:
    """`ref.extend(iterable)`"""
    from torch2cpp.binding.comprehensions import consume, is_lazy
    from torch2cpp.binding.iteration import known_items

    o, source = resolve(cx, ref), resolve(cx, iterable)
    site = (cx.site(None), "extend")
    if not is_lazy(source):
        items = known_items(cx, iterable)
        if items is not None and isinstance(o, ListObj):
            _rebuilt(cx, ref, o, _last(o.kind, [*o.elems, *items]))
            return
        if items is not None:
            for item in items:
                list_append(cx, ref, item)
            return
    limited = isinstance(o, Rt) and isinstance(o.type, ListType) and limit_of(o.type.kind) is not None
    if isinstance(o, Rt) and isinstance(source, Rt) and isinstance(source.type, ListType) and not limited:
        _extend_run_time(cx, ref, o, source)
        return
    consume(cx, iterable, lambda item: list_append(cx, ref, item), site)


def _extend_run_time(cx: Context, ref: AbsVal, o: Rt, source: Rt) -> None:
    from torch2cpp.binding.comprehensions import consume

    assert isinstance(o.type, ListType) and isinstance(source.type, ListType)
    wide = common_type(cx, o.type.elem, source.type.elem)
    if wide is None:
        cx.refuse("T2C110", f"a {o.type} is extended with a {source.type}", "join lists of one type")
    site = site_of(cx, ref)
    if wide != o.type.elem:
        if site is None or not learn_type(cx, site, ListType(wide, o.type.kind)):
            cx.refuse("T2C110", f"a {source.type} does not fit the {o.type}", "make the list in one place")
        if source.example is not None:
            cx.facts.examples.setdefault(site, source.example)
        raise Restart
    if same_layout(source.type.elem, o.type.elem):
        cx.effect("list.extend", o.operand, source.operand)
        return
    consume(cx, source, lambda item: list_append(cx, ref, item), (cx.site(None), "extend"))


# Methods ------------------------------------------------------------------------------------------


def _append(cx: Context, ref: AbsVal, args: list[AbsVal], kwargs: dict[str, AbsVal]) -> AbsVal:
    arity(cx, "append", args, kwargs, 1, 1)
    list_append(cx, ref, args[0])
    return NONE


def _extend(cx: Context, ref: AbsVal, args: list[AbsVal], kwargs: dict[str, AbsVal]) -> AbsVal:
    arity(cx, "extend", args, kwargs, 1, 1)
    list_extend(cx, ref, args[0])
    return NONE


def _insert(cx: Context, ref: AbsVal, args: list[AbsVal], kwargs: dict[str, AbsVal]) -> AbsVal:
    arity(cx, "insert", args, kwargs, 2, 2)
    o, index = resolve(cx, ref), index_of(cx, args[0])
    limit = limit_of(o.kind if isinstance(o, ListObj) else o.type.kind)
    if limit is not None:
        if isinstance(o, ListObj):
            if len(o.elems) >= limit:
                cx.raise_(IndexError, "deque already at its maximum size")
        else:
            full = cx.host("ge", cx.host("list.len", o.operand), limit, label="full")
            raise_if(cx, full, IndexError, lambda: "deque already at its maximum size")
    return _put(cx, ref, o, index, args[1])


def _put(cx: Context, ref: AbsVal, o: AbsVal, index: AbsVal, item: AbsVal) -> AbsVal:
    if isinstance(o, ListObj):
        if not isinstance(index, Static):
            need_static_if_loop(cx, index)
            make_run_time_list(cx, o)
        elems = list(o.elems)
        elems.insert(index.value, item)
        _rebuilt(cx, ref, o, elems)
        return NONE
    assert isinstance(o.type, ListType)
    widen_element(cx, site_of(cx, ref), o.type, item)
    value = to_operand(cx, item, o.type.elem)
    cx.effect("list.insert", o.operand, operators.scalar_operand(cx, index), value)
    return NONE


def _appendleft(cx: Context, ref: AbsVal, args: list[AbsVal], kwargs: dict[str, AbsVal]) -> AbsVal:
    arity(cx, "appendleft", args, kwargs, 1, 1)
    o = resolve(cx, ref)
    _put(cx, ref, o, Static(0), args[0])
    if isinstance(o, ListObj):
        limit = limit_of(o.kind)
        now = resolve(cx, ref)
        if limit is not None and len(now.elems) > limit:
            _rebuilt(cx, ref, now, list(now.elems[:limit]))
    else:
        _drop_surplus(cx, o, -1)
    return NONE


def _extendleft(cx: Context, ref: AbsVal, args: list[AbsVal], kwargs: dict[str, AbsVal]) -> AbsVal:
    from torch2cpp.binding.comprehensions import consume

    arity(cx, "extendleft", args, kwargs, 1, 1)
    consume(cx, args[0], lambda x: _drop(_appendleft(cx, ref, [x], {})), (cx.site(None), "extendleft"))
    return NONE


def _drop(_: AbsVal) -> None:
    return None


def _pop(cx: Context, ref: AbsVal, args: list[AbsVal], kwargs: dict[str, AbsVal]) -> AbsVal:
    arity(cx, "pop", args, kwargs, 0, 1)
    o, index = resolve(cx, ref), index_of(cx, args[0]) if args else Static(-1)
    empty = "pop from an empty deque" if _noun(o) == "deque" else "pop from empty list"
    if isinstance(o, ListObj):
        if not isinstance(index, Static):
            need_static_if_loop(cx, index)
            make_run_time_list(cx, o)
        elems = list(o.elems)
        if not elems:
            cx.raise_(IndexError, empty)
        if not -len(elems) <= index.value < len(elems):
            cx.raise_(IndexError, "pop index out of range")
        item = elems.pop(index.value)
        _rebuilt(cx, ref, o, elems)
        return item
    assert isinstance(o.type, ListType)
    if _noun(o) == "deque":
        none_left = cx.host("eq", cx.host("list.len", o.operand), 0, label="empty")
        raise_if(cx, none_left, IndexError, lambda: empty)
    if o.type.elem == NEVER:
        cx.raise_(IndexError, empty)
    value = cx.host("list.pop", o.operand, operators.scalar_operand(cx, index), type_=o.type.elem, label="popped")
    return from_operand(cx, value, o.type.elem, o.example)


def _popleft(cx: Context, ref: AbsVal, args: list[AbsVal], kwargs: dict[str, AbsVal]) -> AbsVal:
    arity(cx, "popleft", args, kwargs, 0, 0)
    return _pop(cx, ref, [Static(0)], {})


def _remove(cx: Context, ref: AbsVal, args: list[AbsVal], kwargs: dict[str, AbsVal]) -> AbsVal:
    arity(cx, "remove", args, kwargs, 1, 1)
    o = resolve(cx, ref)
    missing = f"{_noun(o)}.remove(x): x not in {_noun(o)}"
    if isinstance(o, ListObj):
        elems = list(o.elems)
        at = static_position(cx, elems, args[0])
        if at is None:
            make_run_time_list(cx, o)
        if at < 0:
            cx.raise_(ValueError, missing)
        del elems[at]
        _rebuilt(cx, ref, o, elems)
        return NONE
    if searched(cx, o, "remove", args[0]) is not None:
        return NONE
    item = _comparable(cx, o, args[0], "remove")
    if _noun(o) == "deque":
        absent = cx.host("not", cx.host("list.contains", o.operand, item), label="absent")
        raise_if(cx, absent, ValueError, lambda: missing)
    cx.effect("list.remove", o.operand, item)
    return NONE


def _comparable(cx: Context, o: Rt, item: AbsVal, what: str) -> Operand:
    """An operand of the element type, to look for it in a run-time list."""
    assert isinstance(o.type, ListType)
    elem = o.type.elem
    try:
        with cx.to_store():
            have = type_of(cx, item)
    except NoType as error:
        cx.refuse("T2C231", f"{what} of {error} in a {o.type}", "look for a value of the list's own type")
    number = (elem == FLOAT and have in (INT, BOOL)) or (elem == INT and have == BOOL)
    if join(elem, have) != elem and not number:
        cx.refuse("T2C231", f"{what} of a {have} in a {o.type}", "look for a value of the list's own type")
    return to_operand(cx, item, elem)


def _index(cx: Context, ref: AbsVal, args: list[AbsVal], kwargs: dict[str, AbsVal]) -> AbsVal:
    from torch2cpp.binding.aten import elements

    arity(cx, "index", args, kwargs, 1, 3)
    o = resolve(cx, ref)
    elems = elements(cx, ref)
    if len(args) > 1:
        if elems is None or not all(isinstance(a, Static) for a in args[1:]):
            cx.refuse("T2C232", "index() in a part of a run-time list", "take the slice first")
        part = slice(args[1].value, args[2].value if len(args) > 2 else None)
        start = part.indices(len(elems))[0]
        inner = _position(cx, ref, o, elems[part], args[0])
        return operators.binary(cx, "+", inner, Static(start))
    if elems is not None:
        return _position(cx, ref, o, elems, args[0])
    found = searched(cx, o, "index", args[0])
    if found is not None:
        return found
    item = _comparable(cx, o, args[0], "index")
    if _noun(o) == "deque":
        absent = cx.host("not", cx.host("list.contains", o.operand, item), label="absent")
        raise_if(cx, absent, ValueError, lambda: message_of(cx, "", args[0], " is not in deque"))
    return cx.scalar("list.index", o.operand, item)


def _position(cx: Context, ref: AbsVal, o: AbsVal, elems: list[AbsVal], item: AbsVal) -> AbsVal:
    """Index of an item in a sequence of known length."""

    def missing() -> Operand:
        if isinstance(o, Tup) or (isinstance(o, Static) and isinstance(o.value, tuple)):
            return "tuple.index(x): x not in tuple"
        noun = _noun(o) if isinstance(o, ListObj) else "list"
        return message_of(cx, "", item, f" is not in {noun}")

    at = static_position(cx, elems, item)
    if at is not None:
        if at < 0:
            cx.raise_(ValueError, missing())
        return Static(at)

    def step(i: int) -> AbsVal:
        if i == len(elems):
            cx.raise_(ValueError, missing())
        same = equal(cx, elems[i], item)
        if isinstance(same, Static):
            return Static(i) if same.value else step(i + 1)
        return branch(cx, same.operand, lambda: Static(i), lambda: step(i + 1), "position", cx.span)

    listed = _as_searched(cx, ref, elems, item)
    if listed is None:
        return step(0)
    wanted = operators.scalar_operand(cx, item)
    absent = cx.host("not", cx.host("list.contains", listed.operand, wanted), label="absent")
    raise_if(cx, absent, ValueError, missing)
    return cx.scalar("list.index", listed.operand, wanted)


def _as_searched(cx: Context, ref: AbsVal, elems: list[AbsVal], item: AbsVal) -> Rt | None:
    """A longer sequence of scalars as a run-time list, when the item has just their type."""
    if len(elems) <= 3 or not all(map(is_scalar, [*elems, item])) or len({type_of(cx, e) for e in [*elems, item]}) > 1:
        return None
    return constant_list(cx, Tup(tuple(elems)), cx.site(None))


def _count(cx: Context, ref: AbsVal, args: list[AbsVal], kwargs: dict[str, AbsVal]) -> AbsVal:
    from torch2cpp.binding.aten import elements

    arity(cx, "count", args, kwargs, 1, 1)
    o = resolve(cx, ref)
    elems = elements(cx, ref)
    if elems is None:
        found = searched(cx, o, "count", args[0])
        if found is not None:
            return found
        return cx.scalar("list.count", o.operand, _comparable(cx, o, args[0], "count"))
    total: AbsVal = Static(0)
    for e in elems:
        same = equal(cx, e, args[0])
        one = Static(int(same.value)) if isinstance(same, Static) else cx.scalar("int", same.operand)
        total = operators.binary(cx, "+", total, one)
    return total


def _clear(cx: Context, ref: AbsVal, args: list[AbsVal], kwargs: dict[str, AbsVal]) -> AbsVal:
    arity(cx, "clear", args, kwargs, 0, 0)
    o = resolve(cx, ref)
    if isinstance(o, ListObj):
        _rebuilt(cx, ref, o, [])
    else:
        cx.effect("list.clear", o.operand)
    return NONE


def _copy(cx: Context, ref: AbsVal, args: list[AbsVal], kwargs: dict[str, AbsVal]) -> AbsVal:
    arity(cx, "copy", args, kwargs, 0, 0)
    o = resolve(cx, ref)
    site = cx.site(None)
    if isinstance(o, ListObj):
        return new_list(cx, list(o.elems), site, o.kind)
    return fresh_rt(cx, "list.copy", o.operand, type_=o.type, example=o.example, site=site)


def _reverse(cx: Context, ref: AbsVal, args: list[AbsVal], kwargs: dict[str, AbsVal]) -> AbsVal:
    arity(cx, "reverse", args, kwargs, 0, 0)
    o = resolve(cx, ref)
    if isinstance(o, ListObj):
        _rebuilt(cx, ref, o, list(reversed(o.elems)))
    else:
        cx.effect("list.reverse", o.operand)
    return NONE


def _rotate(cx: Context, ref: AbsVal, args: list[AbsVal], kwargs: dict[str, AbsVal]) -> AbsVal:
    arity(cx, "rotate", args, kwargs, 0, 1)
    o, n = resolve(cx, ref), args[0] if args else Static(1)
    if not isinstance(o, ListObj) or not isinstance(n, Static):
        from torch2cpp.binding.calls import call_python
        from torch2cpp.binding.in_python import counters

        return call_python(cx, counters.rotate, [ref, n], {})  # type: ignore[arg-type]
    turned: deque[Any] = deque(o.elems)
    turned.rotate(n.value)
    _rebuilt(cx, ref, o, list(turned))
    return NONE


def _sort(cx: Context, ref: AbsVal, args: list[AbsVal], kwargs: dict[str, AbsVal]) -> AbsVal:
    from torch2cpp.binding.sorting import sort_in_place

    options = dict(kwargs)
    key, reverse = options.pop("key", NONE), options.pop("reverse", Static(False))
    arity(cx, "sort", args, options, 0, 0)
    sort_in_place(cx, ref, key, reverse)
    return NONE


READING: dict[str, Handler] = {"index": _index, "count": _count}
LIST: dict[str, Handler] = {
    **READING, "append": _append, "extend": _extend, "insert": _insert, "pop": _pop, "remove": _remove,
    "clear": _clear, "copy": _copy, "reverse": _reverse, "sort": _sort,
}  # fmt: skip
DEQUE: dict[str, Handler] = {
    **{k: v for k, v in LIST.items() if k != "sort"},
    "appendleft": _appendleft, "extendleft": _extendleft, "popleft": _popleft, "rotate": _rotate,
}  # fmt: skip
