"""Methods and subscripts of strings."""

from __future__ import annotations

import functools
from collections.abc import Callable

from torch2cpp.binding import operators
from torch2cpp.binding.containers import new_list, run_time
from torch2cpp.binding.context import Context
from torch2cpp.binding.convert import describe, resolve
from torch2cpp.binding.dict_views import snapshot
from torch2cpp.binding.items import slice_operands
from torch2cpp.binding.list_methods import index_of
from torch2cpp.binding.values import AbsVal, Host, Iter, ListObj, Native, Rt, Static
from torch2cpp.hostir.ops import Operand
from torch2cpp.hostir.types import STR, ListType, OptionalType

Text = Static | Host
Handler = Callable[[Context, Text, list[AbsVal]], AbsVal]


def is_text(v: AbsVal) -> bool:
    """Whether a value is a string, known or not."""
    return (isinstance(v, Static) and isinstance(v.value, str)) or (isinstance(v, Host) and v.type == STR)


def string_item(cx: Context, s: AbsVal, index: AbsVal) -> AbsVal:
    """`s[index]`"""
    if isinstance(s, Static) and isinstance(index, Static):
        return operators.static_call(cx, lambda x, i: x[i], s.value, index.value)
    text = operators.scalar_operand(cx, s)
    bounds = slice_operands(cx, index)
    if bounds is not None:
        return cx.scalar("str.slice", text, *bounds, label="part")
    return cx.scalar("str.get", text, operators.scalar_operand(cx, index_of(cx, index)), label="char")


def string_method(cx: Context, s: AbsVal, name: str) -> Native | None:
    """The method `name` of a string; None if strings have none of that name."""
    if not callable(getattr(str, name, None)):
        return None
    return Native(name, lambda cx, args, kwargs: _call(cx, s, name, args, kwargs))


def _call(cx: Context, s: Text, name: str, args: list[AbsVal], kwargs: dict[str, AbsVal]) -> AbsVal:
    from torch2cpp.binding.string_format import str_format_method

    if name == "format":
        return str_format_method(cx, s, args, kwargs)
    if name == "join":
        return _join(cx, s, args[0])
    known = [s, *args, *kwargs.values()]
    if isinstance(s, Static) and all(isinstance(v, Static) for v in known):
        named = {k: v.value for k, v in kwargs.items()}
        out = operators.static_call(cx, lambda: getattr(s.value, name)(*(a.value for a in args), **named))
        if isinstance(out.value, list):
            return new_list(cx, [Static(x) for x in out.value], cx.site(None))
        return out
    if name in ("split", "rsplit") and kwargs and set(kwargs) <= {"sep", "maxsplit"}:
        given = dict(zip(("sep", "maxsplit"), args)) | kwargs
        args, kwargs = [given.get("sep", Static(None)), given.get("maxsplit", Static(-1))], {}
    handler = _METHODS.get(name)
    if handler is None or kwargs:
        cx.refuse("T2C225", f"str.{name}() of a run-time string", f"use one of {', '.join(sorted(_METHODS))}")
    return handler(cx, s, args)


def _text(cx: Context, v: AbsVal, what: str) -> Operand:
    """A string argument."""
    o = resolve(cx, v)
    if is_text(o):
        return operators.scalar_operand(cx, o)
    cx.refuse("T2C226", f"{what} is given {describe(cx, v)}", "pass a string")


def _plain(name: str, low: int, high: int) -> Handler:
    """A method that is one row: only strings as arguments."""

    def call(cx: Context, s: Text, args: list[AbsVal]) -> AbsVal:
        if not low <= len(args) <= high:
            cx.refuse("T2C230", f"str.{name}() is called with {len(args)} arguments here", "pass fewer arguments")
        return cx.scalar(f"str.{name}", operators.scalar_operand(cx, s), *(_text(cx, a, name) for a in args))

    return call


def _strip(name: str) -> Handler:
    plain = _plain(name, 0, 1)

    def call(cx: Context, s: Text, args: list[AbsVal]) -> AbsVal:
        return plain(cx, s, [a for a in args if not (isinstance(a, Static) and a.value is None)])

    return call


def _affix(name: str) -> Handler:
    """startswith and endswith, which also take a tuple."""
    plain = _plain(name, 1, 1)

    def call(cx: Context, s: Text, args: list[AbsVal]) -> AbsVal:
        from torch2cpp.binding.aten import elements

        choices = elements(cx, args[0]) if len(args) == 1 else None
        if choices is None:
            return plain(cx, s, args)
        out: AbsVal = Static(False)
        for c in choices:
            one = plain(cx, s, [c])
            out = one if isinstance(out, Static) else cx.scalar("or", out.operand, one.operand)
        return out

    return call


def _split(cx: Context, s: Text, args: list[AbsVal], row: str = "str.split") -> AbsVal:
    operands: list[Operand] = [operators.scalar_operand(cx, s)]
    if args:
        none = isinstance(args[0], Static) and args[0].value is None
        operands.append(None if none else _text(cx, args[0], "split"))
    if len(args) > 1:
        operands.append(operators.scalar_operand(cx, args[1]))
    value = cx.host(row, *operands, type_=ListType(STR), label="words")
    return run_time(cx, Rt(value, ListType(STR)), cx.site(None))


def _replace(cx: Context, s: Text, args: list[AbsVal]) -> AbsVal:
    if len(args) not in (2, 3):
        cx.refuse("T2C230", f"str.replace() is called with {len(args)} arguments", "pass the old and the new text")
    texts = [_text(cx, a, "replace") for a in args[:2]]
    count = [operators.scalar_operand(cx, a) for a in args[2:]]
    return cx.scalar("str.replace", operators.scalar_operand(cx, s), *texts, *count)


