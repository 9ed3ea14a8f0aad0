"""Values that may be None at run time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

from torch2cpp.binding.context import Context
from torch2cpp.binding.convert import from_operand, resolve
from torch2cpp.binding.values import NONE, AbsVal, Choice, Host, Rt, State, Static
from torch2cpp.hostir.ops import Block, If, Raise, Value, Yield
from torch2cpp.hostir.types import NoneType, OptionalType


def is_none(cx: Context, v: AbsVal) -> Static | Host:
    """`v is None`"""
    obj = resolve(cx, v)
    if isinstance(obj, Static):
        return Static(obj.value is None)
    if isinstance(obj, Rt):
        if isinstance(obj.type, NoneType):
            return Static(True)
        known = cx.state.narrowed.get(obj.operand)
        if isinstance(known, Static) and known.value is None:
            return Static(True)
        if isinstance(obj.type, OptionalType) and known is None:
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
    if isinstance(missing, Static) and missing.value:
        cx.raise_(error, message)
    if isinstance(missing, Host):
        bases = tuple(c.__name__ for c in error.__mro__ if c not in (object, BaseException))
        raising = Block(ops=[Raise(error.__name__, bases, message, cx.span)])
        cx.emit(If((), missing.operand, raising, Block(ops=[Yield((), cx.span)]), cx.span))
    return held(cx, v)


@final
@dataclass(frozen=True, slots=True)
class KnownNone:
    """An optional that is known to hold nothing."""

    optional: Rt

    @property
    def operand(self) -> Value:
        """That of the optional."""
        return self.optional.operand


@final
@dataclass(frozen=True, slots=True)
class KnownOption:
    """A choice that is known to be one of some of its options."""

    choice: Choice
    allowed: frozenset[int]

    @property
    def operand(self) -> Value:
        """Its tag."""
        return self.choice.tag


#: An optional that is known to hold something, or to hold nothing; a choice that is not every option.
Fact = Rt | KnownNone | KnownOption


def possible(state: State, choice: Choice) -> list[int]:
    """The numbers of the options that a choice may be on a path."""
    known = state.narrowed.get(choice.tag)
    if known is not None:
        return [known]
    excluded = state.narrowed.get((choice.tag, "not"), frozenset())
    return [i for i in range(len(choice.options)) if i not in excluded]


def refinements(cx: Context, cond: Host) -> tuple[list[Fact], list[Fact]]:
    """What is known of optionals when the condition is true, and when it is false."""
    if_true, if_false = cx.knows.get(cond.operand.id, ((), ()))
    tested = cx.none_tests.get(cond.operand.id)
    if tested is None:
        return list(if_true), list(if_false)
    return [*if_true, KnownNone(tested)], [*if_false, tested]


def narrow(state: State, cx: Context, facts: list[Fact]) -> None:
    """Notes what is known of optionals on a path (called with the path's state current)."""
    for fact in facts:
        if isinstance(fact, KnownOption):
            left = [i for i in possible(cx.state, fact.choice) if i in fact.allowed]
            if len(left) == 1:
                cx.state.narrowed[fact.operand] = left[0]
            elif left:
                rest = frozenset(range(len(fact.choice.options))) - frozenset(left)
                cx.state.narrowed[fact.operand, "not"] = rest
        elif isinstance(fact, KnownNone):
            cx.state.narrowed.setdefault(fact.operand, NONE)
        else:
            held(cx, fact)
