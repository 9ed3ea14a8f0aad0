"""What `@dataclass` gives a class, and the functions of `dataclasses`: comparison, copies, conversions."""

from __future__ import annotations

import dataclasses
import functools
import types
from typing import Any

from torch2cpp.binding import operators
from torch2cpp.binding.builtin_table import TABLE, builtin
from torch2cpp.binding.context import Context
from torch2cpp.binding.convert import describe, resolve
from torch2cpp.binding.values import AbsVal, DictObj, ListObj, Static, Tup

_ORDERINGS = {"<": "__lt__", "<=": "__le__", ">": "__gt__", ">=": "__ge__"}


def generated(cls: type, name: str) -> bool:
    """Whether `@dataclass` wrote this method of the class."""
    method: Any = getattr(cls, name, None)
    while hasattr(method, "__wrapped__"):
        method = method.__wrapped__
    return (
        dataclasses.is_dataclass(cls)
        and isinstance(method, types.FunctionType)
        and method.__code__.co_filename == "<string>"
    )


def _class_of(cx: Context, v: AbsVal) -> type | None:
    from torch2cpp.binding.objects import python_class

    cls = python_class(cx, v)
    return cls if cls is not None and dataclasses.is_dataclass(cls) else None


def comparison(cx: Context, sign: str, a: AbsVal, b: AbsVal) -> AbsVal | None:
    """`a <sign> b` by a generated method: as the tuples of their compared fields; None where there is none."""
    cls = _class_of(cx, a)
    wanted = _ORDERINGS.get(sign, "__eq__")
    if cls is None or not generated(cls, wanted):
        return None
    if _class_of(cx, b) is not cls:
        return Static(sign == "!=") if sign in ("==", "!=") else None
    names = [f.name for f in dataclasses.fields(cls) if f.compare]
    left, right = (Tup(tuple(_field(cx, v, n) for n in names)) for v in (a, b))
    return operators.compare(cx, sign, left, right)


def _field(cx: Context, obj: AbsVal, name: str) -> AbsVal:
    from torch2cpp.binding.attributes import get_attribute
    from torch2cpp.binding.variables import use

    return use(cx, get_attribute(cx, obj, name))


def _fields(cx: Context, obj: AbsVal, function: str) -> tuple[dataclasses.Field[Any], ...]:
    cls = _class_of(cx, obj)
    if cls is None:
        cx.raise_(TypeError, f"{function}() should be called on dataclass instances")
    return dataclasses.fields(cls)


@builtin(dataclasses.replace)
def _replace(cx: Context, args: list[AbsVal], kwargs: dict[str, AbsVal]) -> AbsVal:
    from torch2cpp.binding.objects import instantiate

    cls = _class_of(cx, args[0])
    if cls is None:
        cx.raise_(TypeError, "replace() should be called on dataclass instances")
    changes = dict(kwargs)
    for f in dataclasses.fields(cls):
        if not f.init:
            if f.name in changes:
                cx.raise_(ValueError, f"field {f.name} is declared with init=False, it cannot be specified with "
                                      "replace()")  # fmt: skip
        elif f.name not in changes:
            changes[f.name] = _field(cx, args[0], f.name)
    return instantiate(cx, cls, [], changes)


@builtin(dataclasses.fields)
def _fields_of(cx: Context, args: list[AbsVal], kwargs: dict[str, AbsVal]) -> AbsVal:
    return Static(_fields(cx, args[0], "fields"))


@builtin(dataclasses.is_dataclass)
def _is_dataclass(cx: Context, args: list[AbsVal], kwargs: dict[str, AbsVal]) -> AbsVal:
    return Static(_class_of(cx, args[0]) is not None)


def _convert(cx: Context, v: AbsVal, as_dict: bool) -> AbsVal:
    """A field's value, with dataclasses inside converted and everything else deeply copied."""
    from torch2cpp.binding.builtin_iterables import _deepcopy
    from torch2cpp.binding.containers import new_dict, new_list
    from torch2cpp.binding.objects import named_tuple

    o = resolve(cx, v)
    cls = _class_of(cx, v)
    inner = functools.partial(_convert, cx, as_dict=as_dict)
    if cls is not None and not (isinstance(o, Static) and isinstance(o.value, type)):
        items = [(f.name, inner(_field(cx, v, f.name))) for f in dataclasses.fields(cls)]
        if as_dict:
            return new_dict(cx, [(Static(k), x) for k, x in items], (cx.site(None), "asdict", len(items)))
        return Tup(tuple(x for _, x in items))
    match o:
        case Tup() if o.cls is not None and o.names:
            return named_tuple(cx, o.cls, [inner(e) for e in o.elems], {})
        case Tup():
            return Tup(tuple(inner(e) for e in o.elems))
        case ListObj() if o.kind == "list":
            return new_list(cx, [inner(e) for e in o.elems], (cx.site(None), "copy", id(v)))
        case DictObj() if o.factory is None:
            return new_dict(cx, [(Static(k), inner(x)) for k, x in o.items.items()], (cx.site(None), "copy", id(v)))
    return _deepcopy(cx, [v], {})


def _conversion(as_dict: bool, function: str) -> Any:
    def run(cx: Context, args: list[AbsVal], kwargs: dict[str, AbsVal]) -> AbsVal:
        if kwargs or len(args) != 1:
            cx.refuse("T2C230", f"{function}() with a factory", "convert the result afterwards")
        if isinstance(args[0], Static) and isinstance(args[0].value, type):
            cx.raise_(TypeError, f"{function}() should be called on dataclass instances")
        _fields(cx, args[0], function)
        with cx.at((function, cx.span.line, cx.span.column)):
            return _convert(cx, args[0], as_dict)

    return run


TABLE[dataclasses.asdict] = _conversion(True, "asdict")
TABLE[dataclasses.astuple] = _conversion(False, "astuple")


def refuse_frozen(cx: Context, cls: type, name: str, what: str) -> None:
    """Raises as a frozen dataclass does where a field of it is assigned or deleted."""
    params = getattr(cls, "__dataclass_params__", None)
    if params is not None and params.frozen and generated(cls, "__setattr__"):
        cx.raise_(dataclasses.FrozenInstanceError, f"cannot {what} field {name!r}")


__all__ = ["comparison", "describe", "generated", "refuse_frozen"]
