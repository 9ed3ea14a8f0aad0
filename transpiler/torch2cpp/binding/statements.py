"""Statements."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import libcst as cst
import torch

from torch2cpp.binding import operators, partial_dicts
from torch2cpp.binding.aten import NoOverload, call_aten
from torch2cpp.binding.attributes import delete_attribute, get_attribute, set_attribute
from torch2cpp.binding.choices import distribute, distributes
from torch2cpp.binding.container_operators import inplace_binary
from torch2cpp.binding.context import Context, Terminated
from torch2cpp.binding.control import branch
from torch2cpp.binding.convert import NoType, resolve, type_of
from torch2cpp.binding.expressions import condition, evaluate, make_function, subscript_index
from torch2cpp.binding.item_writes import delete_item, set_item
from torch2cpp.binding.items import get_item
from torch2cpp.binding.optional import narrow, refinements
from torch2cpp.binding.unpacking import unpack
from torch2cpp.binding.values import NONE, UNBOUND, AbsVal, Choice, Poison, Static, Tensor, Tup
from torch2cpp.binding.variables import assign, lookup, scope_of, set_name, stored_in
from torch2cpp.diagnostics import Refused

Handler = Callable[[Context, Any], None]
_HANDLERS: dict[type, Handler] = {}


def handles(*kinds: type) -> Callable[[Handler], Handler]:
    """Registers the function that runs statements of these kinds."""

    def register(f: Handler) -> Handler:
        for kind in kinds:
            _HANDLERS[kind] = f
        return f

    return register


def run_body(cx: Context, body: cst.BaseSuite) -> None:
    """Runs the statements of a suite. Raises Terminated when the path ends in it."""
    for statement in body.body:
        run(cx, statement)


def run(cx: Context, node: cst.CSTNode) -> None:
    """Runs one statement."""
    handler = _HANDLERS.get(type(node))
    saved = cx.enter(node)
    try:
        if handler is None:
            cx.refuse(
                "T2C210", f"{type(node).__name__} statements are not supported", "move it out of the deployed code"
            )
        _handle(cx, handler, node)
    except Refused as refused:
        _go_on(cx, node, refused)
    finally:
        cx.span, cx.inner = saved


def _handle(cx: Context, handler: Handler, node: cst.CSTNode) -> None:
    """What no expression of the statement could make sense of is refused at its line."""
    try:
        handler(cx, node)
    except NoOverload as error:
        cx.refuse("T2C151", f"no operator fits {error}", "check the arguments' types")
    except NoType as error:
        cx.refuse("T2C113", f"{error} would have to exist at run time", "keep modules and functions static")


def _go_on(cx: Context, node: cst.CSTNode, refused: Refused) -> None:
    """Notes what was refused and goes on with the next statement, so that all problems are reported together.

    What the statement would have assigned is unknown from here on; using it is no new problem.
    """
    if cx.strict or cx.in_library():
        raise refused
    cx.problems += refused.diagnostics
    if isinstance(node, cst.Return | cst.Raise | cst.Break | cst.Continue):
        raise Terminated
    for name in stored_in(node):
        scope = scope_of(cx, name)
        if scope is not None:
            set_name(cx, scope, name, Poison("refused", reported=True))


@handles(cst.SimpleStatementLine, cst.SimpleStatementSuite)
def _line(cx: Context, node: Any) -> None:
    for small in node.body:
        run(cx, small)


@handles(cst.Expr)
def _expr(cx: Context, node: cst.Expr) -> None:
    if isinstance(node.value, cst.SimpleString | cst.ConcatenatedString):
        return  # a docstring
    evaluate(cx, node.value)


@handles(cst.Pass, cst.Import, cst.ImportFrom)
def _pass(cx: Context, node: Any) -> None:
    if isinstance(node, cst.Pass):
        return
    code = cst.Module(body=[]).code_for_node(node)
    namespace: dict[str, Any] = {"__name__": cx.frame.globals.get("__name__"),
                                 "__package__": cx.frame.globals.get("__package__")}  # fmt: skip
    before = set(namespace)
    exec(code, namespace)  # an import in the body of the user's function
    for name, value in namespace.items():
        if name not in before and name != "__builtins__":
            assign(cx, name, Static(value))


@handles(cst.Assign)
def _assign(cx: Context, node: cst.Assign) -> None:
    value = evaluate(cx, node.value)
    for target in node.targets:
        store(cx, target.target, value)


@handles(cst.AnnAssign)
def _ann_assign(cx: Context, node: cst.AnnAssign) -> None:
    if node.value is not None:
        store(cx, node.target, evaluate(cx, node.value))


def store(cx: Context, target: cst.CSTNode, value: AbsVal) -> None:
    """Assigns to a target: a name, attribute, subscript, or a pattern of these."""
    match target:
        case cst.Name():
            assign(cx, target.value, value)
        case cst.Attribute():
            set_attribute(cx, evaluate(cx, target.value), target.attr.value, value)
        case cst.Subscript():
            set_item(cx, evaluate(cx, target.value), subscript_index(cx, target), value)
        case cst.Tuple() | cst.List():
            _unpack_into(cx, target.elements, value)
        case _:
            cx.refuse("T2C211", f"assignment to {type(target).__name__}", "assign to a name first")


def _unpack_into(cx: Context, targets: Sequence[Any], value: AbsVal) -> None:
    star = next((i for i, t in enumerate(targets) if isinstance(t, cst.StarredElement)), None)
    values = unpack(cx, value, len(targets), star)
    for t, v in zip(targets, values):
        store(cx, t.value, v)


@handles(cst.AugAssign)
def _aug_assign(cx: Context, node: cst.AugAssign) -> None:
    sign = cst.Module(body=[]).code_for_node(node.operator).strip().removesuffix("=")
    match node.target:
        case cst.Name():
            old = lookup(cx, node.target.value)
            assign(cx, node.target.value, _augment(cx, sign, old, evaluate(cx, node.value)))
        case cst.Attribute():
            obj = evaluate(cx, node.target.value)
            name = node.target.attr.value
            old = get_attribute(cx, obj, name)
            new = _augment(cx, sign, old, evaluate(cx, node.value))
            if not (isinstance(old, Tensor) and new is old):
                set_attribute(cx, obj, name, new)
        case cst.Subscript():
            obj = evaluate(cx, node.target.value)
            index = subscript_index(cx, node.target)
            old = get_item(cx, obj, index)
            new = _augment(cx, sign, old, evaluate(cx, node.value))
            if isinstance(old, Tensor) and new is old and _is_view(cx, obj, index):
                return  # the view was written in place
            set_item(cx, obj, index, new)
        case _:
            cx.refuse("T2C211", "this target of an augmented assignment", "assign to a name first")


def _is_view(cx: Context, obj: AbsVal, index: AbsVal) -> bool:
    from torch2cpp.binding.indexing import is_basic

    return operators.tensor_of(cx, resolve(cx, obj)) is not None and is_basic(cx, index)


_INPLACE = {
    "+": "add_", "-": "sub_", "*": "mul_", "/": "div_", "//": "floor_divide_", "%": "remainder_", "**": "pow_",
    "&": "bitwise_and_", "|": "bitwise_or_", "^": "bitwise_xor_", "<<": "bitwise_left_shift_",
    ">>": "bitwise_right_shift_",
}  # fmt: skip


@distributes
def _augment(cx: Context, sign: str, old: AbsVal, value: AbsVal) -> AbsVal:
    """`old <sign>= value`: in place for tensors and lists, a new value otherwise."""
    t = operators.tensor_of(cx, old)
    if t is not None and sign in _INPLACE:
        other = operators.tensor_of(cx, value) or value
        return call_aten(cx, _INPLACE[sign], [t, other])
    done = inplace_binary(cx, sign, old, value)
    if done is None:
        done = operators.own_inplace(cx, sign, old, value)
    return done if done is not None else operators.binary(cx, sign, old, value)


@handles(cst.Del)
def _del(cx: Context, node: cst.Del) -> None:
    targets = [e.value for e in node.target.elements] if isinstance(node.target, cst.Tuple) else [node.target]
    for t in targets:
        match t:
            case cst.Name():
                scope = scope_of(cx, t.value)
                if scope is not None:
                    set_name(cx, scope, t.value, UNBOUND)
            case cst.Subscript():
                delete_item(cx, evaluate(cx, t.value), subscript_index(cx, t))
            case cst.Attribute():
                delete_attribute(cx, evaluate(cx, t.value), t.attr.value)
            case _:
                cx.refuse("T2C211", "del of this target", "delete names, items or attributes one by one")


@handles(cst.FunctionDef)
def _function_def(cx: Context, node: cst.FunctionDef) -> None:
    f: AbsVal = make_function(cx, node, node.name.value)
    for decorator in reversed(node.decorators):
        d = evaluate(cx, decorator.decorator)
        if not _harmless_decorator(d):
            from torch2cpp.binding.calls import call

            f = call(cx, d, [f], {})
    assign(cx, node.name.value, f)


def _harmless_decorator(d: AbsVal) -> bool:
    return isinstance(d, Static) and (
        isinstance(d.value, torch.autograd.grad_mode.no_grad | torch.autograd.grad_mode.inference_mode)
        or d.value in (torch.no_grad, torch.inference_mode)
    )


@handles(cst.Return)
def _return(cx: Context, node: cst.Return) -> None:
    value = NONE if node.value is None else evaluate(cx, node.value)
    if isinstance(value, Choice):
        distribute(cx, value, lambda v: cx.leave(cx.frame.returns, v))
    parts = value.elems if isinstance(value, Tup) else (value,)
    unclear = [v for v in parts if partial_dicts.is_partial(cx, v) and not _has_type(cx, v)]
    if unclear and len(cx.frames) == 1:  # the caller gets one struct or another
        partial_dicts.all_settled(cx, unclear, lambda: cx.leave(cx.frame.returns, value))
    cx.leave(cx.frame.returns, value)


def _has_type(cx: Context, v: AbsVal) -> bool:
    try:
        type_of(cx, v)
    except NoType:
        return False
    return True


@handles(cst.Break)
def _break(cx: Context, node: cst.Break) -> None:
    cx.leave(cx.frame.loops[-1][0], NONE)


@handles(cst.Continue)
def _continue(cx: Context, node: cst.Continue) -> None:
    cx.leave(cx.frame.loops[-1][1], NONE)


@handles(cst.If)
def _if(cx: Context, node: cst.If) -> None:
    cond = condition(cx, node.test)
    if isinstance(cond, Static):
        cx.mark("static")
        if cond.value:
            run_body(cx, node.body)
        elif node.orelse is not None:
            run(cx, node.orelse)
        return
    true, false = refinements(cx, cond)

    def then() -> AbsVal:
        narrow(cx.state, cx, true)
        run_body(cx, node.body)
        return NONE

    def orelse() -> AbsVal:
        narrow(cx.state, cx, false)
        if node.orelse is not None:
            run(cx, node.orelse)
        return NONE

    branch(cx, cond.operand, then, orelse, "if", cx.frame.source.place(node.test, cx.span))


@handles(cst.Else)
def _else(cx: Context, node: cst.Else) -> None:
    run_body(cx, node.body)


@handles(cst.IndentedBlock)
def _block(cx: Context, node: cst.IndentedBlock) -> None:
    run_body(cx, node)


@handles(cst.For)
def _for(cx: Context, node: cst.For) -> None:
    from torch2cpp.binding.for_loops import run_for

    run_for(cx, node)


@handles(cst.While)
def _while(cx: Context, node: cst.While) -> None:
    from torch2cpp.binding.while_loops import run_while

    run_while(cx, node)


@handles(cst.Assert)
def _assert(cx: Context, node: cst.Assert) -> None:
    cond = condition(cx, node.test)

    def fail() -> AbsVal:
        from torch2cpp.binding.strings import to_str

        message: Any = ""
        if node.msg is not None:
            m = to_str(cx, evaluate(cx, node.msg))
            message = m.value if isinstance(m, Static) else m.operand
        cx.raise_(AssertionError, message)

    if isinstance(cond, Static):
        if not cond.value:
            fail()
        return
    true, _ = refinements(cx, cond)
    branch(cx, cond.operand, lambda: narrow(cx.state, cx, true), fail, "assert", cx.span)


@handles(cst.Raise)
def _raise(cx: Context, node: cst.Raise) -> None:
    from torch2cpp.binding.exceptions import raise_value, reraise

    if node.exc is None:
        reraise(cx)
    else:
        raised = evaluate(cx, node.exc)
        if node.cause is not None:
            evaluate(cx, node.cause.item)
        raise_value(cx, raised)


@handles(cst.Try)
def _try(cx: Context, node: cst.Try) -> None:
    from torch2cpp.binding.exceptions import run_try

    run_try(cx, node)


@handles(cst.With)
def _with(cx: Context, node: cst.With) -> None:
    from torch2cpp.binding.with_statements import run_with

    run_with(cx, node)


@handles(cst.Global, cst.Nonlocal)
def _outer_names(cx: Context, node: Any) -> None:
    names = {n.name.value for n in node.names}
    cx.frame.nonlocals |= names


@handles(cst.Match)
def _match(cx: Context, node: cst.Match) -> None:
    from torch2cpp.binding.match_statements import run_match

    run_match(cx, node)


@handles(cst.ClassDef)
def _class_def(cx: Context, node: cst.ClassDef) -> None:
    cx.refuse("T2C212", "a class is defined inside deployed code", "define the class at module level")
