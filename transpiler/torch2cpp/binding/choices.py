"""Values of unlike kinds in one variable: a tag tells which one it is at run time.

Where paths leave values that share no type (tensors of different dtype or rank, a number and a
tensor, one module or another), the variable becomes a `Choice`. An operation on it branches on the
tag, works on the one option that is there, and joins the results, which mostly have one type again.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, Concatenate, ParamSpec

from torch2cpp.binding.context import Context
from torch2cpp.binding.control import branch
from torch2cpp.binding.convert import from_operand, is_constant
from torch2cpp.binding.values import AbsVal, Choice, Host, Static, Tup, Unbound
from torch2cpp.diagnostics import Refused
from torch2cpp.hostir.ops import Operand, Value
from torch2cpp.hostir.types import FLOAT, INT, OptionalType, ScalarType

P = ParamSpec("P")


def option_value(cx: Context, choice: Choice, index: int) -> AbsVal:
    """The value of an option, on a path where the tag says that it is there."""
    option = choice.options[index]
    if isinstance(option.static, Unbound):
        message = f"cannot access local variable '{choice.name}' where it is not associated with a value"
        cx.raise_(UnboundLocalError, message)
    if option.slot is None:
        return option.static
    if option.nullable:
        return from_operand(cx, option.slot, option.slot.type, option.static)
    known = cx.state.narrowed.get(option.slot)
    if known is not None:
        return known
    assert isinstance(option.slot.type, OptionalType)
    inner = cx.host("optional.get", option.slot, type_=option.slot.type.elem, label=option.slot.name)
    value = from_operand(cx, inner, inner.type, option.static)
    cx.state.narrowed[option.slot] = value
    return value


def distribute(cx: Context, choice: Choice, f: Callable[[AbsVal], AbsVal]) -> AbsVal:
    """`f` of whichever option is there, joined."""
    known = cx.state.narrowed.get(choice.tag)
    if known is not None:
        return f(option_value(cx, choice, known))

    out = _of_constants(cx, choice, f)
    if out is not None:
        return out

    def step(i: int) -> AbsVal:
        if i == len(choice.options) - 1:
            return _inside(cx, choice, i, f)
        here = cx.host("eq", choice.tag, i, label="is_option")
        return branch(cx, here, lambda: _inside(cx, choice, i, f), lambda: step(i + 1), choice.name, cx.span)

    return step(0)


def _of_constants(cx: Context, choice: Choice, f: Callable[[AbsVal], AbsVal]) -> AbsVal | None:
    """`f` of a choice between constants, where it gives a bool or number for each and does nothing else."""
    if not all(o.slot is None and is_constant(o.static) for o in choice.options):
        return None
    values = []
    for option in choice.options:

        def run(v: AbsVal = option.static) -> AbsVal:
            before = dict(cx.state.heap)
            out = f(v)
            same = len(before) == len(cx.state.heap) and all(before.get(k) is x for k, x in cx.state.heap.items())
            return out if same and not cx.block.ops else None

        try:
            out = cx.probe(run)
        except Refused:
            return None
        if not isinstance(out, Static) or type(out.value) not in (bool, int, float):
            return None
        values.append(out.value)
    if len(set(map(type, values))) != 1:
        return None
    if len(set(map(repr, values))) == 1:
        return Static(values[0])
    return _looked_up(cx, choice, values)


def _looked_up(cx: Context, choice: Choice, values: list[Any]) -> AbsVal:
    if type(values[0]) is bool:
        few = sum(values) * 2 <= len(values)
        wanted = [i for i, v in enumerate(values) if v is few]
        test: Operand = cx.host("eq", choice.tag, wanted[0], label="is_option")
        for i in wanted[1:]:
            test = cx.host("or", test, cx.host("eq", choice.tag, i), label="is_option")
        return _as_host(test) if few else cx.scalar("not", test)
    out: Operand = values[-1]
    kind = INT if type(values[0]) is int else FLOAT
    for i in reversed(range(len(values) - 1)):
        out = cx.host("select", cx.host("eq", choice.tag, i), values[i], out, type_=kind, label=choice.name)
    return _as_host(out)


def _as_host(operand: Operand) -> Host:
    assert isinstance(operand, Value) and isinstance(operand.type, ScalarType)
    return Host(operand.type, operand)


def _inside(cx: Context, choice: Choice, index: int, f: Callable[[AbsVal], AbsVal]) -> AbsVal:
    cx.state.narrowed[choice.tag] = index
    cx.inside_options += 1
    try:
        return f(option_value(cx, choice, index))
    finally:
        cx.inside_options -= 1


def distribute_parts(cx: Context, index: AbsVal, f: Callable[[AbsVal], AbsVal]) -> AbsVal | None:
    """`f` of a tuple in which each choice is one of its options, joined; None where it holds no choice."""
    if not isinstance(index, Tup):
        return None
    for i, part in enumerate(index.elems):
        if isinstance(part, Choice):
            before, after = index.elems[:i], index.elems[i + 1 :]
            return distribute(cx, part, lambda v: f(Tup((*before, v, *after), index.cls, index.names)))
    return None


def distributes(f: Callable[Concatenate[Context, P], AbsVal]) -> Callable[Concatenate[Context, P], AbsVal]:
    """Lets an operation on abstract values take choices: it runs once for each option."""

    @functools.wraps(f)
    def run(cx: Context, *args: Any, **kwargs: Any) -> AbsVal:
        for i, a in enumerate(args):
            if isinstance(a, Choice):
                return distribute(cx, a, lambda v: run(cx, *args[:i], v, *args[i + 1 :], **kwargs))
            if isinstance(a, list):
                for j, x in enumerate(a):
                    if isinstance(x, Choice):
                        return distribute(
                            cx, x, lambda v: run(cx, *args[:i], [*a[:j], v, *a[j + 1 :]], *args[i + 1 :], **kwargs)
                        )
            if isinstance(a, dict):
                for k, x in a.items():
                    if isinstance(x, Choice):
                        return distribute(cx, x, lambda v: run(cx, *args[:i], {**a, k: v}, *args[i + 1 :], **kwargs))
        if not cx.inside_options:
            return f(cx, *args, **kwargs)
        return _or_raises(cx, f, args, kwargs)

    return run  # type: ignore[return-value]


def _or_raises(cx: Context, f: Callable[..., AbsVal], args: tuple[Any, ...], kwargs: dict[str, Any]) -> AbsVal:
    """An operation on one option; where it cannot be done because Python cannot either, the option raises."""
    from torch2cpp.binding.aten import NoOverload
    from torch2cpp.binding.python_errors import python_error

    block, before = cx.block, len(cx.block.ops)
    try:
        return f(cx, *args, **kwargs)
    except (Refused, NoOverload):
        error = python_error(cx, f.__name__, args)
        if error is None or kwargs or cx.block is not block:
            raise
        del cx.block.ops[before:]
        cx.raise_(TypeError, str(error))
