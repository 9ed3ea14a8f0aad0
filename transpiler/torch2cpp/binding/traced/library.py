"""Which Python objects belong to a library, and how the binding takes them as a whole."""

from __future__ import annotations

import inspect
import sys
from functools import cache
from typing import Any

from torch2cpp.binding.attributes import Missing
from torch2cpp.binding.context import Context
from torch2cpp.binding.traced.explore import NotTraced, call_whole
from torch2cpp.binding.traced.objects import library_class
from torch2cpp.binding.values import AbsVal, Native, Static

#: Libraries that the binding knows itself.
_KNOWN = ("torch", "numpy", "torch2cpp", "builtins")


@cache
def _module_is_library(name: str) -> bool:
    if name.startswith("torch.distributions."):
        return True
    if name.partition(".")[0] in _KNOWN:
        return False
    file = getattr(sys.modules.get(name), "__file__", None) or ""
    return "site-packages" in file.replace("\\", "/").split("/")


def is_library(value: Any) -> bool:
    """Whether the code behind a function, class or object is an installed library's (torch and numpy aside)."""
    owner = value if hasattr(value, "__qualname__") else type(value)
    return _module_is_library(getattr(owner, "__module__", None) or "")


def call_if_library(
    cx: Context, value: Any, args: list[AbsVal], kwargs: dict[str, AbsVal]
) -> tuple[AbsVal | None, str | None]:
    """The result of library code taken as a whole, or the reason why that is not possible."""
    name = getattr(value, "__name__", type(value).__name__)
    try:
        return call_whole(cx, value, args, kwargs, name), None
    except NotTraced as error:
        return None, str(error)


def library_attribute(cx: Context, obj: AbsVal, name: str) -> AbsVal:
    """`obj.name` of a library object: a method, or a value. Raises Missing."""
    cls = library_class(cx, obj)
    assert cls is not None
    member = inspect.getattr_static(cls.library, name, None)
    if callable(member) or isinstance(member, classmethod | staticmethod):

        def method(o: Any, *args: Any, **kwargs: Any) -> Any:
            return getattr(o, name)(*args, **kwargs)

        return Native(name, lambda c, a, k: _traced(c, method, [obj, *a], k, name))
    absent = object()

    def get(o: Any) -> Any:
        return getattr(o, name, absent)

    found = _traced(cx, get, [obj], {}, name)
    if isinstance(found, Static) and found.value is absent:
        raise Missing(f"'{cls.library.__name__}' object has no attribute '{name}'")
    return found


def library_method(cx: Context, obj: AbsVal, name: str) -> AbsVal | None:
    """A (special) method of a library object, bound to it; None if its class has none."""
    cls = library_class(cx, obj)
    assert cls is not None
    return library_attribute(cx, obj, name) if callable(inspect.getattr_static(cls.library, name, None)) else None


def set_library_attribute(cx: Context, obj: AbsVal, name: str, value: AbsVal) -> None:
    """`obj.name = value` of a library object."""
    _traced(cx, lambda o, v: setattr(o, name, v), [obj, value], {}, name)


def _traced(cx: Context, function: Any, args: list[AbsVal], kwargs: dict[str, AbsVal], name: str) -> AbsVal:
    try:
        return call_whole(cx, function, args, kwargs, name)
    except NotTraced as error:
        cx.refuse("T2C215", f"{name!r} of a library's object: {error}", "take what is needed out of it in a function")
