"""What a function that calls itself reads of the functions around it: run-time values become parameters.

(Closure conversion: Landin, "The mechanical evaluation of expressions", 1964.)
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, final

import libcst as cst

from torch2cpp.binding.context import Context
from torch2cpp.binding.convert import resolve
from torch2cpp.binding.values import AbsVal, Bound, Func, ScopeObj, Unbound
from torch2cpp.binding.variables import local_names


@final
@dataclass(frozen=True, slots=True)
class Captured:
    """A variable of a function around."""

    scope: int
    name: str
    value: AbsVal


class _Free(cst.CSTVisitor):
    """Names that a function reads, those of functions inside of it included, and what it declares `nonlocal`."""

    def __init__(self) -> None:
        self.names: dict[str, None] = {}
        self.written: list[cst.Nonlocal] = []

    def visit_Attribute(self, node: cst.Attribute) -> bool:
        node.value.visit(self)
        return False

    def visit_Arg(self, node: cst.Arg) -> bool:
        node.value.visit(self)
        return False

    def visit_Name(self, node: cst.Name) -> None:
        self.names[node.value] = None

    def visit_Nonlocal(self, node: cst.Nonlocal) -> None:
        self.written.append(node)


def captured(cx: Context, f: Any) -> list[Captured]:
    """The variables around that `f` reads, and those that the functions among them read, each once.

    Refuses where it assigns to one: a function of the program has variables of its own only.
    """
    found: dict[tuple[int, str], Captured] = {}
    _collect(cx, f, found, set())
    return list(found.values())


def _collect(cx: Context, f: Any, found: dict[tuple[int, str], Captured], seen: set[int]) -> None:
    if f.scope is None or id(f.node) in seen:
        return
    seen.add(id(f.node))
    free = _Free()
    f.node.body.visit(free)
    if free.written:
        cx.refuse("T2C174", f"{f.name} calls itself and assigns to a variable of the function around it (nonlocal)",
                  "keep the value in a list or an object of the function around, or return it")  # fmt: skip
    own = local_names(f.node)
    for name in free.names:
        if name in own:
            continue
        place = _find(cx, f.scope, name)
        if place is None or place in found:
            continue
        scope = cx.state.heap[place[0]]
        assert isinstance(scope, ScopeObj)
        value = scope.names[name]
        if isinstance(value, Unbound):
            continue
        found[place] = Captured(*place, value)
        o = resolve(cx, value)
        inner = o.callee if isinstance(o, Bound) else o
        if isinstance(inner, Func):
            _collect(cx, inner, found, seen)


def _find(cx: Context, scope: int | None, name: str) -> tuple[int, str] | None:
    while scope is not None:
        obj = cx.state.heap[scope]
        assert isinstance(obj, ScopeObj)
        if name in obj.names:
            return scope, name
        scope = obj.parent
    return None
