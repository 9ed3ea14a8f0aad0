"""What every NamedTuple class has: `_replace`, `_asdict`, `_make` and `_fields`."""

from __future__ import annotations

from typing import Any

from torch2cpp.binding.context import Context
from torch2cpp.binding.values import AbsVal, Native, Static, Tup


def is_class(value: Any) -> bool:
    """Whether a value is a NamedTuple class."""
    return isinstance(value, type) and issubclass(value, tuple) and hasattr(value, "_fields")


def class_attribute(cls: Any, name: str) -> AbsVal | None:
    """`cls._make` and `cls._fields`; None for other names."""
    if name == "_fields":
        return Static(cls._fields)
    if name != "_make":
        return None

    def make(cx: Context, args: list[AbsVal], kwargs: dict[str, AbsVal]) -> AbsVal:
        from torch2cpp.binding.objects import named_tuple
        from torch2cpp.binding.unpacking import unpack

        return named_tuple(cx, cls, unpack(cx, args[0], len(cls._fields), None), {})

    return Native(name, make)


def attribute(o: Tup, name: str) -> AbsVal | None:
    """The methods of an instance; None for other names."""
    cls: Any = o.cls
    if not is_class(cls):
        return None
    if name == "_replace":
        return Native(name, lambda cx, args, kwargs: _replace(cx, o, cls, kwargs))
    if name == "_asdict":
        return Native(name, lambda cx, args, kwargs: _as_dict(cx, o))
    return class_attribute(cls, name)


def _replace(cx: Context, o: Tup, cls: Any, changes: dict[str, AbsVal]) -> AbsVal:
    from torch2cpp.binding.objects import named_tuple

    wrong = [k for k in changes if k not in cls._fields]
    if wrong:
        cx.raise_(ValueError, f"Got unexpected field names: {wrong!r}")
    return named_tuple(cx, cls, [], dict(zip(cls._fields, o.elems)) | changes)


def _as_dict(cx: Context, o: Tup) -> AbsVal:
    from torch2cpp.binding.containers import new_dict

    return new_dict(cx, [(Static(n), e) for n, e in zip(o.names, o.elems)], cx.site(None))
