"""Objects of the model whose attributes change at run time: Python itself may not run their methods.

What is known of such an object while transpiling is how it was before the first call. So `len(self.queue)`
is a call of `__len__` that reads the state, not what Python gives for the object at hand.
"""

from __future__ import annotations

import inspect
import types
from collections.abc import Iterable
from typing import Any

import torch

from torch2cpp.binding.context import Context
from torch2cpp.hostir.pyvalues import has_fields, own_fields

_PLAIN = (bool, int, float, complex, str, bytes, type, types.ModuleType, types.FunctionType, types.BuiltinFunctionType,
          torch.dtype, torch.device, torch.Size, range)  # fmt: skip


_LIBRARIES = ("torch", "builtins", "numpy", "collections", "enum", "typing", "_collections_abc")


def is_kept(cx: Context, value: Any) -> bool:
    """Whether a value is an object of a user's class with state in it."""
    return _is_object(value) and holds_state(cx, value)


def walks_itself(value: Any) -> bool:
    """Whether a user's class says how its objects are walked, which may change them."""
    if isinstance(value, type) or type(value).__module__.partition(".")[0] in _LIBRARIES:
        return False
    methods = [inspect.getattr_static(type(value), name, None) for name in ("__iter__", "__next__")]
    functions = [m for m in methods if isinstance(m, types.FunctionType)]
    return any(f.__module__.partition(".")[0] not in _LIBRARIES for f in functions)


def holds_state(cx: Context, value: Any) -> bool:
    """Whether a value of the model is, or leads to, something that the program changes."""
    facts = cx.facts
    if not (facts.state or facts.state_objects or facts.written_weights):
        return False
    owners = {owner for owner, _ in facts.state}
    return _leads_to_state(cx, value, owners, set())


def _leads_to_state(cx: Context, value: Any, owners: set[str], seen: set[int]) -> bool:
    if value is None or isinstance(value, _PLAIN) or id(value) in seen:
        return False
    if isinstance(value, torch.Tensor):
        return cx.weight_names.get(id(value)) in cx.facts.written_weights
    if id(value) in cx.facts.state_objects or str(id(value)) in owners:
        return True
    seen.add(id(value))
    return any(_leads_to_state(cx, x, owners, seen) for x in _inside(value))


def _inside(value: Any) -> Iterable[Any]:
    if isinstance(value, dict):
        return value.values()
    if isinstance(value, list | tuple | set | frozenset):
        return value
    if isinstance(value, torch.nn.Module):
        # Modules below are asked themselves.
        return [x for name, x in vars(value).items() if not isinstance(x, torch.nn.Module) and name != "_modules"]
    return own_fields(value).values() if _is_object(value) else ()


def _is_object(value: Any) -> bool:
    library = type(value).__module__.partition(".")[0] in _LIBRARIES
    return not library and not isinstance(value, (*_PLAIN, tuple)) and has_fields(value)
