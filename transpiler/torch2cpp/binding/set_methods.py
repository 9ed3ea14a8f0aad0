"""Methods of sets.

Sets of ints, of bools, and of tuples of those are walked in the order in which CPython walks them, which follows from
what happened to the set: so each operation is the one that CPython does. All other sets have an order that differs
from one run of Python to the next, and are only asked for what does not depend on it.
"""

from __future__ import annotations

import sys
from collections.abc import Callable

from torch2cpp.binding import operators
from torch2cpp.binding.builtin_table import TABLE, all_arguments, static_first
from torch2cpp.binding.builtin_table import Handler as CallHandler
from torch2cpp.binding.container_operators import contains
from torch2cpp.binding.containers import new_set, run_time, site_of, widen_element
from torch2cpp.binding.context import Context
from torch2cpp.binding.control import branch
from torch2cpp.binding.convert import describe, resolve, to_operand
from torch2cpp.binding.dict_views import snapshot
from torch2cpp.binding.list_methods import Handler, arity, message_of, raise_if
from torch2cpp.binding.literal_sets import LiteralSet, make_run_time_set, run_time_copy
from torch2cpp.binding.values import NONE, AbsVal, DictObj, Host, Iter, Rt, StarRest, Static
from torch2cpp.hostir.types import BOOL, INT, NEVER, DictType, ListType, SetType, TupleType, Type

Args = list[AbsVal]
Kwargs = dict[str, AbsVal]

#: The version of CPython whose order of sets the run time has.
_SAME_ORDER = sys.implementation.name == "cpython" and sys.version_info[:2] == (3, 11)


def is_ordered(cx: Context, t: Type) -> bool:
    """Whether a set of such elements is walked in an order that is known, CPython's."""
    if t in cx.facts.any_order or not _SAME_ORDER:
        return False
    if isinstance(t, TupleType):
        return is_tuple_of_ints(t)
    return t in (INT, BOOL, NEVER)


def is_tuple_of_ints(t: Type) -> bool:
    """Whether it is a tuple of ints, bools and such tuples."""
    return (
        isinstance(t, TupleType) and t.kind == "tuple" and all(e in (INT, BOOL) or is_tuple_of_ints(e) for e in t.elems)
    )


def _type(o: AbsVal) -> SetType:
    assert isinstance(o, Rt) and isinstance(o.type, SetType)
    return o.type


def is_rt_set(o: AbsVal) -> bool:
    """Whether a resolved value is a run-time set."""
    return isinstance(o, Rt) and isinstance(o.type, SetType)


def members_of(cx: Context, o: Rt) -> Rt:
    """The members of a run-time set as a list: in Python's order if that is known, else sorted."""
    name = "set.members" if is_ordered(cx, _type(o).elem) else "set.sorted"
    listed = cx.host(name, o.operand, label="members")
    return Rt(listed, listed.type, example=o.example)


def members_in_order(cx: Context, v: AbsVal) -> AbsVal:
    """An iterable whose order does not matter where it is not known."""
    o = resolve(cx, v)
    if isinstance(o, Iter):
        return snapshot(cx, o, any_order=True)
    return members_of(cx, o) if is_rt_set(o) else v


def set_add(cx: Context, ref: AbsVal, value: AbsVal) -> None:
    """`ref.add(value)`"""
    o = _changed(cx, ref)
    widen_element(cx, site_of(cx, ref), o.type, value)
    cx.effect("set.add", o.operand, to_operand(cx, value, _type(o).elem))


def _changed(cx: Context, ref: AbsVal) -> Rt:
    """A set that a statement changes."""
    o = resolve(cx, ref)
    if isinstance(o, Static):
        from torch2cpp.binding.model_state import make_state

        if isinstance(o.value, LiteralSet):
            make_run_time_set(cx, o.value)
        make_state(cx, o.value)
        cx.refuse("T2C236", f"{describe(cx, o)} is changed", "make the set with set() inside the deployed code")
    assert isinstance(o, Rt)
    return o


