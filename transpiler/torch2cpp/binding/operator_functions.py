"""The module `operator`: operators as functions, and those that fetch items, attributes or call methods."""

from __future__ import annotations

import operator
from collections.abc import Callable

from torch2cpp.binding import operators
from torch2cpp.binding.builtin_table import TABLE, Handler
from torch2cpp.binding.context import Context
from torch2cpp.binding.values import NONE, AbsVal, Native, Static, Tup

#: What is called with the arguments of the function.
Meaning = Callable[..., AbsVal]


def _function(meaning: Meaning) -> Handler:
    return lambda cx, args, kwargs: meaning(cx, *args)


for _sign, (_python, _, _) in operators.BINARY.items():
    TABLE[_python] = _function(lambda cx, a, b, _sign=_sign: operators.binary(cx, _sign, a, b))
for _sign, (_python, _, _) in operators.COMPARE.items():
    TABLE[_python] = _function(lambda cx, a, b, _sign=_sign: operators.compare(cx, _sign, a, b))
for _sign, _python in (("-", operator.neg), ("+", operator.pos), ("~", operator.invert)):
    TABLE[_python] = _function(lambda cx, a, _sign=_sign: operators.unary(cx, _sign, a))


def _getitem(cx: Context, obj: AbsVal, key: AbsVal) -> AbsVal:
    from torch2cpp.binding.items import get_item

    return get_item(cx, obj, key)


def _setitem(cx: Context, obj: AbsVal, key: AbsVal, value: AbsVal) -> AbsVal:
    from torch2cpp.binding.item_writes import set_item

    set_item(cx, obj, key, value)
    return NONE


def _contains(cx: Context, obj: AbsVal, item: AbsVal) -> AbsVal:
    from torch2cpp.binding.container_operators import contains

    return contains(cx, obj, item)


def _is(cx: Context, a: AbsVal, b: AbsVal) -> AbsVal:
    from torch2cpp.binding.expressions import identical

    return identical(cx, a, b)


def _is_not(cx: Context, a: AbsVal, b: AbsVal) -> AbsVal:
    return operators.logical_not(cx, _is(cx, a, b))


TABLE[operator.getitem] = _function(_getitem)
TABLE[operator.setitem] = _function(_setitem)
TABLE[operator.contains] = _function(_contains)
TABLE[operator.is_] = _function(_is)
TABLE[operator.is_not] = _function(_is_not)
TABLE[operator.not_] = _function(operators.logical_not)
TABLE[operator.truth] = _function(operators.truth)


def _fetching(name: str, fetch: Callable[[Context, AbsVal, AbsVal], AbsVal]) -> Handler:
    """`itemgetter(k, ...)` and its like: a function that gives one result, or a tuple of several."""

    def make(cx: Context, keys: list[AbsVal], kwargs: dict[str, AbsVal]) -> AbsVal:
        def run(c: Context, args: list[AbsVal], kw: dict[str, AbsVal]) -> AbsVal:
            got = [fetch(c, args[0], key) for key in keys]
            return got[0] if len(got) == 1 else Tup(tuple(got))

        return Native(name, run)

    return make


def _attribute(cx: Context, obj: AbsVal, path: AbsVal) -> AbsVal:
    from torch2cpp.binding.attributes import get_attribute

    if not isinstance(path, Static) or not isinstance(path.value, str):
        cx.refuse("T2C175", "attrgetter of a name that is not known", "write the attribute's name")
    for name in path.value.split("."):
        obj = get_attribute(cx, obj, name)
    return obj


def _methodcaller(cx: Context, args: list[AbsVal], kwargs: dict[str, AbsVal]) -> AbsVal:
    from torch2cpp.binding.calls import call

    name, *rest = args
    return Native("methodcaller", lambda c, xs, kw: call(c, _attribute(c, xs[0], name), rest, kwargs))


TABLE[operator.itemgetter] = _fetching("itemgetter", _getitem)
TABLE[operator.attrgetter] = _fetching("attrgetter", _attribute)
TABLE[operator.methodcaller] = _methodcaller
