"""Objects of the model that a variable or a container holds one of: compared as numbers, not pair by pair."""

from __future__ import annotations

import functools
from collections.abc import Callable

from torch2cpp.binding.choices import _looked_up
from torch2cpp.binding.context import Context
from torch2cpp.binding.linked_objects import is_known_object
from torch2cpp.binding.optional import possible
from torch2cpp.binding.values import AbsVal, Choice, Static
from torch2cpp.hostir.ops import Operand
from torch2cpp.hostir.types import Known

_ORDER = {"<": "__lt__", "<=": "__le__", ">": "__gt__", ">=": "__ge__"}


def compares(f: Callable[[Context, str, AbsVal, AbsVal], AbsVal]) -> Callable[[Context, str, AbsVal, AbsVal], AbsVal]:
    """Lets a comparison take two choices between known objects as what they are: two numbers."""

    @functools.wraps(f)
    def run(cx: Context, sign: str, a: AbsVal, b: AbsVal) -> AbsVal:
        x, y = _objects(cx, a), _objects(cx, b)
        if x is None or y is None:
            return f(cx, sign, a, b)
        if sign in ("==", "!="):
            numbers = {k: i for i, k in enumerate(dict.fromkeys([*x, *y]))}
            left, right = (_number(cx, c, [numbers[k] for k in of]) for c, of in ((a, x), (b, y)))
            return cx.scalar("eq" if sign == "==" else "ne", left, right)
        classes = [{type(k.value) for k in of} for of in (x, y)]
        if all(len(c) == 1 for c in classes) and not any(_is_ordered(cls) for c in classes for cls in c):
            names = [next(iter(c)).__name__ for c in classes]
            cx.raise_(TypeError, f"'{sign}' not supported between instances of '{names[0]}' and '{names[1]}'")
        return f(cx, sign, a, b)

    return run


def _objects(cx: Context, v: AbsVal) -> list[Known] | None:
    """The options of a choice between known objects; None for anything else."""
    if not isinstance(v, Choice) or len(possible(cx.state, v)) < 2:
        return None
    known = [o.static.value for o in v.options if o.slot is None and isinstance(o.static, Static)]
    if len(known) < len(v.options) or not all(map(is_known_object, known)):
        return None
    return [Known(k) for k in known]


def _number(cx: Context, choice: Choice, numbers: list[int]) -> Operand:
    return choice.tag if numbers == list(range(len(numbers))) else _looked_up(cx, choice, numbers).operand


def _is_ordered(cls: type) -> bool:
    return any(getattr(cls, m) is not getattr(object, m) for m in _ORDER.values())