def _add(cx: Context, ref: AbsVal, args: Args, kwargs: Kwargs) -> AbsVal:
    arity(cx, "add", args, kwargs, 1, 1)
    set_add(cx, ref, args[0])
    return NONE


def _discard(cx: Context, ref: AbsVal, args: Args, kwargs: Kwargs) -> AbsVal:
    arity(cx, "discard", args, kwargs, 1, 1)
    o = resolve(cx, ref)
    assert isinstance(o, Rt)
    cx.effect("set.discard", o.operand, to_operand(cx, args[0], _type(o).elem))
    return NONE


def _remove(cx: Context, ref: AbsVal, args: Args, kwargs: Kwargs) -> AbsVal:
    arity(cx, "remove", args, kwargs, 1, 1)
    missing = operators.logical_not(cx, contains(cx, ref, args[0]))
    assert isinstance(missing, Host)
    raise_if(cx, missing.operand, KeyError, lambda: message_of(cx, "", args[0], ""))
    return _discard(cx, ref, args, {})


def _pop(cx: Context, ref: AbsVal, args: Args, kwargs: Kwargs) -> AbsVal:
    from torch2cpp.binding.convert import from_operand

    arity(cx, "pop", args, kwargs, 0, 0)
    o = resolve(cx, ref)
    assert isinstance(o, Rt)
    elem = _type(o).elem
    if not is_ordered(cx, elem):
        cx.refuse("T2C238", "set.pop(), which takes an undefined element", "pop from a list")
    raise_if(cx, cx.host("eq", cx.host("set.len", o.operand), 0), KeyError, lambda: "'pop from an empty set'")
    if elem == NEVER:
        return NONE  # not reached: nothing was put in on any path
    return from_operand(cx, cx.host("set.pop", o.operand, type_=elem, label="popped"), elem, o.example)


def _clear(cx: Context, ref: AbsVal, args: Args, kwargs: Kwargs) -> AbsVal:
    arity(cx, "clear", args, kwargs, 0, 0)
    cx.effect("set.clear", _changed(cx, ref).operand)
    return NONE


# Two sets -----------------------------------------------------------------------------------------


def as_run_time(cx: Context, v: AbsVal, side: str = "as_set") -> AbsVal:
    """What a method of a set is given, which may be any iterable, as a run-time set."""
    o = resolve(cx, v)
    if is_rt_set(o):
        return v
    site = (cx.site(None), side)
    if isinstance(o, Static) and isinstance(o.value, set | frozenset):
        return run_time_copy(cx, o.value, site)
    out = new_set(cx, [], site)
    update(cx, out, v)
    return out


def _of_type(cx: Context, o: Rt, t: SetType) -> Rt:
    """A set that nothing was put into, as one of another type; any other set is itself."""
    return Rt(cx.host("set.new", type_=t, label="set"), t) if _type(o).elem == NEVER != t.elem else o


def _pair(cx: Context, ref: AbsVal, other: AbsVal) -> tuple[Rt, Rt] | None:
    """Two run-time sets of one type; None where they are of several types."""
    a, b = resolve(cx, ref), resolve(cx, other)
    assert isinstance(a, Rt) and isinstance(b, Rt)
    a, b = _of_type(cx, a, _type(b)), _of_type(cx, b, _type(a))
    return (a, b) if a.type == b.type else None


def combined(cx: Context, name: str, ref: AbsVal, other: AbsVal, site: object) -> AbsVal:
    """`union`, `intersection`, `difference` or `symmetric_difference` of two run-time sets, by name: a new set."""
    pair = _pair(cx, ref, other)
    known = cx.facts.containers.get(site)
    if pair is not None and known in (None, pair[0].type):
        value = cx.host(f"set.{name}", pair[0].operand, pair[1].operand, type_=pair[0].type, label="set")
        return run_time(cx, Rt(value, pair[0].type, example=pair[0].example or pair[1].example), site)
    return _one_by_one(cx, name, ref, other, site)


