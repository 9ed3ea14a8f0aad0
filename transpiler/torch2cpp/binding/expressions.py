"""Expressions."""

from __future__ import annotations

import ast
import enum
import functools
from collections.abc import Callable
from typing import Any

import libcst as cst

from torch2cpp.binding import operators, partial_dicts
from torch2cpp.binding.choices import distributes
from torch2cpp.binding.context import Context
from torch2cpp.binding.control import branch
from torch2cpp.binding.convert import describe, resolve
from torch2cpp.binding.identity import are_two_objects
from torch2cpp.binding.optional import Fact, held, is_none, narrow, refinements
from torch2cpp.binding.values import (
    WORLDS,
    AbsVal,
    DictObj,
    Func,
    Host,
    Rt,
    SliceVal,
    StarRest,
    Static,
    Tensor,
    Tup,
)
from torch2cpp.binding.variables import assign, lookup, set_name, use
from torch2cpp.hostir.types import BOOL, OptionalType

Handler = Callable[[Context, Any], AbsVal]
_HANDLERS: dict[type, Handler] = {}


def handles(*kinds: type) -> Callable[[Handler], Handler]:
    """Registers the function that evaluates nodes of these kinds."""

    def register(f: Handler) -> Handler:
        for kind in kinds:
            _HANDLERS[kind] = f
        return f

    return register


def evaluate(cx: Context, node: cst.BaseExpression) -> AbsVal:
    """The abstract value of an expression; emits what it takes to compute it."""
    handler = _HANDLERS.get(type(node))
    saved = cx.enter(node)
    try:
        if handler is None:
            cx.refuse("T2C201", f"{type(node).__name__} expressions are not supported", "rewrite the expression")
        return handler(cx, node)
    finally:
        cx.span, cx.inner = saved


# Literals and names ------------------------------------------------------------------------------


@handles(cst.Name)
def _name(cx: Context, node: cst.Name) -> AbsVal:
    return lookup(cx, node.value)


@handles(cst.Integer, cst.Float, cst.Imaginary)
def _number(cx: Context, node: Any) -> AbsVal:
    return Static(ast.literal_eval(node.value))


@handles(cst.SimpleString)
def _string(cx: Context, node: cst.SimpleString) -> AbsVal:
    return Static(node.evaluated_value)


@handles(cst.ConcatenatedString)
def _concatenated(cx: Context, node: cst.ConcatenatedString) -> AbsVal:
    return operators.binary(cx, "+", evaluate(cx, node.left), evaluate(cx, node.right))


@handles(cst.FormattedString)
def _fstring(cx: Context, node: cst.FormattedString) -> AbsVal:
    from torch2cpp.binding.strings import formatted_string

    return formatted_string(cx, node)


@handles(cst.Ellipsis)
def _ellipsis(cx: Context, node: cst.Ellipsis) -> AbsVal:
    return Static(Ellipsis)


@handles(cst.Tuple)
def _tuple(cx: Context, node: cst.Tuple) -> AbsVal:
    from torch2cpp.binding.builtin_conversions import _tuple as tuple_of
    from torch2cpp.binding.containers import concat_parts

    if any(isinstance(e, cst.StarredElement) for e in node.elements):
        return tuple_of(cx, [concat_parts(cx, _star_parts(cx, node.elements), (cx.site(node), "parts"))], {})
    elems = [evaluate(cx, e.value) for e in node.elements]
    if all(isinstance(e, Static) for e in elems):
        return Static(tuple(e.value for e in elems))
    return Tup(tuple(elems))


@handles(cst.List)
def _list(cx: Context, node: cst.List) -> AbsVal:
    from torch2cpp.binding.containers import concat_parts, new_list

    if any(isinstance(e, cst.StarredElement) for e in node.elements):
        return concat_parts(cx, _star_parts(cx, node.elements), cx.site(node))
    return new_list(cx, [evaluate(cx, e.value) for e in node.elements], cx.site(node))


@handles(cst.Set)
def _set(cx: Context, node: cst.Set) -> AbsVal:
    from torch2cpp.binding.containers import new_set
    from torch2cpp.binding.literal_sets import make_set

    elems = [evaluate(cx, e.value) for e in node.elements]
    if all(isinstance(e, Static) for e in elems):
        # Python keeps three constants and more in a frozenset, of which the display is a copy.
        members = [e.value for e in elems]
        folded = len(elems) > 2 and all(_is_literal(e.value) for e in node.elements)
        return make_set(cx, members, cx.site(node), folded)
    return new_set(cx, elems, cx.site(node))


