"""`xs.__getitem__` and its like: operators of containers as methods, for `max(ids, key=lengths.__getitem__)`."""

from __future__ import annotations

from torch2cpp.binding import operators
from torch2cpp.binding.context import Context
from torch2cpp.binding.convert import resolve
from torch2cpp.binding.values import NONE, AbsVal, DictObj, ListObj, Native, Rt, Static, Tup
from torch2cpp.hostir.types import DictType, ListType, SetType


def container_dunder(cx: Context, obj: AbsVal, name: str) -> Native | None:
    """The method, where the container's class has it."""
    from torch2cpp.binding.builtin_functions import builtin_handler
    from torch2cpp.binding.container_operators import contains
    from torch2cpp.binding.item_writes import set_item
    from torch2cpp.binding.items import get_item

    o = resolve(cx, obj)
    is_container = isinstance(o, ListObj | DictObj | Tup) or (
        isinstance(o, Rt) and isinstance(o.type, ListType | DictType | SetType)
    )
    if not is_container and not (isinstance(o, Static) and type(o.value) in (list, dict, tuple, set)):
        return None
    if name == "__setitem__" and not isinstance(o, Tup):

        def put(c: Context, args: list[AbsVal], kwargs: dict[str, AbsVal]) -> AbsVal:
            set_item(c, obj, *args)
            return NONE

        return Native(name, put)
    match name:
        case "__getitem__" if not (isinstance(o, Rt) and isinstance(o.type, SetType)):
            return Native(name, lambda c, args, kwargs: get_item(c, obj, *args))
        case "__contains__":
            return Native(name, lambda c, args, kwargs: contains(c, obj, *args))
        case "__eq__" | "__ne__":
            sign = "==" if name == "__eq__" else "!="
            return Native(name, lambda c, args, kwargs: operators.compare(c, sign, obj, *args))
        case "__len__":
            length = builtin_handler(len)
            assert length is not None
            return Native(name, lambda c, args, kwargs: length(c, [obj], {}))
    return None
