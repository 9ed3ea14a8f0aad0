"""`functools.cached_property`: computed when first read, then an attribute like any other."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any

from torch2cpp.binding.calls import call
from torch2cpp.binding.context import Context
from torch2cpp.binding.control import branch
from torch2cpp.binding.optional import held, is_none
from torch2cpp.binding.values import AbsVal, Rt, Static
from torch2cpp.hostir.types import OptionalType

Store = Callable[[Context, AbsVal, str, AbsVal], None]


def cached_property(cls: type, name: str) -> functools.cached_property[Any] | None:
    """The cached property of that name, if the class has one."""
    member = inspect.getattr_static(cls, name, None)
    return member if isinstance(member, functools.cached_property) else None


def read(cx: Context, obj: AbsVal, member: functools.cached_property[Any], have: AbsVal | None, store: Store) -> AbsVal:
    """The value; `have` is that of the attribute, None where it was never read, optional where that depends."""
    name = member.attrname
    assert name is not None

    def compute() -> AbsVal:
        value = call(cx, Static(member.func), [obj], {})
        # What is known while transpiling is the same each time.
        if not isinstance(value, Static):
            store(cx, obj, name, value)
        return value

    if have is None:
        return compute()
    if isinstance(have, Rt) and isinstance(have.type, OptionalType):
        absent = is_none(cx, have)
        if isinstance(absent, Static):
            return compute() if absent.value else held(cx, have)
        return branch(cx, absent.operand, compute, lambda: held(cx, have), name, cx.span)
    return have