def _is_literal(node: cst.BaseExpression) -> bool:
    """Whether an expression is a constant to Python's compiler."""
    if isinstance(node, cst.Tuple):
        return all(_is_literal(e.value) for e in node.elements)
    if isinstance(node, cst.UnaryOperation):
        return _is_literal(node.expression)
    return isinstance(node, cst.BaseNumber | cst.SimpleString | cst.ConcatenatedString)


@handles(cst.Dict)
def _dict(cx: Context, node: cst.Dict) -> AbsVal:
    from torch2cpp.binding.containers import new_dict
    from torch2cpp.binding.item_writes import dict_update

    ref = new_dict(cx, [], cx.site(node))
    from torch2cpp.binding.item_writes import set_item

    for e in node.elements:
        if isinstance(e, cst.StarredDictElement):
            dict_update(cx, ref, evaluate(cx, e.value))
        else:
            assert isinstance(e, cst.DictElement)
            set_item(cx, ref, evaluate(cx, e.key), evaluate(cx, e.value))
    return ref


def _star_parts(cx: Context, nodes: Any) -> list[tuple[bool, AbsVal]]:
    return [(isinstance(e, cst.StarredElement), evaluate(cx, e.value)) for e in nodes]


# Operators ---------------------------------------------------------------------------------------

_SIGNS = {
    cst.Add: "+", cst.Subtract: "-", cst.Multiply: "*", cst.Divide: "/", cst.FloorDivide: "//", cst.Modulo: "%",
    cst.Power: "**", cst.MatrixMultiply: "@", cst.BitAnd: "&", cst.BitOr: "|", cst.BitXor: "^",
    cst.LeftShift: "<<", cst.RightShift: ">>",
}  # fmt: skip
_COMPARE = {
    cst.LessThan: "<", cst.LessThanEqual: "<=", cst.GreaterThan: ">", cst.GreaterThanEqual: ">=",
    cst.Equal: "==", cst.NotEqual: "!=",
}  # fmt: skip


@handles(cst.BinaryOperation)
def _binary(cx: Context, node: cst.BinaryOperation) -> AbsVal:
    left = evaluate(cx, node.left)
    return operators.binary(cx, _SIGNS[type(node.operator)], left, evaluate(cx, node.right))


@handles(cst.UnaryOperation)
def _unary(cx: Context, node: cst.UnaryOperation) -> AbsVal:
    if isinstance(node.operator, cst.Not):
        inner = node.expression
        v = condition(cx, inner) if isinstance(inner, cst.BooleanOperation) else evaluate(cx, inner)
        out = operators.logical_not(cx, v)
        if isinstance(out, Host) and isinstance(v, Host):
            true, false = refinements(cx, v)
            cx.knows[out.operand.id] = (tuple(false), tuple(true))
        return out
    sign = {cst.Minus: "-", cst.Plus: "+", cst.BitInvert: "~"}[type(node.operator)]
    return operators.unary(cx, sign, evaluate(cx, node.expression))


@handles(cst.BooleanOperation)
def _boolean(cx: Context, node: cst.BooleanOperation) -> AbsVal:
    """`and`/`or` short-circuit and give one of their operands."""
    return _both_or_either(cx, node, evaluate, lambda left, is_and: _as_bool_if_bool(use(cx, left), is_and))


def _both_or_either(
    cx: Context,
    node: cst.BooleanOperation,
    side: Callable[[Context, cst.BaseExpression], AbsVal],
    kept: Callable[[AbsVal, bool], AbsVal],
) -> AbsVal:
    """`side` evaluates an operand; `kept` is what comes out where the left one decides."""
    is_and = isinstance(node.operator, cst.And)
    left = side(cx, node.left)
    cond = operators.truth(cx, left)
    if isinstance(cond, Static):
        return side(cx, node.right) if bool(cond.value) == is_and else left
    true, false = refinements(cx, cond)

    def keep() -> AbsVal:
        narrow(cx.state, cx, false if is_and else true)
        return kept(left, is_and)

    def go_on() -> AbsVal:
        narrow(cx.state, cx, true if is_and else false)
        return side(cx, node.right)

    right_knows: list[tuple[list[Fact], list[Fact]]] = []
    right_hints: list[tuple[bool, ...] | None] = []
    since = cx.next_id()

    def go_on_and_note() -> AbsVal:
        v = go_on()
        right_hints.append(_truth_hints(v))
        if isinstance(v, Host):
            right_knows.append(refinements(cx, v))
        return v

    then, orelse = (go_on_and_note, keep) if is_and else (keep, go_on_and_note)
    out = branch(cx, cond.operand, then, orelse, "both" if is_and else "either", cx.span)
    if isinstance(out, Host) and right_knows:
        # Optionals that the right side made itself are out of reach afterwards.
        rt, rf = ([o for o in side if o.operand.id < since] for side in right_knows[0])
        cx.knows[out.operand.id] = ((*true, *rt), ()) if is_and else ((), (*false, *rf))
    left_hints = _truth_hints(cond)
    if isinstance(out, Host) and out.type == BOOL and right_hints and left_hints:
        if all(h != is_and for h in left_hints):
            operators.note_hints(cx, out, left_hints)
        elif right_hints[0] is not None:
            both = zip(left_hints, right_hints[0])
            operators.note_hints(cx, out, tuple(x and y if is_and else x or y for x, y in both))
    return out


