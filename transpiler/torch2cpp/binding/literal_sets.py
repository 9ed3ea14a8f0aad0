"""Sets known while transpiling: they stay so until something adds a member."""

from __future__ import annotations

import marshal
import sys
from collections.abc import Iterable
from typing import Any, NoReturn

from torch2cpp.binding.context import Context, Restart
from torch2cpp.binding.convert import NoType, static_type
from torch2cpp.binding.values import AbsVal, Static
from torch2cpp.hostir.types import NEVER, SetType, Type, join


class LiteralSet(set[Any]):
    """A set that the program made of known members, and where."""

    def __init__(self, members: Iterable[Any], site: Any, folded: bool = False) -> None:
        super().__init__(members)
        made = members if type(members) is set else set(members)
        #: The set as Python makes it: a copy may have another order. None where that order is not known.
        self.made: set[Any] | None = _folded(list(members)) if folded else made
        #: The members in the order in which they were put in, as far as that is known.
        self.given = list(members)
        self.site = site

    def __repr__(self) -> str:
        return repr(set(self))


def as_made(value: Any) -> Any:
    """A known set itself, in its own order if that is known."""
    return value.made if isinstance(value, LiteralSet) and value.made is not None else value


def _folded(members: list[Any]) -> set[Any] | None:
    """A set display of constants, as Python's compiler makes it; None if it is another one when it is read back."""
    display = compile(f"{{{', '.join(map(repr, members))}}}", "<set>", "eval")
    fresh, read_back = eval(display), eval(marshal.loads(marshal.dumps(display)))
    return fresh if _same_layout(fresh, read_back) else None


def make_set(cx: Context, members: Iterable[Any], site: Any, folded: bool = False) -> AbsVal:
    """A new set of known members; a run-time one where a later statement changes it.

    `folded`: Python's compiler has made a frozenset of the members, of which the set is a copy.
    """
    made = LiteralSet(members, site, folded)
    return run_time_copy(cx, made, site) if site in cx.facts.containers else Static(made)


def run_time_copy(cx: Context, value: Any, site: Any) -> AbsVal:
    """A run-time set that is walked in the same order as a known one, whatever is put into it later."""
    from torch2cpp.binding.containers import new_set
    from torch2cpp.binding.set_methods import copy_of

    made = as_made(value)
    unknown = isinstance(value, LiteralSet) and value.made is None
    if not all(map(_is_ordered, made)):
        return new_set(cx, [Static(m) for m in sorted(made, key=repr)], site)
    given = getattr(value, "given", [])
    for members in (list(made), given, list(frozenset(given))) if not unknown else ():
        one_by_one = set(members)
        if _same_layout(one_by_one, made):
            return new_set(cx, [Static(m) for m in members], site)
        if _same_layout(one_by_one.copy(), made):
            return copy_of(cx, new_set(cx, [Static(m) for m in members], (site, "first")), site)
    # Its order follows from what happened to it, or is another one the next time that the model's file is read.
    elem = set_type(cx, made).elem
    if elem not in cx.facts.any_order:
        cx.facts.any_order.add(elem)
        raise Restart
    return new_set(cx, [Static(m) for m in sorted(made)], site)


def _is_ordered(member: Any) -> bool:
    """Whether Python walks sets of such members in the same order every time."""
    return all(map(_is_ordered, member)) if type(member) is tuple else type(member) in (int, bool)


def _same_layout(a: Any, b: Any) -> bool:
    room = [sys.getsizeof(s) - sys.getsizeof(type(s)()) for s in (a, b)]
    return list(a) == list(b) and room[0] == room[1]


def make_run_time_set(cx: Context, value: LiteralSet) -> NoReturn:
    """Starts binding again with this set as a run-time one."""
    cx.facts.containers[value.site] = set_type(cx, value)
    raise Restart


def set_type(cx: Context, members: Iterable[Any]) -> SetType:
    """The type of a run-time set with these members. Refuses members of several types."""
    elem: Type | None = NEVER
    for x in members:
        try:
            elem = join(elem, static_type(x)) if elem is not None else None
        except NoType as error:
            cx.refuse("T2C112", f"{error} is a member of a set that changes", "keep numbers and strings in it")
    if elem is None:
        cx.refuse("T2C110", "a set that changes has members of different types", "use one set per type")
    return SetType(elem)
