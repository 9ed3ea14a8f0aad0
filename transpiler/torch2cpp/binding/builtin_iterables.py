"""range, zip, map and the like; copies; deque and defaultdict."""

from __future__ import annotations

import collections
import copy
import itertools
from collections.abc import Callable
from typing import Any

from torch2cpp.binding import operators
from torch2cpp.binding.aten import call_aten
from torch2cpp.binding.builtin_conversions import _dict, _list
from torch2cpp.binding.builtin_table import TABLE, Handler, builtin, tensor_or_item
from torch2cpp.binding.context import Context
from torch2cpp.binding.control import branch
from torch2cpp.binding.convert import describe, is_scalar, resolve
from torch2cpp.binding.optional import held, is_none
from torch2cpp.binding.values import (
    NONE,
    AbsVal,
    DictObj,
    Host,
    Iter,
    ListObj,
    PartialDict,
    RangeVal,
    Ref,
    Rt,
    StarRest,
    Static,
    Tup,
)
from torch2cpp.hostir.types import DictType, ListType, OptionalType, SetType, TupleType

# Iterables ---------------------------------------------------------------------------------------


@builtin(range)
def _range(cx: Context, args: list[AbsVal], kwargs: dict[str, AbsVal]) -> AbsVal:
    parts = [tensor_or_item(cx, a) for a in args]
    for p in parts:
        if not (is_scalar(p) and (operators._type(p).kind in ("int", "bool"))):
            cx.raise_(TypeError, f"'{operators._type(p).kind if is_scalar(p) else 'object'}' object cannot be "
                                 "interpreted as an integer")  # fmt: skip
    if len(parts) == 1:
        return RangeVal(Static(0), parts[0], Static(1))
    return RangeVal(parts[0], parts[1], parts[2] if len(parts) > 2 else Static(1))


@builtin(enumerate, static=False)
def _enumerate(cx: Context, args: list[AbsVal], kwargs: dict[str, AbsVal]) -> AbsVal:
    start = args[1] if len(args) > 1 else kwargs.get("start", Static(0))
    return Iter("enumerate", (_indexable(cx, args[0]),), start, born=cx.stamp())


@builtin(zip, static=False)
def _zip(cx: Context, args: list[AbsVal], kwargs: dict[str, AbsVal]) -> AbsVal:
    from torch2cpp.binding.calls import call_python
    from torch2cpp.binding.in_python import iterators

    if len(args) == 1 and isinstance(args[0], StarRest):
        rows = resolve(cx, args[0].value)
        if isinstance(rows, Rt) and isinstance(rows.type, ListType) and isinstance(rows.type.elem, TupleType):
            return Iter("unzip", (args[0].value,))
        if isinstance(rows, Rt) and isinstance(rows.type, ListType) and isinstance(rows.type.elem, ListType):
            return call_python(cx, iterators.columns, [args[0].value], {})  # type: ignore[arg-type]
        cx.refuse("T2C200", f"zip(*{describe(cx, rows)})", "append to one list per column instead")
    return Iter("zip", tuple(_indexable(cx, a) for a in args), born=cx.stamp())


@builtin(reversed, static=False)
def _reversed(cx: Context, args: list[AbsVal], kwargs: dict[str, AbsVal]) -> AbsVal:
    from torch2cpp.binding.calls import call_method_if_any
    from torch2cpp.binding.comprehensions import is_lazy

    if is_lazy(args[0]):
        cx.raise_(TypeError, f"'{args[0].kind}' object is not reversible")
    own = call_method_if_any(cx, args[0], "__reversed__", [])
    if own is not None:
        return own
    return Iter("reversed", (_indexable(cx, args[0]),), born=cx.stamp())


@builtin(map, static=False)
def _map(cx: Context, args: list[AbsVal], kwargs: dict[str, AbsVal]) -> AbsVal:
    return Iter("map", tuple(_indexable(cx, a) for a in args[1:]), args[0], born=cx.stamp())


@builtin(filter, static=False)
def _filter(cx: Context, args: list[AbsVal], kwargs: dict[str, AbsVal]) -> AbsVal:
    return Iter("filter", (args[1],), args[0], born=cx.stamp())


def _indexable(cx: Context, v: AbsVal) -> AbsVal:
    """What is iterated: `iter()` of an object is asked for at once."""
    from torch2cpp.binding.comprehensions import iterator_of

    return iterator_of(cx, v)