def _one_by_one(cx: Context, name: str, ref: AbsVal, other: AbsVal, site: object) -> AbsVal:
    """The same of sets of several types, none of which has a known order."""
    from torch2cpp.binding.comprehensions import consume

    out = new_set(cx, [], site)

    def put(x: AbsVal) -> AbsVal:
        set_add(cx, out, x)
        return NONE

    def put_if(among: AbsVal, wanted: bool) -> Callable[[AbsVal], None]:
        def one(x: AbsVal) -> None:
            inside = contains(cx, among, x)
            test = inside if wanted else operators.logical_not(cx, inside)
            if not isinstance(test, Static):
                branch(cx, test.operand, lambda: put(x), lambda: NONE, "member", cx.span)
            elif test.value:
                put(x)

        return one

    left = put if name == "union" else put_if(other, name == "intersection")
    consume(cx, members_in_order(cx, ref), left, (site, "left"))
    if name in ("union", "symmetric_difference"):
        right = put if name == "union" else put_if(ref, False)
        consume(cx, members_in_order(cx, other), right, (site, "right"))
    return out


def update(cx: Context, ref: AbsVal, other: AbsVal, part: object = 0) -> None:
    """`ref.update(other)`"""
    from torch2cpp.binding.comprehensions import consume

    o, new = _changed(cx, ref), resolve(cx, other)
    if isinstance(new, Static) and isinstance(new.value, set | frozenset):
        other = run_time_copy(cx, new.value, (cx.site(None), "known", part))
        new = resolve(cx, other)
    if is_rt_set(new) and (o.type == new.type or _type(new).elem == NEVER):
        if o.type == new.type:
            cx.effect("set.update", o.operand, new.operand)
        return
    if is_rt_set(new) and _type(o).elem == NEVER:
        learn_elements(cx, ref, o, new)
    if isinstance(new, Rt) and isinstance(new.type, DictType) and new.type.key == _type(o).elem:
        keys = cx.host("dict.keys", new.operand, type_=ListType(new.type.key), label="keys")
        cx.effect("set.update_keys", o.operand, keys)
        return
    if isinstance(new, DictObj | Static) and isinstance(getattr(new, "items", None) or getattr(new, "value", 0), dict):
        keys_known = list(new.items) if isinstance(new, DictObj) else list(new.value)
        if any(type(k) in (int, bool, tuple) for k in keys_known):
            other = run_time_copy(cx, set(dict.fromkeys(keys_known)), (cx.site(None), "keys", part))
    items = members_in_order(cx, other)
    consume(cx, items, lambda x: set_add(cx, ref, x), (cx.site(None), "update", part))


def learn_elements(cx: Context, ref: AbsVal, o: Rt, new: AbsVal) -> None:
    """A set that nothing was put into yet takes the type of another, if it can have an element of it."""
    from torch2cpp.binding.convert import from_operand

    elem = _type(new).elem
    example = cx.host("list.get", members_of(cx, new).operand, 0, type_=elem, label="member")
    widen_element(cx, site_of(cx, ref), o.type, from_operand(cx, example, elem))


def _update(cx: Context, ref: AbsVal, args: Args, kwargs: Kwargs) -> AbsVal:
    from torch2cpp.binding.comprehensions import consume

    arity(cx, "update", args, kwargs, 0, 1024)
    for i, other in enumerate(args):
        if isinstance(other, StarRest):
            consume(cx, other.value, lambda x, i=i: update(cx, ref, x, i), (cx.site(None), "each", i))  # type: ignore[misc]
        else:
            update(cx, ref, other, i)
    return NONE


