"""PyTorch models with data-dependent control flow, as standalone C++ projects."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from torch2cpp.diagnostics import Refused
    from torch2cpp.project import Project, transpile

__all__ = ["Project", "Refused", "transpile"]

#: Where each public name lives; loaded on first use, so that one stage can be imported alone.
_HOMES = {
    "Project": "torch2cpp.project",
    "Refused": "torch2cpp.diagnostics",
    "transpile": "torch2cpp.project",
}


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
