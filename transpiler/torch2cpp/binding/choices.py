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
from torch2cpp.binding.optional import KnownOption, possible
from torch2cpp.binding.values import AbsVal, Choice, Host, Option, Static, Tup, Unbound
from torch2cpp.diagnostics import Refused
from torch2cpp.hostir.ops import Operand, Value
from torch2cpp.hostir.types import BOOL, FLOAT, INT, OptionalType, ScalarType

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
    left = possible(cx.state, choice)
    if len(left) == 1:
        return f(option_value(cx, choice, left[0]))

    out = _of_constants(cx, choice, left, f)
    if out is not None:
        return out
    results: dict[int, AbsVal] = {}

    def option(i: int) -> AbsVal:
        results[i] = _inside(cx, choice, i, f)
        return results[i]

    def step(k: int) -> AbsVal:
        if k == len(left) - 1:
            return option(left[k])
        here = cx.host("eq", choice.tag, left[k], label="is_option")
        return branch(cx, here, lambda: option(left[k]), lambda: step(k + 1), choice.name, cx.span)

    out = step(0)
    _note_options(cx, choice, out, results)
    return out


def _note_options(cx: Context, choice: Choice, out: AbsVal, results: dict[int, AbsVal]) -> None:
    """A test that is known for each option tells which options are left where it is true, and where it is false."""
    if not isinstance(out, Host) or out.type != BOOL or not isinstance(out.operand, Value):
        return
    if all(isinstance(r, Static) and type(r.value) is bool for r in results.values()):
        sides = [frozenset(i for i, r in results.items() if r.value is side) for side in (True, False)]
        cx.knows.setdefault(out.operand.id, ((KnownOption(choice, sides[0]),), (KnownOption(choice, sides[1]),)))


#: A choice between at least this many known objects is looked up too, where what is asked of each is known.
_MANY = 5


def _of_constants(cx: Context, choice: Choice, left: list[int], f: Callable[[AbsVal], AbsVal]) -> AbsVal | None:
    """`f` of a choice between known values, where it gives something known for each and does nothing else."""
    options = [choice.options[i] for i in left]
    if any(o.slot is not None or not isinstance(o.static, Static) for o in options):
        return None
    constants = all(is_constant(o.static) for o in options)
    if not constants and len(options) < _MANY:
        return None
    found_out = {i: _known(cx, choice.options[i].static, f) for i in left}
    raising = [i for i, out in found_out.items() if out is None]
    known = [out for out in found_out.values() if isinstance(out, Static)]
    if not known or len(known) + len(raising) < len(left) or (raising and constants):
        return None
    results = [found_out.get(i) for i in range(len(choice.options))]
    is_scalar = all(type(out.value) in (bool, int, float) for out in known)
    if len({type(out.value) for out in known}) != 1 if is_scalar else constants:
        return None

    def found() -> AbsVal:
        if not is_scalar:
            return _known_of_known(cx, choice, results, known)
        if len(set(map(repr, (out.value for out in known)))) == 1:
            return Static(known[0].value)
        out = _looked_up(cx, choice, [each.value if isinstance(each, Static) else known[0].value for each in results])
        _note_options(cx, choice, out, {i: r for i, r in found_out.items() if isinstance(r, Static)})
        return out

    if not raising:
        return found()

    def step(k: int) -> AbsVal:
        if k == len(raising) - 1:
            return _inside(cx, choice, raising[k], f)
        here = cx.host("eq", choice.tag, raising[k], label="is_option")
        return branch(cx, here, lambda: _inside(cx, choice, raising[k], f), lambda: step(k + 1), choice.name, cx.span)

    raises = _looked_up(cx, choice, [i in raising for i in range(len(results))])
    return branch(cx, raises.operand, lambda: step(0), found, choice.name, cx.span)


class _NotKnown:
    """What is not known while transpiling, or does something."""


def _known(cx: Context, v: AbsVal, f: Callable[[AbsVal], AbsVal]) -> Static | _NotKnown | None:
    """`f(v)` where it is known and does nothing else; None where it ends the path."""

    def run() -> Static | _NotKnown:
        before = dict(cx.state.heap)
        out = f(v)
        same = len(before) == len(cx.state.heap) and all(before.get(k) is x for k, x in cx.state.heap.items())
        return out if isinstance(out, Static) and same and not cx.block.ops else _NotKnown()

    try:
        out: Static | _NotKnown | None = cx.probe(run)
    except Refused:
        return _NotKnown()
    return out


def _known_of_known(cx: Context, choice: Choice, results: list[Any], known: list[Static]) -> AbsVal:
    """A choice between the known values that the options give."""
    from torch2cpp.binding.join_values import same_value

    distinct: list[Static] = []
    numbers = []
    for out in results:
        value = out or known[0]
        at = next((i for i, d in enumerate(distinct) if same_value(d, value)), len(distinct))
        if at == len(distinct):
            distinct.append(value)
        numbers.append(at)
    if len(distinct) == 1:
        return distinct[0]
    tag = choice.tag if numbers == list(range(len(numbers))) else _looked_up(cx, choice, numbers).operand
    return Choice(tag, tuple(Option(None, d) for d in distinct), choice.name)


def _looked_up(cx: Context, choice: Choice, values: list[Any]) -> Host:
    if type(values[0]) is bool:
        few = sum(values) * 2 <= len(values)
        wanted = [i for i, v in enumerate(values) if v is few]
        test: Operand = cx.host("eq", choice.tag, wanted[0], label="is_option")
        for i in wanted[1:]:
            test = cx.host("or", test, cx.host("eq", choice.tag, i), label="is_option")
        return _as_host(test) if few else cx.scalar("not", test)
    if len(values) > _MANY and type(values[0]) is int:
        return _as_host(_nearest(cx, choice, values, 0))
    out: Operand = values[-1]
    kind = INT if type(values[0]) is int else FLOAT
    for i in reversed(range(len(values) - 1)):
        out = cx.host("select", cx.host("eq", choice.tag, i), values[i], out, type_=kind, label=choice.name)
    return _as_host(out)


def _nearest(cx: Context, choice: Choice, values: list[int], first: int) -> Operand:
    """One of many ints by halves; equal neighbours are one."""
    if len(set(values)) == 1:
        return values[0]
    half = len(values) // 2
    below = cx.host("lt", choice.tag, first + half, label="is_option")
    low, high = (_nearest(cx, choice, values[:half], first), _nearest(cx, choice, values[half:], first + half))
    return cx.host("select", below, low, high, type_=INT, label=choice.name)


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