def copy_of(cx: Context, ref: AbsVal, site: object) -> AbsVal:
    """A new set with the members of a run-time set."""
    o = resolve(cx, ref)
    assert isinstance(o, Rt)
    if cx.facts.containers.get(site, o.type) == o.type:
        return run_time(cx, Rt(cx.host("set.copy", o.operand, label="set"), o.type, example=o.example), site)
    out = new_set(cx, [], site)
    update(cx, out, ref)
    return out


def _copy(cx: Context, ref: AbsVal, args: Args, kwargs: Kwargs) -> AbsVal:
    arity(cx, "copy", args, kwargs, 0, 0)
    return copy_of(cx, ref, cx.site(None))


def _combining(name: str) -> Handler:
    """`union` and its like, with any number of iterables."""

    def combine(cx: Context, ref: AbsVal, args: Args, kwargs: Kwargs) -> AbsVal:
        arity(cx, name, args, kwargs, 1 if name == "symmetric_difference" else 0, 1024)
        if any(isinstance(a, StarRest) for a in args):
            return _with_all(cx, name, ref, all_arguments(cx, args))
        if name == "union" or not args:
            out = copy_of(cx, ref, cx.site(None))
            _update(cx, out, args, {})
            return out
        out = ref
        for i, other in enumerate(args):
            site = cx.site(None) if i == len(args) - 1 else (cx.site(None), "part", i)
            out = _with_one(cx, name, out, other, i, site)
        return out

    return combine


def _with_all(cx: Context, name: str, first: AbsVal, others: AbsVal) -> AbsVal:
    """`union`, `intersection` or `difference` with the sets of a list."""
    from torch2cpp.binding.calls import call_python
    from torch2cpp.binding.in_python import sets

    listed = resolve(cx, others)
    of_sets = isinstance(listed, Rt) and isinstance(listed.type, ListType) and isinstance(listed.type.elem, SetType)
    if not of_sets or name == "symmetric_difference":
        cx.refuse("T2C238", f"{name}(*xs) of {describe(cx, others)}", "give it a list of sets, or write a loop")
    return call_python(cx, getattr(sets, name), [first, others], {})


def _unbound(name: str) -> CallHandler:
    """`set.union(*sets)` and its like."""

    def run(cx: Context, args: Args, kwargs: Kwargs) -> AbsVal:
        from torch2cpp.binding.attributes import get_attribute
        from torch2cpp.binding.calls import call
        from torch2cpp.binding.items import get_item

        if not any(isinstance(a, StarRest) for a in args[:1]):
            if not args:
                cx.raise_(TypeError, f"unbound method set.{name}() needs an argument")
            return call(cx, get_attribute(cx, args[0], name), args[1:], kwargs)
        every = all_arguments(cx, args)
        count = operators.truth(cx, every)
        if isinstance(count, Host):
            none = operators.logical_not(cx, count)
            text = f"unbound method set.{name}() needs an argument"
            raise_if(cx, none.operand, TypeError, lambda: text)
        return _with_all(cx, name, get_item(cx, every, Static(0)), get_item(cx, every, Static(slice(1, None, None))))

    return run


def _with_one(cx: Context, name: str, ref: AbsVal, other: AbsVal, part: int, site: object) -> AbsVal:
    is_set = is_rt_set(resolve(cx, other))
    given = as_run_time(cx, other, f"as_set {part}")
    if is_set or name == "intersection":
        if name == "intersection" and not is_set:
            return _found_in(cx, given, ref, other, site)
        if name == "difference" and part:
            out = copy_of(cx, ref, site)
            in_place(cx, "difference_update", out, given)
            return out
        return combined(cx, name, ref, given, site)
    if name == "symmetric_difference":
        in_place(cx, "symmetric_difference_update", given, ref)
        return given
    out = copy_of(cx, ref, site)
    in_place(cx, "difference_update", out, given)
    return out


