"""Values that may be None at run time."""

from __future__ import annotations

from torch2cpp.binding.context import Context
from torch2cpp.binding.convert import from_operand, resolve
from torch2cpp.binding.values import AbsVal, Host, Rt, State, Static
from torch2cpp.hostir.ops import Block, If, Raise, Yield
from torch2cpp.hostir.types import NoneType, OptionalType


def is_none(cx: Context, v: AbsVal) -> Static | Host:
    """`v is None`"""
    obj = resolve(cx, v)
    if isinstance(obj, Static):
        return Static(obj.value is None)
    if isinstance(obj, Rt):
        if isinstance(obj.type, NoneType):
            return Static(True)
        if isinstance(obj.type, OptionalType) and obj.operand not in cx.state.narrowed:
            host = cx.scalar("optional.is_none", obj.operand, label="missing")
            cx.none_tests[host.operand.id] = obj
            return host
    return Static(False)


def held(cx: Context, v: Rt) -> AbsVal:
    """What an optional holds, where it is known not to be None; remembered on this path."""
    assert isinstance(v.type, OptionalType)
    known = cx.state.narrowed.get(v.operand)
    if known is None:
        value = cx.host("optional.get", v.operand, type_=v.type.elem, label=v.operand.name)
        known = from_operand(cx, value, v.type.elem, v.example)
        cx.state.narrowed[v.operand] = known
    return known


def held_or_raise(cx: Context, v: Rt, error: type[Exception], message: str) -> AbsVal:
    """What an optional holds; None raises."""
    missing = is_none(cx, v)
    if isinstance(missing, Host):
        bases = tuple(c.__name__ for c in error.__mro__ if c not in (object, BaseException))
        raising = Block(ops=[Raise(error.__name__, bases, message, cx.span)])
        cx.emit(If((), missing.operand, raising, Block(ops=[Yield((), cx.span)]), cx.span))
    return held(cx, v)


def refinements(cx: Context, cond: Host) -> tuple[list[Rt], list[Rt]]:
    """Optionals known to hold something when the condition is true, and when it is false."""
    if_true, if_false = cx.knows.get(cond.operand.id, ((), ()))
    tested = cx.none_tests.get(cond.operand.id)
    return list(if_true), [*if_false, *([tested] if tested is not None else [])]


def narrow(state: State, cx: Context, optionals: list[Rt]) -> None:
    """Marks optionals as holding something on a path (called with the path's state current)."""
    for v in optionals:
        held(cx, v)
