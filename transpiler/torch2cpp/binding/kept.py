"""Variables that a `try` body assigns and a handler reads: their values go through local cells.

What such a variable holds when the body raises is known at run time only. Once a handler was seen
to read it, every assignment in the body also stores the value in the cell, and the handler loads it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, final

from torch2cpp.binding.context import Context, Restart
from torch2cpp.binding.convert import NoType, describe, from_operand, to_operand, type_of
from torch2cpp.binding.growth import fit_inside
from torch2cpp.binding.values import NONE, UNBOUND, AbsVal, InstanceObj, Poison, Rt, ScopeObj, Static, Unbound
from torch2cpp.binding.variables import scope_of
from torch2cpp.hostir.ops import Cell, Load, Store
from torch2cpp.hostir.types import NEVER, NeverType, NoneType, OptionalType, join


@final
@dataclass(eq=False, slots=True)
class Kept:
    """One such variable of one `try`."""

    key: Any
    name: str
    cell: Cell
    #: Whether it has no value before the `try`.
    unbound: bool


def begin(cx: Context, site: Any) -> dict[tuple[int, str], Kept]:
    """The kept variables of the `try` at a site, their first values stored."""
    found: dict[tuple[int, str], Kept] = {}
    for key, type_ in list(cx.facts.kept.items()):
        place, name, depth = key
        scope = None
        if place == site:
            scope = scope_of(cx, name) if depth is None else cx.frames[depth].scope
        if scope is None:
            continue
        value = cx.state.heap[scope].names.get(name, Unbound())
        cx.kept_cells += 1
        cell = Cell(f"{name}_{cx.kept_cells}", type_, "local")
        unbound = isinstance(value, Unbound) or (isinstance(value, Rt) and bool(value.unbound))
        kept = found[(scope, name)] = Kept(key, name, cell, unbound)
        _store(cx, kept, value)
    return found


def note(cx: Context, key: Any, name: str | None, obj: Any) -> None:
    """Stores a variable that is assigned, for the handlers of every `try` around."""
    if name is None or not isinstance(obj, ScopeObj):
        return
    for variables in cx.kept:
        kept = variables.get((key, name))
        if kept is not None:
            _store(cx, kept, obj.names.get(name, Unbound()))


def _store(cx: Context, kept: Kept, value: AbsVal) -> None:
    if isinstance(value, Unbound):
        if not kept.unbound:
            cx.refuse("T2C101", f"{kept.name!r} is deleted in the try body, and a handler reads it", "keep its value")
        value = NONE
    elif kept.unbound and isinstance(value, Static) and value.value is None:
        cx.refuse(
            "T2C101", f"{kept.name!r} may be None or unassigned when a handler reads it", "assign it before the try"
        )
    from torch2cpp.binding.containers import make_run_time

    have = cx.facts.kept[kept.key]
    try:
        make_run_time(cx, value)  # what is put into a list or object is seen by the handler too
        wide = join(have, type_of(cx, value))
    except NoType:
        wide = None
    if wide is None:
        cx.refuse(
            "T2C101",
            f"{kept.name!r} is {describe(cx, value)} here and {have} elsewhere in the try body, and a handler reads it",
            "give it one type (dtype and rank) on every path",
        )
    if not isinstance(value, Static) or value.value is not None:
        cx.facts.examples.setdefault(kept.key, value)
    if wide != have:
        cx.facts.kept[kept.key] = wide
        raise Restart
    fit_inside(cx, value, wide)
    cx.emit(Store(kept.cell, to_operand(cx, value, wide), cx.span))


def in_handler(cx: Context, site: Any, scope: int, name: str, kept: Kept | None) -> AbsVal:
    """What a handler sees of a variable that the body assigns."""
    if kept is None:
        depth = next((i for i, frame in enumerate(cx.frames) if frame.scope == scope), None)
        text = f"{name!r} is assigned in the try body, and may or may not be when it raises"
        return Poison(text, kept=(site, name, depth))
    t = kept.cell.type
    if kept.unbound and isinstance(t, NoneType | NeverType):
        return UNBOUND  # so far it was not assigned anywhere
    loaded = cx.value(t, name)
    cx.emit(Load(loaded, kept.cell, cx.span))
    example = cx.facts.examples.get(kept.key)
    if kept.unbound and isinstance(t, OptionalType):
        return Rt(loaded, t, example=example, unbound=name)
    if isinstance(t, OptionalType):
        return Rt(loaded, t, example=example)
    return from_operand(cx, loaded, t, example, kept.key)


def learn(cx: Context, value: Poison) -> None:
    """A handler reads a variable that was not kept: it is in the next round. An object's attributes are a struct's."""
    if isinstance(value.kept, InstanceObj):
        from torch2cpp.binding.objects import make_struct

        make_struct(cx, value.kept)
    elif value.kept is not None and value.kept not in cx.facts.kept:
        cx.facts.kept[value.kept] = NEVER
        raise Restart
