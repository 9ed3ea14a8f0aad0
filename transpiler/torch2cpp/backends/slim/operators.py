"""The operators that programs without libtorch have, read from the headers that declare them."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import final

from torch2cpp.emit.environment import shipped

_DECLARATION = re.compile(r"(?P<result>[\w:<>, ]+?)\s+(?P<name>\w+)\((?P<params>[^()]*)\)", re.DOTALL)
_PARAM = re.compile(r"\s*(?P<type>.+?)\s*&?\s*(?P<name>\w+)\s*", re.DOTALL)


@final
@dataclass(frozen=True, slots=True)
class Operator:
    """One C++ function of `torch2cpp::slim::op`."""

    name: str
    #: (C++ type without `const` and `&`, name in the operator's schema).
    params: tuple[tuple[str, str], ...]


def slim_folder() -> Path:
    """Headers and sources of the runtime."""
    return shipped("runtime_cpp") / "slim"


def function_name(base: str, overload: str) -> str:
    """The C++ name of an operator's overload.

    >>> function_name("add", "Tensor"), function_name("relu", ""), function_name("add_", "Tensor")
    ('add_Tensor', 'relu', 'add_in_place_Tensor')
    """
    stem = f"{base[:-1]}_in_place" if base.endswith("_") and not base.startswith("__") else base
    return f"{stem}_{overload}" if overload else stem


def declarations() -> str:
    """The text of all declarations."""
    headers = sorted((slim_folder() / "include/torch2cpp/slim").glob("operators_*.h"))
    texts = [path.read_text(encoding="utf-8").split("namespace torch2cpp::slim::op {", 1)[1] for path in headers]
    return re.sub(r"//[^\n]*", "", "\n".join(texts))


@lru_cache(maxsize=1)
def operators() -> dict[str, Operator]:
    """All declared operators by C++ name."""
    out = {}
    for match in _DECLARATION.finditer(declarations()):
        params = [_PARAM.fullmatch(p) for p in _split(match["params"])]
        kinds = tuple((" ".join(p["type"].removeprefix("const ").split()), p["name"]) for p in params if p is not None)
        out[match["name"]] = Operator(match["name"], kinds)
    return out


def _split(params: str) -> list[str]:
    """At commas outside of angle brackets.

    >>> _split("A<B, C> a, D d")
    ['A<B, C> a', ' D d']
    """
    return [p for p in re.split(r",(?![^<]*>)", params) if p.strip()]