def _known_combinations(f: Callable[..., Any]) -> Handler:
    def run(cx: Context, args: list[AbsVal], kwargs: dict[str, AbsVal]) -> AbsVal:
        from torch2cpp.binding.iteration import known_items

        lists = [known_items(cx, a) if not (isinstance(a, Static) and isinstance(a.value, int)) else a for a in args]
        if any(x is None for x in lists):
            tuples = _at_run_time(cx, f, args, kwargs)
            if tuples is not None:
                return tuples
            cx.refuse("T2C200", f"itertools.{f.__name__} of a run-time list", "write nested loops")
        plain = [x.value if isinstance(x, Static) else x for x in lists]
        names = {k: v.value for k, v in kwargs.items() if isinstance(v, Static)}
        return Tup(tuple(Tup(tuple(c)) for c in f(*plain, **names)))

    return run


def _at_run_time(cx: Context, f: Any, args: list[AbsVal], kwargs: dict[str, AbsVal]) -> AbsVal | None:
    """Out of run-time lists, where the length of each tuple is known; None where it is not."""
    from torch2cpp.binding.calls import call_python
    from torch2cpp.binding.in_python import combinations

    def made(body: Any, *given: AbsVal) -> AbsVal:
        return call_python(cx, body, list(given), {})

    if any(isinstance(a, StarRest) for a in args):
        return None
    if f is itertools.product:
        times = kwargs.get("repeat", Static(1))
        if not isinstance(times, Static) or not args or times.value < 1:
            return None
        pools = [TABLE[list](cx, [a], {}) if isinstance(a, Iter) else a for a in args] * int(times.value)
        out = made(combinations.ones, pools[0])
        for pool in pools[1:]:
            out = made(combinations.with_each, out, pool)
        return out
    length = args[1] if len(args) > 1 else kwargs.get("r")
    if not isinstance(length, Static) or not isinstance(length.value, int) or length.value < 1:
        return None
    pool = TABLE[list](cx, [args[0]], {})
    permuted = f is itertools.permutations
    out = made(combinations.first_and_places if permuted else combinations.first_and_place, pool)
    longer = {
        itertools.permutations: combinations.with_unused,
        itertools.combinations: combinations.with_later,
        itertools.combinations_with_replacement: combinations.with_same_or_later,
    }[f]
    for _ in range(length.value - 1):
        out = made(longer, out, pool)
    return made(combinations.without_place, out)


for _f in (itertools.combinations, itertools.product, itertools.permutations, itertools.combinations_with_replacement):
    TABLE[_f] = _known_combinations(_f)


@builtin(slice)
def _slice(cx: Context, args: list[AbsVal], kwargs: dict[str, AbsVal]) -> AbsVal:
    from torch2cpp.binding.expressions import make_slice

    parts = [NONE, *args] if len(args) == 1 else list(args)
    return make_slice([*parts, *[NONE] * (3 - len(parts))])


@builtin(print, static=False)
def _print(cx: Context, args: list[AbsVal], kwargs: dict[str, AbsVal]) -> AbsVal:
    from torch2cpp.binding.strings import to_str

    sep = kwargs.get("sep", Static(" "))
    text: AbsVal = Static("")
    for i, a in enumerate(args):
        if i:
            text = operators.binary(cx, "+", text, sep)
        text = operators.binary(cx, "+", text, to_str(cx, a))
    cx.effect("print", operators.scalar_operand(cx, text))
    return NONE


#: How deep deepcopy() goes.
MAX_DEEP = 8


