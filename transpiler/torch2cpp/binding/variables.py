"""Names: Python's scoping over the abstract heap."""

from __future__ import annotations

import builtins
from functools import cache
from typing import Any

import libcst as cst

from torch2cpp.binding.context import Context, Restart
from torch2cpp.binding.convert import from_operand
from torch2cpp.binding.values import (
    UNBOUND,
    AbsVal,
    Choice,
    Poison,
    Ref,
    Rt,
    RtObj,
    ScopeObj,
    Static,
    Unbound,
)
from torch2cpp.diagnostics import Refused
from torch2cpp.hostir.ops import Block, If, Raise, Value, Yield
from torch2cpp.hostir.types import NoneType, OptionalType, RecordType, TupleType


class _LocalNames(cst.CSTVisitor):
    def __init__(self) -> None:
        self.stored: set[str] = set()
        self.elsewhere: set[str] = set()

    def visit_FunctionDef(self, node: cst.FunctionDef) -> bool:
        self.stored.add(node.name.value)
        return False

    def visit_ClassDef(self, node: cst.ClassDef) -> bool:
        self.stored.add(node.name.value)
        return False

    def visit_Lambda(self, node: cst.Lambda) -> bool:
        return False

    def _comprehension(self, node: cst.CSTNode) -> bool:
        # only the walrus reaches out of a comprehension
        for walrus in _find(node, cst.NamedExpr):
            self._targets(walrus.target)
        return False

    def visit_ListComp(self, node: cst.ListComp) -> bool:
        return self._comprehension(node)

    def visit_SetComp(self, node: cst.SetComp) -> bool:
        return self._comprehension(node)

    def visit_DictComp(self, node: cst.DictComp) -> bool:
        return self._comprehension(node)

    def visit_GeneratorExp(self, node: cst.GeneratorExp) -> bool:
        return self._comprehension(node)

    def _targets(self, target: cst.CSTNode) -> None:
        match target:
            case cst.Name():
                self.stored.add(target.value)
            case cst.Tuple() | cst.List():
                for e in target.elements:
                    self._targets(e.value)
            case cst.StarredElement():
                self._targets(target.value)

    def visit_AssignTarget(self, node: cst.AssignTarget) -> None:
        self._targets(node.target)

    def visit_AugAssign(self, node: cst.AugAssign) -> None:
        self._targets(node.target)

    def visit_AnnAssign(self, node: cst.AnnAssign) -> None:
        self._targets(node.target)

    def visit_For(self, node: cst.For) -> None:
        self._targets(node.target)

    def visit_NamedExpr(self, node: cst.NamedExpr) -> None:
        self._targets(node.target)

    def visit_AsName(self, node: cst.AsName) -> None:
        self._targets(node.name)

    def visit_Global(self, node: cst.Global) -> None:
        self.elsewhere |= {n.name.value for n in node.names}

    def visit_Nonlocal(self, node: cst.Nonlocal) -> None:
        self.elsewhere |= {n.name.value for n in node.names}

    def visit_Del_target(self, node: cst.Del) -> None:
        self._targets(node.target)

    def visit_MatchAs(self, node: cst.MatchAs) -> None:
        if node.name is not None:
            self.stored.add(node.name.value)

    def visit_MatchMapping(self, node: cst.MatchMapping) -> None:
        if node.rest is not None:
            self.stored.add(node.rest.value)

    def visit_MatchStar(self, node: cst.MatchStar) -> None:
        if node.name is not None:
            self.stored.add(node.name.value)

    def visit_ImportAlias(self, node: cst.ImportAlias) -> None:
        name: cst.BaseExpression = node.name
        while isinstance(name, cst.Attribute):  # import os.path
            name = name.value
        if node.asname is None and isinstance(name, cst.Name):
            self.stored.add(name.value)


def _find(node: cst.CSTNode, kind: type) -> list[Any]:
    found: list[Any] = []

    class Finder(cst.CSTVisitor):
        def on_visit(self, node: cst.CSTNode) -> bool:
            if isinstance(node, kind):
                found.append(node)
            return True

    node.visit(Finder())
    return found