def _truth_hints(v: AbsVal) -> tuple[bool, ...] | None:
    """Whether the value is true in each of the sample worlds, where that is known."""
    if isinstance(v, Host):
        return tuple(bool(h) for h in v.hints) if v.hints else None
    known = isinstance(v, Static) and (v.value is None or isinstance(v.value, bool | int | float | str))
    return (bool(v.value),) * WORLDS if known else None


def _as_bool_if_bool(left: AbsVal, is_and: bool) -> AbsVal:
    # what `and` gives back when its left side is a false bool is just False
    if isinstance(left, Host) and left.type.kind == "bool":
        return Static(not is_and)
    return left


@handles(cst.Comparison)
def _comparison(cx: Context, node: cst.Comparison) -> AbsVal:
    """Chained comparisons evaluate each operand once and stop at the first false one."""
    return _chain(cx, evaluate(cx, node.left), list(node.comparisons))


def _chain(cx: Context, left: AbsVal, rest: list[cst.ComparisonTarget]) -> AbsVal:
    right = evaluate(cx, rest[0].comparator)
    result = compare_once(cx, rest[0].operator, left, right)
    if len(rest) == 1:
        return result
    cond = operators.truth(cx, result)
    if isinstance(cond, Static):
        return _chain(cx, right, rest[1:]) if cond.value else result
    return branch(
        cx, cond.operand, lambda: _chain(cx, right, rest[1:]), lambda: _as_bool_if_bool(result, True), "both", cx.span
    )


def compare_once(cx: Context, op: cst.BaseCompOp, a: AbsVal, b: AbsVal) -> AbsVal:
    """One comparison operator."""
    from torch2cpp.binding.container_operators import contains

    match op:
        case cst.Is():
            return identical(cx, a, b)
        case cst.IsNot():
            out = identical(cx, a, b)
            negated = operators.logical_not(cx, out)
            if isinstance(negated, Host) and isinstance(out, Host):
                true, false = refinements(cx, out)
                cx.knows[negated.operand.id] = (tuple(false), tuple(true))
            return negated
        case cst.In():
            return contains(cx, b, a)
        case cst.NotIn():
            return operators.logical_not(cx, contains(cx, b, a))
    return operators.compare(cx, _COMPARE[type(op)], a, b)


@distributes
def identical(cx: Context, a: AbsVal, b: AbsVal) -> AbsVal:
    """`a is b`"""
    from torch2cpp.binding.exceptions import ExcClass

    for v, other in ((a, b), (b, a)):
        if isinstance(other, Static) and other.value is None:
            return is_none(cx, v)
    if isinstance(a, Static) and isinstance(b, Static):
        return Static(a.value is b.value)
    held_one = _held_identical(cx, a, b)
    if held_one is not None:
        return held_one
    if isinstance(a, Tensor) and isinstance(b, Tensor):
        if a.operand == b.operand:
            return Static(True)
        if are_two_objects(cx, a, b):
            return Static(False)
        return cx.scalar("tensor.is_same", a.operand, b.operand)
    if any(isinstance(v, Static) and isinstance(v.value, enum.Enum) for v in (a, b)) and (
        {_kind(v) for v in (a, b) if isinstance(v, Host)} & {"int", "str"}
    ):
        cx.refuse("T2C153", "a run-time number or string `is` a member of an enum", "compare with ==")
    if (
        (isinstance(a, Host) and isinstance(b, Host))
        or (isinstance(a, Static) and isinstance(b, Host))
        or (isinstance(b, Static) and isinstance(a, Host))
    ):
        if "int" in (_kind(a), _kind(b)) and any(isinstance(getattr(v, "value", None), enum.IntEnum) for v in (a, b)):
            what = "a run-time int, which may have been a member of an IntEnum, is compared by 'is'"
            cx.refuse("T2C175", what, "compare with ==, or keep members of a plain Enum")
        if {_kind(a), _kind(b)} == {"bool"}:
            return operators.compare(cx, "==", a, b)
        return Static(False) if _kind(a) != _kind(b) else operators.compare(cx, "==", a, b)
    x, y = resolve(cx, a), resolve(cx, b)
    for v, other in ((x, y), (y, x)):
        if isinstance(v, ExcClass) and isinstance(other, Static) and isinstance(other.value, type):
            return cx.scalar("eq", v.name.operand, other.value.__name__)
    if isinstance(x, Rt) and isinstance(y, Rt):
        return cx.scalar("same", x.operand, y.operand)
    return Static(a is b or x is y or (a == b if type(a) is type(b) and a.__class__.__name__ == "Ref" else False))