@builtin(copy.deepcopy, static=False)
def _deepcopy(cx: Context, args: list[AbsVal], kwargs: dict[str, AbsVal]) -> AbsVal:
    """Copies what is inside too; an object that appears twice is refused rather than copied twice."""
    from torch2cpp.binding.comprehensions import consume
    from torch2cpp.binding.container_methods import list_append
    from torch2cpp.binding.containers import new_dict, new_list
    from torch2cpp.binding.dict_views import view
    from torch2cpp.binding.item_writes import set_item
    from torch2cpp.binding.unpacking import unpack

    o = resolve(cx, args[0])
    if sum(isinstance(p, tuple) and p[:1] == ("deepcopy",) for p in cx.path) > MAX_DEEP:
        cx.refuse("T2C200", "deepcopy of an object that holds others of its kind", "copy the parts one by one")
    if isinstance(o, Rt) and isinstance(o.type, OptionalType):
        missing = is_none(cx, o)
        if isinstance(missing, Static):
            return NONE if missing.value else _deepcopy(cx, [held(cx, o)], {})
        whole = o
        return branch(cx, missing.operand, lambda: NONE, lambda: _deepcopy(cx, [held(cx, whole)], {}), "copy", cx.span)
    site = cx.site(None)
    inside = list(o.elems) if isinstance(o, Tup | ListObj) else list(o.items.values()) if isinstance(o, DictObj) else []
    refs = [e for e in inside if isinstance(e, Ref)]
    if len(set(refs)) < len(refs):
        cx.refuse("T2C200", "deepcopy of a container that holds one object twice", "copy the parts one by one")

    def inner(x: AbsVal, i: object) -> AbsVal:
        with cx.at(("deepcopy", i)):
            return _deepcopy(cx, [x], {})

    if isinstance(o, Tup):
        return Tup(tuple(inner(e, i) for i, e in enumerate(o.elems)), o.cls, o.names)
    if isinstance(o, ListObj):
        return new_list(cx, [inner(e, i) for i, e in enumerate(o.elems)], site, o.kind)
    if isinstance(o, DictObj):
        return new_dict(cx, [(Static(k), inner(v, k)) for k, v in o.items.items()], site, o.factory)
    if isinstance(o, Rt) and isinstance(o.type, ListType) and o.type.kind != "tuple":
        out = new_list(cx, [], site, o.type.kind)
        consume(cx, args[0], lambda x: list_append(cx, out, inner(x, "item")), site)
        return out
    if isinstance(o, Rt) and isinstance(o.type, DictType) and o.type.kind == "dict":
        made = new_dict(cx, [], site)

        def put(pair: AbsVal) -> None:
            k, v = unpack(cx, pair, 2, None)
            set_item(cx, made, k, inner(v, "value"))

        consume(cx, view(args[0], "items"), put, site)
        return made
    t = operators.tensor_of(cx, o)
    if t is not None:
        return call_aten(cx, "clone", [t])
    if isinstance(o, Static | Host):
        return _copy(cx, args, {})
    from torch2cpp.binding.objects import deep_copied

    copied = deep_copied(cx, args[0], inner)
    if copied is None:
        cx.refuse("T2C200", f"deepcopy of {describe(cx, args[0])}", "copy lists, dicts, tensors or single objects")
    return copied


@builtin(copy.copy, static=False)
def _copy(cx: Context, args: list[AbsVal], kwargs: dict[str, AbsVal]) -> AbsVal:
    o = resolve(cx, args[0])
    t = operators.tensor_of(cx, o)
    if t is not None:
        return call_aten(cx, "alias", [t])  # another tensor on the same storage
    immutable = isinstance(o, Static) and isinstance(o.value, tuple | type(None) | frozenset | range)
    if is_scalar(o) or immutable or isinstance(o, Tup):
        return args[0]
    if isinstance(o, Rt) and isinstance(o.type, ListType) and o.type.kind == "tuple":
        return args[0]
    known = isinstance(o, ListObj | DictObj | PartialDict)
    if known or (isinstance(o, Rt) and isinstance(o.type, ListType | DictType | SetType)):
        from torch2cpp.binding.container_methods import method

        own = method(cx, args[0], "copy")
        if own is not None:
            return own.call(cx, [], {})
    if isinstance(o, Static) and type(o.value) in (list, dict):
        return (_list if isinstance(o.value, list) else _dict)(cx, args, {})
    from torch2cpp.binding.objects import copied

    out = copied(cx, args[0])
    if out is None:
        cx.refuse("T2C200", f"copy of {describe(cx, args[0])}", "copy lists, dicts, tensors or objects of your classes")
    return out


@builtin(collections.deque, static=False)
def _deque(cx: Context, args: list[AbsVal], kwargs: dict[str, AbsVal]) -> AbsVal:
    from torch2cpp.binding.container_methods import list_extend
    from torch2cpp.binding.containers import new_list

    limit = args[1] if len(args) > 1 else kwargs.get("maxlen", NONE)
    if not isinstance(limit, Static):
        cx.refuse("T2C200", "a deque whose maxlen is decided at run time", "drop the oldest item with popleft()")
    if isinstance(limit.value, int) and limit.value < 0:
        cx.raise_(ValueError, "maxlen must be non-negative")
    ref = new_list(cx, [], cx.site(None), "deque" if limit.value is None else f"deque {int(limit.value)}")
    if args:
        list_extend(cx, ref, args[0])
    return ref


@builtin(collections.defaultdict, static=False)
def _defaultdict(cx: Context, args: list[AbsVal], kwargs: dict[str, AbsVal]) -> AbsVal:
    from torch2cpp.binding.containers import new_dict

    factory = args[0] if args else None
    if isinstance(factory, Static) and factory.value is None:
        factory = None
    return new_dict(cx, [], cx.site(None), factory)


TABLE[collections.OrderedDict] = _dict


@builtin(object, static=False)
def _object(cx: Context, args: list[AbsVal], kwargs: dict[str, AbsVal]) -> AbsVal:
    return Static(object())
