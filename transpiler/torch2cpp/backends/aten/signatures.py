"""What C++ offers for an ATen operator, read from the installed headers.

Each header names the schema above each function, so an overload of the operator is matched to one
C++ signature exactly: `at::name(...)`, a method of `at::Tensor`, or `at::_ops::name_overload::call(...)`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Literal, final

import torch

Form = Literal["function", "method", "dispatch"]

_FUNCTION = re.compile(
    r"// aten::(?P<schema>[\w.]+)\([^\n]*\n"
    r"inline (?P<result>[^\n(]*?)\b(?P<scope>Tensor::)?(?P<name>\w+)\((?P<params>[^\n]*)\) (?:const )?\{"
)
_METHOD = re.compile(r"^  [\w:<>,& ]+? (?P<name>\w+)\((?P<params>[^\n]*)\) const;$", re.MULTILINE)
_DISPATCH = re.compile(
    r"struct TORCH_API (?P<name>\w+) \{\n\s*using schema = [^\n]*\n.*?"
    r"const char\* overload_name = \"(?P<overload>\w*)\";.*?"
    r"static (?P<result>[^\n]*?) call\((?P<params>[^\n]*)\);",
    re.DOTALL,
)


@final
@dataclass(frozen=True, slots=True)
class CppParam:
    """One parameter: its type without a leading `const`, and without the `&` that goes with that."""

    type: str
    name: str
    default: str | None


@final
@dataclass(frozen=True, slots=True)
class CppSignature:
    """One callable; `schema` is `sum.dim_IntList` or `relu`."""

    form: Form
    name: str
    schema: str
    params: tuple[CppParam, ...]


def include_root() -> Path:
    """The folder of the installed torch headers."""
    return Path(torch.__file__).parent / "include"


@lru_cache(maxsize=1)
def _methods() -> dict[str, tuple[CppSignature, ...]]:
    text = (include_root() / "ATen/core/TensorBody.h").read_text(encoding="utf-8")
    # Schemas stand above the definitions, default arguments in the declarations.
    declared = {
        (m["name"], _types(params)): params
        for m in _METHOD.finditer(text)
        if not m["name"].endswith("_symint") and (params := _params(m["params"])) is not None
    }
    out: dict[str, list[CppSignature]] = {}
    for m in _FUNCTION.finditer(text):
        if m["scope"] and not m["name"].endswith("_symint"):
            params = _params(m["params"])
            params = declared.get((m["name"], _types(params)), params)
            out.setdefault(m["name"], []).append(CppSignature("method", m["name"], m["schema"], params))
    return {name: tuple(found) for name, found in out.items()}


def _types(params: tuple[CppParam, ...]) -> tuple[str, ...]:
    return tuple(p.type for p in params)


@lru_cache(maxsize=4096)
def functions(base: str) -> tuple[CppSignature, ...]:
    """The `at::` functions called `base`."""
    path = include_root() / "ATen/ops" / f"{base}.h"
    if not path.exists():
        return ()
    text = path.read_text(encoding="utf-8")
    return tuple(
        CppSignature("function", m["name"], m["schema"], _params(m["params"]))
        for m in _FUNCTION.finditer(text)
        if m["name"] == base
    )


def methods(base: str) -> tuple[CppSignature, ...]:
    """The methods of `at::Tensor` called `base`; `self` is not among their parameters."""
    return _methods().get(base, ())


@lru_cache(maxsize=4096)
def dispatch(base: str, overload: str) -> CppSignature | None:
    """The unambiguous entry of one overload: every operator has it, with all its parameters."""
    path = include_root() / "ATen/ops" / f"{header_name(base)}_ops.h"
    if not path.exists():
        return None
    for m in _DISPATCH.finditer(path.read_text(encoding="utf-8")):
        stem = f"{base}_{overload}" if overload else base
        if m["overload"] == overload and m["name"] == stem:
            schema = f"{base}.{overload}" if overload else base
            return CppSignature("dispatch", m["name"], schema, _params(m["params"]))
    return None


def header_name(base: str) -> str:
    """The header an operator is declared in: `add_` lives in add.h, with its functional form.

    >>> header_name("add_"), header_name("relu"), header_name("__and__")
    ('add', 'relu', 'and')
    """
    root = include_root() / "ATen/ops"
    for candidate in (base, base.rstrip("_"), base.strip("_"), re.sub(r"^__i(\w+)__$", r"\1", base)):
        if candidate and (root / f"{candidate}_ops.h").exists():
            return candidate
    return base


def _params(text: str) -> tuple[CppParam, ...]:
    out = []
    for item in _split(text):
        declaration, _, default = item.partition("=")
        match = re.fullmatch(r"\s*(?:const )?(?P<type>.+?)\s*&?\s*(?P<name>\w+)\s*", declaration)
        assert match is not None, item
        type_ = match["type"].replace("::std::", "std::")
        if "&" in declaration and not declaration.lstrip().startswith("const "):
            type_ += "&"
        out.append(CppParam(type_, match["name"], default.strip() or None))
    return tuple(out)


def _split(text: str) -> list[str]:
    """Splits at the commas outside of angle brackets and braces."""
    out, depth, start = [], 0, 0
    for i, c in enumerate(text):
        depth += (c in "<({") - (c in ">)}")
        if c == "," and depth == 0:
            out.append(text[start:i])
            start = i + 1
    return [*out, text[start:]] if text.strip() else []