@cache
def local_names(node: cst.FunctionDef | cst.Lambda) -> frozenset[str]:
    """The names that are local to a function: its parameters and what it assigns."""
    visitor = _LocalNames()
    node.body.visit(visitor)
    params = node.params
    for p in (*params.params, *params.kwonly_params, *params.posonly_params):
        visitor.stored.add(p.name.value)
    for star in (params.star_arg, params.star_kwarg):
        if isinstance(star, cst.Param):
            visitor.stored.add(star.name.value)
    return frozenset(visitor.stored - visitor.elsewhere)


@cache
def stored_in(node: cst.CSTNode) -> frozenset[str]:
    """Names assigned somewhere in a statement."""
    visitor = _LocalNames()
    node.visit(visitor)
    return frozenset(visitor.stored)


@cache
def _occurrences(node: cst.CSTNode) -> tuple[str, ...]:
    return tuple(n.value for n in _find(node, cst.Name))


@cache
def iteration_names(loop: cst.For | cst.While, function: cst.CSTNode) -> frozenset[str]:
    """Names of a loop's body that are assigned first in each iteration and used nowhere else.

    Their values need not be carried from one iteration to the next.
    """
    everywhere = _occurrences(function)
    inside = _occurrences(loop)
    out = set()
    for name in stored_in(loop.body):
        if everywhere.count(name) == inside.count(name) and _stored_first(loop, name):
            out.add(name)
    return frozenset(out)


def _stored_first(loop: cst.For | cst.While, name: str) -> bool:
    """Whether the first statement of the body that mentions the name assigns it before reading it."""
    if isinstance(loop, cst.While) and name in _occurrences(loop.test):
        return False
    if loop.orelse is not None and name in _occurrences(loop.orelse):
        return False
    for statement in loop.body.body:
        if name not in _occurrences(statement):
            continue
        if not isinstance(statement, cst.SimpleStatementLine):
            return False
        for small in statement.body:
            if name not in _occurrences(small):
                continue
            if isinstance(small, cst.Assign) and name not in _occurrences(small.value):
                return all(_binds(t.target, name) or name not in _occurrences(t.target) for t in small.targets)
            return False
    return False


def _binds(target: cst.CSTNode, name: str) -> bool:
    """Whether a target binds the bare name, and mentions it in no other way."""
    if isinstance(target, cst.Name):
        return target.value == name
    if isinstance(target, cst.Tuple | cst.List):
        return all(_binds(e.value, name) or name not in _occurrences(e.value) for e in target.elements)
    return False


def scope_of(cx: Context, name: str) -> int | None:
    """Heap id of the scope that holds a name, seen from the current function; None for globals."""
    frame = cx.frame
    if name in frame.local_names and name not in frame.nonlocals:
        return frame.scope
    scope = cx.state.heap[frame.scope].parent
    while scope is not None:
        obj = cx.state.heap[scope]
        if name in obj.names:
            return int(scope)
        scope = obj.parent
    return None


def lookup(cx: Context, name: str) -> AbsVal:
    """The value of a name; refuses or raises as Python would where there is none."""
    scope = scope_of(cx, name)
    if scope is not None:
        value = cx.state.heap[scope].names.get(name, UNBOUND)
        if isinstance(value, Unbound):
            cx.raise_(
                UnboundLocalError, f"cannot access local variable '{name}' where it is not associated with a value"
            )
        return use(cx, value)
    if name in cx.frame.globals:
        return Static(cx.frame.globals[name])
    if hasattr(builtins, name):
        return Static(getattr(builtins, name))
    cx.raise_(NameError, f"name '{name}' is not defined")


