"""Sets known while transpiling: they stay so until something adds a member."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NoReturn

from torch2cpp.binding.context import Context, Restart
from torch2cpp.binding.convert import NoType, static_type
from torch2cpp.binding.values import AbsVal, Static
from torch2cpp.hostir.types import NEVER, SetType, Type, join


class LiteralSet(set[Any]):
    """A set that the program made of known members, and where."""

    def __init__(self, members: Iterable[Any], site: Any) -> None:
        super().__init__(members)
        self.site = site

    def __repr__(self) -> str:
        return repr(set(self))


def make_set(cx: Context, members: Iterable[Any], site: Any) -> AbsVal:
    """A new set of known members; a run-time one where a later statement changes it."""
    from torch2cpp.binding.containers import new_set

    if site in cx.facts.containers:
        return new_set(cx, [Static(x) for x in members], site)
    return Static(LiteralSet(members, site))


def make_run_time_set(cx: Context, value: LiteralSet) -> NoReturn:
    """Starts binding again with this set as a run-time one."""
    elem: Type | None = NEVER
    for x in value:
        try:
            elem = join(elem, static_type(x)) if elem is not None else None
        except NoType as error:
            cx.refuse("T2C112", f"{error} is a member of a set that changes", "keep numbers and strings in it")
    if elem is None:
        cx.refuse("T2C110", "a set that changes has members of different types", "use one set per type")
    cx.facts.containers[value.site] = SetType(elem)
    raise Restart