def _padded(name: str) -> Handler:
    """center, ljust and rjust."""

    def call(cx: Context, s: Text, args: list[AbsVal]) -> AbsVal:
        _arity(cx, name, args, 1, 2)
        fill = [_text(cx, a, name) for a in args[1:]]
        width = operators.scalar_operand(cx, index_of(cx, args[0]))
        return cx.scalar(f"str.{name}", operators.scalar_operand(cx, s), width, *fill, label="text")

    return call


def _zfill(cx: Context, s: Text, args: list[AbsVal]) -> AbsVal:
    _arity(cx, "zfill", args, 1, 1)
    width = operators.scalar_operand(cx, index_of(cx, args[0]))
    return cx.scalar("str.zfill", operators.scalar_operand(cx, s), width, label="text")


def _arity(cx: Context, name: str, args: list[AbsVal], low: int, high: int) -> None:
    if not low <= len(args) <= high:
        cx.refuse("T2C230", f"str.{name}() is called with {len(args)} arguments here", "pass what the method takes")


def _search(name: str) -> Handler:
    """count, find and their like: a part of the text, between bounds."""

    def call(cx: Context, s: Text, args: list[AbsVal]) -> AbsVal:
        _arity(cx, name, args, 1, 3)
        bounds = [operators.scalar_operand(cx, index_of(cx, a)) if not _is_none(a) else None for a in args[1:]]
        return cx.scalar(f"str.{name}", operators.scalar_operand(cx, s), _text(cx, args[0], name), *bounds)

    return call


def _is_none(v: AbsVal) -> bool:
    return isinstance(v, Static) and v.value is None


def _partition(name: str) -> Handler:
    def call(cx: Context, s: Text, args: list[AbsVal]) -> AbsVal:
        from torch2cpp.binding.convert import from_operand

        _arity(cx, name, args, 1, 1)
        parts = cx.host(f"str.{name}", operators.scalar_operand(cx, s), _text(cx, args[0], name), label="parts")
        return from_operand(cx, parts)

    return call


def _splitlines(cx: Context, s: Text, args: list[AbsVal]) -> AbsVal:
    _arity(cx, "splitlines", args, 0, 1)
    keep = [bool(a.value) for a in args if isinstance(a, Static)]
    if len(keep) < len(args):
        cx.refuse("T2C226", "splitlines() with a run-time argument", "write True or False")
    value = cx.host("str.splitlines", operators.scalar_operand(cx, s), *keep, label="lines")
    return run_time(cx, Rt(value, ListType(STR)), cx.site(None))


def _join(cx: Context, s: Text, iterable: AbsVal) -> AbsVal:
    """`s.join(iterable)`"""
    from torch2cpp.binding.comprehensions import collect, is_lazy
    from torch2cpp.binding.iteration import known_items
    from torch2cpp.binding.strings import concatenated

    iterable = snapshot(cx, iterable)
    o = resolve(cx, iterable)
    if is_lazy(o) or (isinstance(o, Iter) and o.kind == "map"):
        o = resolve(cx, collect(cx, iterable))
    if isinstance(o, Rt) and isinstance(o.type, ListType):
        return _join_run_time(cx, s, o)
    items = list(o.elems) if isinstance(o, ListObj) else known_items(cx, iterable)
    if items is None:
        o = resolve(cx, collect(cx, iterable))
        assert isinstance(o, Rt)
        return _join_run_time(cx, s, o)
    parts: list[Text] = []
    for i, item in enumerate(items):
        item = resolve(cx, item)
        if not is_text(item):
            name = item.type.kind if isinstance(item, Host) else type(getattr(item, "value", item)).__name__
            cx.raise_(TypeError, f"sequence item {i}: expected str instance, {name} found")
        parts += [item] if i == 0 else [s, item]
    return concatenated(cx, parts)


def _join_run_time(cx: Context, s: Text, o: Rt) -> AbsVal:
    assert isinstance(o.type, ListType)
    if o.type.elem == OptionalType(STR):
        from torch2cpp.binding.calls import call_python
        from torch2cpp.binding.in_python.string_functions import join

        return call_python(cx, join, [s, o], {})  # type: ignore[arg-type]
    if o.type.elem != STR and str(o.type.elem) != "never":
        cx.refuse("T2C226", f"join() of a {o.type}", "join strings: ', '.join(str(x) for x in xs)")
    return cx.scalar("str.join", operators.scalar_operand(cx, s), o.operand, label="text")


_NO_ARGUMENTS = (
    "upper", "lower", "title", "capitalize", "swapcase", "isdigit", "isalpha", "isalnum", "isdecimal", "isnumeric",
    "isupper", "islower", "isspace", "isascii",
)  # fmt: skip
_METHODS: dict[str, Handler] = {
    **{n: _plain(n, 0, 0) for n in _NO_ARGUMENTS},
    **{n: _plain(n, 1, 1) for n in ("removeprefix", "removesuffix")},
    **{n: _strip(n) for n in ("strip", "lstrip", "rstrip")},
    **{n: _affix(n) for n in ("startswith", "endswith")},
    **{n: _search(n) for n in ("count", "find", "rfind", "index", "rindex")},
    **{n: _padded(n) for n in ("center", "ljust", "rjust")},
    **{n: _partition(n) for n in ("partition", "rpartition")},
    "split": _split, "rsplit": functools.partial(_split, row="str.rsplit"), "splitlines": _splitlines,
    "replace": _replace, "zfill": _zfill,
}  # fmt: skip
