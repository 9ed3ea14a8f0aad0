"""Methods of str on what may hold None."""

from __future__ import annotations


def join(separator: str, items: list[str | None]) -> str:
    texts = []
    for i, item in enumerate(items):
        if item is None:
            raise TypeError(f"sequence item {i}: expected str instance, NoneType found")
        texts.append(item)
    return separator.join(texts)