def use(cx: Context, value: AbsVal) -> AbsVal:
    """A value as it is read: joins that failed are reported here, optionals are narrowed."""
    if isinstance(value, Poison):
        if value.reported:
            raise Refused([])
        if value.loop is not None and value.loop not in cx.facts.unrolled:
            cx.facts.unrolled.add(value.loop)
            raise Restart
        if value.needed is not None and value.needed not in cx.facts.needed:
            cx.facts.needed.add(value.needed)
            raise Restart
        from torch2cpp.binding.kept import learn

        learn(cx, value)
        cx.refuse("T2C101", value.reason, "give it one type (dtype and rank) on every path", notes=value.notes)
    if isinstance(value, Choice):
        return _chosen(cx, value)
    if isinstance(value, Rt):
        return expand(cx, value)
    return value


def _chosen(cx: Context, value: Choice) -> AbsVal:
    """The option that is known to be there, or the choice itself. A static loop is unrolled instead."""
    if value.loop is not None and value.loop not in cx.facts.unrolled:
        cx.facts.unrolled.add(value.loop)
        raise Restart
    from torch2cpp.binding.choices import option_value
    from torch2cpp.binding.optional import possible

    left = possible(cx.state, value)
    return option_value(cx, value, left[0]) if len(left) == 1 else value


def expand(cx: Context, value: Rt) -> AbsVal:
    """Takes a run-time tuple apart; narrows an optional that is known not to be None here."""
    if isinstance(value.type, OptionalType):
        known = cx.state.narrowed.get(value.operand)
        if known is not None:
            return known
        if value.unbound:
            return _bound_or_raise(cx, value)
        return value
    if isinstance(value.type, TupleType | RecordType | NoneType):
        return from_operand(cx, value.operand, value.type, value.example)
    return value


def _bound_or_raise(cx: Context, value: Rt) -> AbsVal:
    name = value.unbound
    message = f"cannot access local variable '{name}' where it is not associated with a value"
    missing = cx.host("optional.is_none", value.operand, label="unassigned")
    raising = Block(ops=[Raise("UnboundLocalError", ("UnboundLocalError", "NameError", "Exception"), message, cx.span)])
    cx.emit(If((), missing, raising, Block(ops=[Yield((), cx.span)]), cx.span))
    assert isinstance(value.type, OptionalType)
    inner = from_operand(
        cx, cx.host("optional.get", value.operand, type_=value.type.elem, label=name), value.type.elem, value.example
    )
    cx.state.narrowed[value.operand] = inner
    return inner


def assign(cx: Context, name: str, value: AbsVal) -> None:
    """Binds a name in the scope it belongs to."""
    scope = scope_of(cx, name)
    if scope is None:
        cx.refuse(
            "T2C130",
            f"the global variable {name!r} is assigned at run time",
            "keep what changes between calls in an attribute of the model",
        )
    if scope in cx.closures:
        cx.refuse(
            "T2C130",
            f"the variable {name!r} of the function around is assigned at run time",
            "keep what changes between calls in an attribute of the model",
        )
    set_name(cx, scope, name, value)


def set_name(cx: Context, scope: int, name: str, value: AbsVal) -> None:
    """Binds a name in one scope."""
    obj = cx.state.heap[scope]
    if isinstance(value, Unbound):
        names = {n: v for n, v in obj.names.items() if n != name}
    else:
        names = {**obj.names, name: value}
        _rename(cx, value, name)
    cx.write(scope, ScopeObj(names, obj.parent), name)


def _rename(cx: Context, value: AbsVal, name: str) -> None:
    """Lets the emitted C++ variable carry the Python name it is bound to first."""
    if isinstance(value, Ref):
        held = cx.state.heap.get(value.id)
        value = held.value if isinstance(held, RtObj) else value
    if isinstance(value, Ref):
        obj = cx.state.heap.get(value.id)
        value = obj.value if isinstance(obj, RtObj) else value
    operand = getattr(value, "operand", None)
    if isinstance(operand, Value) and operand.id not in cx.named:
        cx.named.add(operand.id)
        operand.name = name


def holder(cx: Context, ref: Ref) -> AbsVal:
    """The heap object of a reference, a run-time one as its value."""
    obj = cx.state.heap[ref.id]
    return obj.value if isinstance(obj, RtObj) else obj
