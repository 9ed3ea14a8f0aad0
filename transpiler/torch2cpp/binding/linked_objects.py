"""Which objects of the model a run-time container holds by their numbers, and which come along with one."""

from __future__ import annotations

import enum
from typing import Any

import torch

from torch2cpp.hostir.pyvalues import has_fields, own_fields
from torch2cpp.hostir.types import Known

#: Objects that lead to more than this many others of their class are met one by one.
_FEW = 64

_LIBRARIES = ("torch", "numpy", "builtins", "collections", "functools", "typing")


def is_known_object(value: Any) -> bool:
    """Whether a value is an object of the model that containers hold by its number among such objects.

    What has an `==` of its own is not: numbers are equal only for one and the same object.
    """
    if isinstance(value, torch.nn.Module):
        return True
    cls = type(value)
    if value is None or isinstance(value, type | enum.Enum) or cls.__module__.partition(".")[0] in _LIBRARIES:
        return False
    plain = has_fields(value) and all(b is object or b.__module__ != "builtins" for b in cls.__mro__)
    return plain and getattr(cls, "__eq__", None) is object.__eq__


def with_linked(value: Any) -> list[Known]:
    """The object, and those of its class that its fields lead to: what a walk from it may meet next.

    To learn them at once saves a round of binding for each.
    """
    found = {Known(value): None}
    left = [value]
    while left:
        for x in _in_fields(left.pop()):
            if type(x) is type(value) and Known(x) not in found:
                found[Known(x)] = None
                left.append(x)
                if len(found) > _FEW:
                    return [Known(value)]
    return list(found)


def _in_fields(value: Any) -> list[Any]:
    out: list[Any] = []
    for x in own_fields(value).values():
        out += list(x.values()) if isinstance(x, dict) else x if isinstance(x, list | tuple) else [x]
    return out
