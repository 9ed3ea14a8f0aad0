"""The backends by name: the built-in ones, those registered, those that installed packages bring.

A backend of another package is found through the entry point group `torch2cpp.backends`; see docs/backends.md.
"""

from __future__ import annotations

import importlib
import importlib.util
from collections.abc import Callable
from dataclasses import dataclass
from importlib.metadata import entry_points
from typing import Any, final

from torch2cpp.backends.protocol import Backend

#: Takes every region that PyTorch's C++ can run, bit for bit as eager: what all others fall back on.
REFERENCE = "aten"
DEFAULT = "aotinductor"
#: Stands for the fastest right one of all that are installed, region by region (backends/auto.py).
AUTO = "auto"
ENTRY_POINTS = "torch2cpp.backends"


class UnknownBackend(ValueError):
    """There is no backend of that name, or what it needs is not installed; the message says which."""


@final
@dataclass(frozen=True, slots=True)
class _BuiltIn:
    module: str
    class_name: str
    #: Python packages it needs beyond torch, and the extra of this package that has them.
    needs: tuple[str, ...] = ()


_BUILT_IN = {
    "aten": _BuiltIn("aten", "AtenBackend"),
    "aotinductor": _BuiltIn("aotinductor", "AotInductorBackend"),
    "onnxruntime": _BuiltIn("onnxruntime", "OnnxRuntimeBackend", ("onnxruntime", "onnx", "onnxscript")),
    "torchscript": _BuiltIn("torchscript", "TorchScriptBackend"),
    "openvino": _BuiltIn("openvino", "OpenVinoBackend", ("openvino",)),
}
_registered: dict[str, Callable[[], Backend]] = {}


def register(name: str, factory: Callable[[], Backend]) -> None:
    """Makes a backend known under a name; what was known under it before is replaced."""
    _registered[name] = factory


def create(name: str) -> Backend:
    """A new instance of the backend. Raises UnknownBackend."""
    if name in _registered:
        return _registered[name]()
    if name in _BUILT_IN:
        known = _BUILT_IN[name]
        missing = [p for p in known.needs if importlib.util.find_spec(p) is None]
        if missing:
            raise UnknownBackend(f"backend {name} needs {', '.join(missing)}: pip install 'torch2cpp[{name}]'")
        made: Any = getattr(importlib.import_module(f"torch2cpp.backends.{known.module}"), known.class_name)()
        backend: Backend = made
        return backend
    for point in entry_points(group=ENTRY_POINTS, name=name):
        from_package: Backend = point.load()()
        return from_package
    raise UnknownBackend(f"there is no backend {name}; there are {', '.join((*names(), AUTO))}")


def names() -> tuple[str, ...]:
    """All names that `create` knows, installed or not."""
    brought = [point.name for point in entry_points(group=ENTRY_POINTS)]
    return tuple(dict.fromkeys((*_BUILT_IN, *_registered, *brought)))


def installed() -> tuple[str, ...]:
    """The names of those whose needs are met, the reference first."""
    out = []
    for name in names():
        known = _BUILT_IN.get(name) if name not in _registered else None
        if known is None or all(importlib.util.find_spec(p) is not None for p in known.needs):
            out.append(name)
    return tuple(out)