def _held_identical(cx: Context, a: AbsVal, b: AbsVal) -> AbsVal | None:
    """`a is b` where one may be None and the other is none such; None for other values."""
    for v, other in ((resolve(cx, a), b), (resolve(cx, b), a)):
        if not isinstance(v, Rt) or not isinstance(v.type, OptionalType) or isinstance(resolve(cx, other), Rt):
            continue
        missing = is_none(cx, v)
        if isinstance(missing, Static):
            return Static(False) if missing.value else identical(cx, held(cx, v), other)
        same = functools.partial(lambda v, other: identical(cx, held(cx, v), other), v, other)
        return branch(cx, missing.operand, lambda: Static(False), same, "same", cx.span)
    return None


def _kind(v: AbsVal) -> str:
    return v.type.kind if isinstance(v, Host) else type(v.value).__name__


# Conditional, walrus, lambda ---------------------------------------------------------------------


def condition(cx: Context, node: cst.BaseExpression) -> Static | Host:
    """A test, as a static or host bool; what it knows of optionals stays attached."""
    value: AbsVal
    if isinstance(node, cst.BooleanOperation):
        saved = cx.enter(node)
        try:
            # Of the operands only the truth is asked for, once.
            value = _both_or_either(cx, node, condition, lambda _, is_and: Static(not is_and))
        finally:
            cx.span, cx.inner = saved
    else:
        value = evaluate(cx, node)
    cond: Static | Host = operators.truth(cx, value)
    return cond


@handles(cst.IfExp)
def _conditional(cx: Context, node: cst.IfExp) -> AbsVal:
    cond = condition(cx, node.test)
    if isinstance(cond, Static):
        return evaluate(cx, node.body if cond.value else node.orelse)
    true, false = refinements(cx, cond)

    def then() -> AbsVal:
        narrow(cx.state, cx, true)
        return evaluate(cx, node.body)

    def orelse() -> AbsVal:
        narrow(cx.state, cx, false)
        return evaluate(cx, node.orelse)

    return use(cx, branch(cx, cond.operand, then, orelse, "choice", cx.span))


@handles(cst.NamedExpr)
def _walrus(cx: Context, node: cst.NamedExpr) -> AbsVal:
    value = evaluate(cx, node.value)
    assert isinstance(node.target, cst.Name)
    # In a comprehension the name belongs to the function around.
    around = next((f for f in reversed(cx.frames) if not f.comprehension), cx.frame)
    name = node.target.value
    if around is not cx.frame and name in around.local_names and name not in around.nonlocals:
        set_name(cx, around.scope, name, value)
    else:
        assign(cx, name, value)
    return value


@handles(cst.Lambda)
def _lambda(cx: Context, node: cst.Lambda) -> AbsVal:
    return make_function(cx, node, "<lambda>")


def make_function(cx: Context, node: cst.FunctionDef | cst.Lambda, name: str) -> Func:
    """A closure over the current scope; defaults are evaluated now."""
    defaults: dict[str, Any] = {}
    p = node.params
    for param in (*p.posonly_params, *p.params, *p.kwonly_params):
        if param.default is not None:
            defaults[param.name.value] = evaluate(cx, param.default)
    around = next((f for f in reversed(cx.frames) if not f.comprehension), cx.frame)
    return Func(node, cx.frame.source, f"{around.name}.<locals>.{name}", cx.frame.scope, cx.frame.globals, defaults)


# Attributes, subscripts, calls -------------------------------------------------------------------


@handles(cst.Attribute)
def _attribute(cx: Context, node: cst.Attribute) -> AbsVal:
    from torch2cpp.binding.attributes import get_attribute

    obj = evaluate(cx, node.value)
    return use(cx, get_attribute(cx, obj, node.attr.value))


