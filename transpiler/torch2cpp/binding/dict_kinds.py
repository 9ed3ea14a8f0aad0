"""Dicts that make a value for a missing key: `defaultdict` and `Counter`.

What such a dict does is part of its type, as the dict may come out of a list, a state or a join. A
`Counter` gives 0 and stores nothing; a `defaultdict` stores what its factory makes.
"""

from __future__ import annotations

import collections
from typing import Any

from torch2cpp.binding.context import Context
from torch2cpp.binding.values import AbsVal, Static

#: The factory that marks a Counter.
COUNTER = Static(collections.Counter)


def kind_of(cx: Context, factory: AbsVal, site: Any) -> str:
    """The kind of a dict type for a factory; the factory can be found again by it."""
    if factory is None:
        return "dict"
    if isinstance(factory, Static) and factory.value is collections.Counter:
        return "counter"
    name = factory.value.__name__ if isinstance(factory, Static) and isinstance(factory.value, type) else str(site)
    kind = f"default {name}"
    cx.factories[kind] = factory
    return kind


def factory_of(cx: Context, kind: str) -> AbsVal:
    """The factory of a dict type's kind; None for a plain dict."""
    if kind == "counter":
        return COUNTER
    if kind == "dict":
        return None
    if kind not in cx.factories:
        cx.refuse("T2C111", "a defaultdict whose factory is not known here", "use setdefault()")
    return cx.factories[kind]


def factory_in_model(value: Any) -> AbsVal:
    """The factory of a dict of the model."""
    if isinstance(value, collections.Counter):
        return COUNTER
    if isinstance(value, collections.defaultdict) and value.default_factory is not None:
        return Static(value.default_factory)
    return None


def is_counter(factory: AbsVal) -> bool:
    """Whether a factory marks a Counter."""
    return isinstance(factory, Static) and factory.value is collections.Counter
