"""Which backends have code for another machine than this one."""

from __future__ import annotations

from torch2cpp.backends.registry import AUTO, DEFAULT
from torch2cpp.toolchain.targets.target import Target, TargetError

#: Why a backend has none.
_NATIVE_ONLY = {
    AUTO: "it measures the candidates, and an emulated processor's times mean nothing",
    "openvino": "its libraries for other machines are not fetched yet",
}


def check_served(backend: str, target: Target) -> None:
    """Raises TargetError, with another way, where the backend has no code for the target."""
    if not target.native and backend in _NATIVE_ONLY:
        raise TargetError(
            f"backend {backend} has no code for {target.name}: {_NATIVE_ONLY[backend]}; take --backend {DEFAULT}"
        )