def _found_in(cx: Context, given: AbsVal, ref: AbsVal, other: AbsVal, site: object) -> AbsVal:
    """`ref.intersection(other)` of what is no set: its items that are members, in its order."""
    from torch2cpp.binding.comprehensions import consume

    out = new_set(cx, [], site)

    def one(x: AbsVal) -> None:
        inside = contains(cx, ref, x)

        def put() -> AbsVal:
            set_add(cx, out, x)
            return NONE

        if not isinstance(inside, Static):
            branch(cx, inside.operand, put, lambda: NONE, "member", cx.span)
        elif inside.value:
            put()

    consume(cx, given if isinstance(other, Iter) else members_in_order(cx, other), one, (site, "walk"))
    return out


def in_place(cx: Context, name: str, ref: AbsVal, other: AbsVal) -> None:
    """`difference_update` and its like of two run-time sets, by name."""
    from torch2cpp.binding.comprehensions import consume

    o, new = _changed(cx, ref), resolve(cx, other)
    assert isinstance(new, Rt)
    new = _of_type(cx, new, _type(o))
    if new.type == o.type:
        cx.effect(f"set.{name}", o.operand, new.operand)
        return
    if name == "symmetric_difference_update":
        if _type(o).elem == NEVER:
            learn_elements(cx, ref, o, new)
        cx.refuse("T2C238", f"{describe(cx, o)} and {describe(cx, new)}", "use sets of one type")

    def one(x: AbsVal) -> None:
        found = contains(cx, other, x)
        gone = found if name == "difference_update" else operators.logical_not(cx, found)
        if not isinstance(gone, Static):
            branch(cx, gone.operand, lambda: _discard(cx, ref, [x], {}), lambda: NONE, "member", cx.span)
        elif gone.value:
            _discard(cx, ref, [x], {})

    consume(cx, members_of(cx, o), one, (cx.site(None), "discard"))


def _changing(name: str) -> Handler:
    """`difference_update` and its like."""

    def change(cx: Context, ref: AbsVal, args: Args, kwargs: Kwargs) -> AbsVal:
        arity(cx, name, args, kwargs, 1, 1)
        _changed(cx, ref)
        if name == "intersection_update" and not is_rt_set(resolve(cx, args[0])):
            given = as_run_time(cx, args[0])
            found = _found_in(cx, given, ref, args[0], (cx.site(None), "found"))
            in_place(cx, name, ref, found)
        else:
            in_place(cx, name, ref, as_run_time(cx, args[0]))
        return NONE

    return change


def _order(sign: str) -> Handler:
    def compare(cx: Context, ref: AbsVal, args: Args, kwargs: Kwargs) -> AbsVal:
        from torch2cpp.binding.set_operators import ordered

        arity(cx, "issubset or issuperset", args, kwargs, 1, 1)
        return ordered(cx, sign, resolve(cx, ref), resolve(cx, as_run_time(cx, args[0])))

    return compare


def _disjoint(cx: Context, ref: AbsVal, args: Args, kwargs: Kwargs) -> AbsVal:
    from torch2cpp.binding.calls import call_python
    from torch2cpp.binding.in_python import sets

    arity(cx, "isdisjoint", args, kwargs, 1, 1)
    members = members_in_order(cx, resolve(cx, ref))
    return call_python(cx, sets.apart, [members, as_run_time(cx, args[0])], {})  # type: ignore[arg-type]


SET: dict[str, Handler] = {
    "add": _add, "discard": _discard, "remove": _remove, "update": _update, "copy": _copy, "pop": _pop, "clear": _clear,
    "issubset": _order("<="), "issuperset": _order(">="), "isdisjoint": _disjoint,
}  # fmt: skip
for _name in ("union", "intersection", "difference", "symmetric_difference"):
    SET[_name] = _combining(_name)
for _name in ("intersection_update", "difference_update", "symmetric_difference_update"):
    SET[_name] = _changing(_name)
for _name in ("union", "intersection", "difference"):
    for _kind in (set, frozenset):
        TABLE[getattr(_kind, _name)] = static_first(getattr(_kind, _name))(_unbound(_name))
