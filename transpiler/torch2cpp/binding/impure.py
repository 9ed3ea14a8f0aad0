"""Calls that must not be run while transpiling: their result differs from run to run, or they reach outside."""

from __future__ import annotations

import builtins
import types
from typing import Any

#: Modules whose functions give another result each time, or act on the machine.
_MODULES = {"time", "random", "secrets", "uuid", "datetime", "socket", "subprocess", "shutil", "urllib"}
_BUILTINS = {
    getattr(builtins, n)
    for n in ("eval", "exec", "open", "input", "locals", "globals", "vars", "compile", "__import__", "breakpoint")
}
#: Parts of torch that compute gradients or transform functions.
_GRADIENTS = ("torch.autograd", "torch._functorch", "torch.func")


def reason_not_to_call(value: Any) -> tuple[str, str] | None:
    """What is wrong with calling this Python object in deployed code, and the way out; None if nothing is."""
    name = getattr(value, "__qualname__", repr(value))
    module = getattr(value, "__module__", None) or ""
    owner = getattr(value, "__self__", None)
    owner_module = "" if owner is None or isinstance(owner, types.ModuleType) else type(owner).__module__
    try:
        if value in _BUILTINS:
            return f"{name}() in deployed code", "do this outside of the model, and pass the result in"
    except TypeError:
        return None
    for m in (module, owner_module):
        if m.partition(".")[0] in _MODULES or m.startswith("numpy.random"):
            return f"{m}.{name}() gives another result each time", "pass the value in as an input"
    if isinstance(owner, types.ModuleType) and owner.__name__ in _MODULES:
        return f"{owner.__name__}.{name}() gives another result each time", "pass the value in as an input"
    gradients = any(module == g or module.startswith(f"{g}.") for g in _GRADIENTS)
    if gradients and isinstance(value, types.FunctionType):
        return f"{module}.{name}: deployed code computes no gradients", "compute what it gives in closed form"
    return None
