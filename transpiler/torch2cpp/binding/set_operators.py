"""`|`, `&`, `-`, `^` and comparison of sets and dicts."""

from __future__ import annotations

import operator
from typing import Any

from torch2cpp.binding import operators, struct_dicts
from torch2cpp.binding.containers import new_dict, new_set
from torch2cpp.binding.context import Context
from torch2cpp.binding.control import branch
from torch2cpp.binding.convert import NoType, describe, resolve, to_operand
from torch2cpp.binding.dict_views import is_view, snapshot
from torch2cpp.binding.item_writes import dict_update
from torch2cpp.binding.items import get_item
from torch2cpp.binding.literal_sets import LiteralSet, as_made, make_run_time_set, make_set, run_time_copy
from torch2cpp.binding.set_methods import SET, as_run_time, combined, members_in_order, set_add
from torch2cpp.binding.values import AbsVal, DictObj, Rt, Static, Tup
from torch2cpp.hostir.types import DictType, SetType

_PYTHON = {
    "|": operator.or_, "&": operator.and_, "-": operator.sub, "^": operator.xor,
    "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge, "==": operator.eq, "!=": operator.ne,
}  # fmt: skip
_METHODS = {"|": "union", "&": "intersection", "-": "difference", "^": "symmetric_difference"}


def is_set(o: AbsVal) -> bool:
    """Whether a resolved value is a set, known or not."""
    if isinstance(o, Static):
        return isinstance(o.value, set | frozenset)
    return isinstance(o, Rt) and isinstance(o.type, SetType)


def is_dict(cx: Context, o: AbsVal) -> bool:
    """Whether a resolved value is a dict, known or not."""
    if isinstance(o, Static):
        return isinstance(o.value, dict)
    return isinstance(o, DictObj) or (
        isinstance(o, Rt) and (isinstance(o.type, DictType) or struct_dicts.is_dict(cx, o))
    )


def set_binary(cx: Context, sign: str, a: AbsVal, b: AbsVal) -> AbsVal | None:
    """`a <sign> b` of two sets, or `a | b` of two dicts; None when they are not."""
    a, b = _as_set(cx, a, "left"), _as_set(cx, b, "right")
    x, y = resolve(cx, a), resolve(cx, b)
    if sign == "|" and is_dict(cx, x) and is_dict(cx, y):
        out = new_dict(cx, [], cx.site(None))
        dict_update(cx, out, a)
        dict_update(cx, out, b)
        return out
    if sign not in ("|", "&", "-", "^") or not (is_set(x) and is_set(y)):
        return None
    if isinstance(x, Static) and isinstance(y, Static):
        return make_set(cx, _PYTHON[sign](as_made(x.value), as_made(y.value)), cx.site(None))
    return combined(cx, _METHODS[sign], as_run_time(cx, a, "left"), as_run_time(cx, b, "right"), cx.site(None))


def _as_set(cx: Context, v: AbsVal, side: str) -> AbsVal:
    """`keys()` and `items()` are like sets to operators."""
    from torch2cpp.binding.comprehensions import consume

    if not is_view(v, "keys", "items"):
        return v
    site = (cx.site(None), "as_set", side)
    out = new_set(cx, [], site)
    consume(cx, snapshot(cx, v), lambda x: set_add(cx, out, x), site)
    return out


def _run_time(cx: Context, o: AbsVal) -> AbsVal:
    """A set as a run-time one: a copy of a known one."""
    return o if isinstance(o, Rt) else resolve(cx, run_time_copy(cx, o.value, (cx.site(None), "known")))


def set_inplace(cx: Context, sign: str, old: AbsVal, value: AbsVal) -> bool:
    """`old <sign>= value` of a set or dict, which changes `old` itself; whether it was one."""
    o, other = resolve(cx, old), resolve(cx, value)
    if sign == "|" and is_dict(cx, o) and not isinstance(o, Static) and is_dict(cx, other):
        dict_update(cx, old, value)
        return True
    if not is_set(o) or not is_set(other) or sign not in _METHODS:
        return False
    if isinstance(o, Static):
        if not isinstance(o.value, LiteralSet):
            return False
        make_run_time_set(cx, o.value)
    SET["update" if sign == "|" else f"{_METHODS[sign]}_update"](cx, old, [value], {})
    return True


def set_compare(cx: Context, sign: str, a: AbsVal, b: AbsVal) -> AbsVal | None:
    """Equality of sets and dicts, order of known sets; None when they are not."""
    a, b = _as_set(cx, a, "left"), _as_set(cx, b, "right")
    x, y = resolve(cx, a), resolve(cx, b)
    if any(isinstance(v, Rt) and struct_dicts.is_dict(cx, v) for v in (x, y)):
        return None  # compared by their keys, which are known
    sets, dicts = is_set(x) and is_set(y), is_dict(cx, x) and is_dict(cx, y)
    if not sets and not dicts:
        return None
    if isinstance(x, Static) and isinstance(y, Static):
        return operators.static_call(cx, _PYTHON[sign], x.value, y.value)
    if sign not in ("==", "!="):
        if not sets:
            cx.raise_(TypeError, f"'{sign}' not supported between instances of 'dict' and 'dict'")
        return ordered(cx, sign, _run_time(cx, x), _run_time(cx, y))
    same = _equal_run_time(cx, x, y) if isinstance(x, Rt) or isinstance(y, Rt) else _equal_dicts(cx, a, b, x, y)
    return same if sign == "==" else operators.logical_not(cx, same)


def ordered(cx: Context, sign: str, a: AbsVal, b: AbsVal) -> AbsVal:
    """`a <sign> b` of run-time sets: whether one is part of the other."""
    from torch2cpp.binding.calls import call_python
    from torch2cpp.binding.in_python import sets

    if sign in (">", ">="):
        a, b, sign = b, a, "<" if sign == ">" else "<="
    body = sets.smaller if sign == "<" else sets.within
    return call_python(cx, body, [members_in_order(cx, a), b], {})  # type: ignore[arg-type]


def _equal_run_time(cx: Context, x: AbsVal, y: AbsVal) -> AbsVal:
    whole = x if isinstance(x, Rt) else y
    try:
        operands = [to_operand(cx, _listed(v), whole.type) for v in (x, y)]
    except NoType as error:
        cx.refuse("T2C250", f"{describe(cx, x)} == {describe(cx, y)} ({error})", "compare values of one type")
    return cx.scalar("equal", *operands)


def _listed(v: AbsVal) -> AbsVal:
    """A known set as a sequence, to make a run-time set of."""
    if isinstance(v, Static) and isinstance(v.value, set | frozenset):
        return Tup(tuple(Static(m) for m in sorted(v.value, key=repr)))
    return v


def _equal_dicts(cx: Context, a: AbsVal, b: AbsVal, x: AbsVal, y: AbsVal) -> AbsVal:
    """Two dicts with known keys."""
    keys, others = _keys(x), _keys(y)
    if set(keys) != set(others):
        return Static(False)

    def step(i: int) -> AbsVal:
        if i == len(keys):
            return Static(True)
        pair = get_item(cx, a, Static(keys[i])), get_item(cx, b, Static(keys[i]))
        same = operators.truth(cx, operators.compare(cx, "==", *pair))
        if isinstance(same, Static):
            return step(i + 1) if same.value else Static(False)
        return branch(cx, same.operand, lambda: step(i + 1), lambda: Static(False), "same", cx.span)

    return step(0)


def _keys(o: AbsVal) -> list[Any]:
    return list(o.items) if isinstance(o, DictObj) else list(o.value)
