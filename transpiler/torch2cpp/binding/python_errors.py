"""What Python raises for an operation on one option of a choice, where it cannot be done at all.

A value taken out of a dict of unlike values may be a tensor or a string; `v + 1` then works for one of them.
What the binding cannot make sense of for the other is asked of Python itself, on a value of the same types:
if that raises TypeError, the program does so too, should the option ever be there.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import torch

from torch2cpp.binding.context import Context
from torch2cpp.binding.convert import resolve
from torch2cpp.binding.values import AbsVal, Bound, Host, Static, Tensor
from torch2cpp.hostir.types import BOOL, FLOAT, INT, STR

_SAMPLES: dict[Any, Any] = {BOOL: True, INT: 1, FLOAT: 1.5, STR: "a"}
#: Largest sample: its sizes do not matter to a TypeError.
_MAX_ELEMENTS = 4096


class _Unknown(Exception):
    """There is no sample of this value."""


def python_error(cx: Context, name: str, args: tuple[Any, ...]) -> TypeError | None:
    """What Python raises for an operation of the binding; None where it raises nothing, or that cannot be told."""
    try:
        run = _operation(cx, name, args)
    except _Unknown:
        return None
    try:
        run()
    except TypeError as error:
        return error
    except Exception:
        return None
    return None


def _operation(cx: Context, name: str, args: tuple[Any, ...]) -> Callable[[], Any]:
    from torch2cpp.binding.operators import BINARY, COMPARE

    match name, args:
        case "binary", (sign, a, b):
            x, y = _sample(cx, a), _sample(cx, b)
            return lambda: BINARY[sign][0](x, y)
        case "compare", (sign, a, b) if sign not in ("==", "!="):
            x, y = _sample(cx, a), _sample(cx, b)
            return lambda: COMPARE[sign][0](x, y)
        case "get_item", (a, b):
            x, y = _sample(cx, a), _sample(cx, b)
            return lambda: operator.getitem(x, y)
        case "contains", (a, b):
            x, y = _sample(cx, a), _sample(cx, b)
            return lambda: operator.contains(x, y)
        case "_call", (callee, list(given), dict(named)):
            f = _callee(cx, callee)
            values = [_sample(cx, a) for a in given]
            by_name = {k: _sample(cx, a) for k, a in named.items()}
            return lambda: f(*values, **by_name)
    raise _Unknown


def _callee(cx: Context, callee: AbsVal) -> Callable[..., Any]:
    """A function of torch or a builtin, which does nothing but compute."""
    from torch2cpp.binding.builtin_table import TABLE

    if isinstance(callee, Bound):
        raise _Unknown
    f = callee.value if isinstance(callee, Static) else None
    try:
        known = f in TABLE and f is not print
    except TypeError:
        known = False
    is_torch = callable(f) and (getattr(f, "__module__", None) or "").partition(".")[0] == "torch"
    if f is None or not (known or (is_torch and not isinstance(f, torch.nn.Module | type))):
        raise _Unknown
    return f  # type: ignore[no-any-return]


def _sample(cx: Context, v: AbsVal) -> Any:
    o = resolve(cx, v)
    match o:
        case Static(value) if isinstance(value, bool | int | float | str | None | torch.dtype):
            return value
        case Host() if o.type in _SAMPLES:
            return _SAMPLES[o.type]
        case Tensor():
            sizes = [d if isinstance(d, int) else d.hints[0] for d in o.meta.dims]
            if torch.Size(sizes).numel() > _MAX_ELEMENTS:
                sizes = [1] * len(sizes)
            return torch.zeros(sizes, dtype=o.meta.dtype)
    raise _Unknown
