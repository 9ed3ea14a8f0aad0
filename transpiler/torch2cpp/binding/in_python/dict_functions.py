"""Class methods of dict."""

from __future__ import annotations

from typing import Any


def fromkeys(iterable: Any, value: Any = None) -> dict[Any, Any]:
    return {key: value for key in iterable}  # noqa: C420 - this is what fromkeys means