@handles(cst.Subscript)
def _subscript(cx: Context, node: cst.Subscript) -> AbsVal:
    from torch2cpp.binding.items import get_item

    obj = evaluate(cx, node.value)
    return use(cx, get_item(cx, obj, subscript_index(cx, node)))


def subscript_index(cx: Context, node: cst.Subscript) -> AbsVal:
    """The index of a subscript: one value, or a tuple of several."""
    parts = [_index_part(cx, e.slice) for e in node.slice]
    last = node.slice[-1]
    if len(parts) == 1 and isinstance(last.comma, cst.MaybeSentinel):
        return parts[0]
    if all(isinstance(p, Static) for p in parts):
        return Static(tuple(p.value for p in parts))
    return Tup(tuple(parts))


def _index_part(cx: Context, part: Any) -> AbsVal:
    if isinstance(part, cst.Index):
        return evaluate(cx, part.value)
    bounds = [Static(None) if b is None else evaluate(cx, b) for b in (part.lower, part.upper, part.step)]
    return make_slice(bounds)


def make_slice(bounds: list[AbsVal]) -> AbsVal:
    """`slice(start, stop, step)`"""
    if all(isinstance(b, Static) for b in bounds):
        return Static(slice(*(b.value for b in bounds)))
    return SliceVal(*bounds)


@handles(cst.Call)
def _call(cx: Context, node: cst.Call) -> AbsVal:
    from torch2cpp.binding.calls import zero_argument_super
    from torch2cpp.binding.iteration import known_items

    if isinstance(node.func, cst.Name) and node.func.value == "super" and not node.args:
        return zero_argument_super(cx)
    callee = evaluate(cx, node.func)
    args: list[AbsVal] = []
    named: list[tuple[str | None, AbsVal]] = []
    for arg in node.args:
        v = evaluate(cx, arg.value)
        if arg.star == "*":
            items = known_items(cx, v)
            if items is None:
                items = [StarRest(v)]
            args += items
        elif arg.star == "**":
            named.append((None, v))
        elif arg.keyword is not None:
            named.append((arg.keyword.value, v))
        else:
            args.append(v)
    spread = [v for k, v in named if k is None]
    return use(cx, partial_dicts.all_settled(cx, spread, lambda: _call_named(cx, callee, args, named)))


def _call_named(cx: Context, callee: AbsVal, args: list[AbsVal], named: list[tuple[str | None, AbsVal]]) -> AbsVal:
    """A call with arguments by name; those of None are dicts that were given as `**d`."""
    from torch2cpp.binding.calls import call

    kwargs: dict[str, AbsVal] = {}
    for name, v in named:
        more = {name: v} if name is not None else _named_by_dict(cx, v)
        twice = next((k for k in more if k in kwargs), None)
        if twice is not None:
            cx.refuse("T2C203", f"the argument {twice!r} is given by name and by **", "give it once")
        kwargs |= more
    return call(cx, callee, args, kwargs)


def _named_by_dict(cx: Context, v: AbsVal) -> dict[str, AbsVal]:
    """The arguments of `f(**v)`."""
    from torch2cpp.binding import struct_dicts

    obj = resolve(cx, v)
    if isinstance(obj, Static) and isinstance(obj.value, dict):
        return {k: Static(x) for k, x in obj.value.items()}
    if isinstance(obj, DictObj):
        return dict(obj.items)
    if isinstance(obj, Rt) and struct_dicts.is_dict(cx, obj):
        return {k: struct_dicts.get_item(cx, obj, Static(k)) for k in struct_dicts.keys(cx, obj)}
    cx.refuse("T2C203", f"** of {describe(cx, v)}", "pass the arguments by name")


@handles(cst.ListComp, cst.SetComp, cst.GeneratorExp, cst.DictComp)
def _comprehension(cx: Context, node: Any) -> AbsVal:
    from torch2cpp.binding.comprehensions import comprehension

    return comprehension(cx, node)


@handles(cst.StarredElement)
def _starred(cx: Context, node: cst.StarredElement) -> AbsVal:
    cx.refuse("T2C204", "a starred expression here", "unpack into names first")


@handles(cst.Yield)
def _yield(cx: Context, node: cst.Yield) -> AbsVal:
    from torch2cpp.binding.generators import run_yield

    return run_yield(cx, node)


@handles(cst.Await)
def _async(cx: Context, node: cst.Await) -> AbsVal:
    cx.refuse("T2C205", "await in deployed code", "write a plain function")
