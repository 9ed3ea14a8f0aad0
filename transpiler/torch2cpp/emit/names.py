"""C++ identifiers made from Python names."""

from __future__ import annotations

import re
from typing import final

_KEYWORDS = frozenset(
    re.findall(
        r"\w+",
        """
    alignas alignof and and_eq asm auto bitand bitor bool break case catch char char8_t char16_t char32_t class
    compl concept const consteval constexpr constinit const_cast continue co_await co_return co_yield decltype
    default delete do double dynamic_cast else enum explicit export extern false float for friend goto if inline
    int long mutable namespace new noexcept not not_eq nullptr operator or or_eq private protected public register
    reinterpret_cast requires return short signed sizeof static static_assert static_cast struct switch template
    this thread_local throw true try typedef typeid typename union unsigned using virtual void volatile wchar_t
    while xor xor_eq assert errno stdin stdout stderr NULL NAN INFINITY INT_MAX INT_MIN EOF major minor unix linux
        """,
    )
)

#: Names the emitted files use themselves; a Python variable of that name gets a trailing underscore.
RESERVED = frozenset(
    {"std", "py", "torch", "torch2cpp", "Tensor", "Regions", "State", "at", "c10", "main", "int64_t", "size_t", "M_PI"}
)

#: Functions that the files of regions name without their namespace: the project's own namespace has another name.
HELPERS = frozenset(
    {"borrow", "element", "number", "own", "raise_index_error", "raised", "rethrow", "subscript", "writable"}
)

#: How generated helpers are called, by what they are for. One table, so that nothing else invents prefixes.
PREFIXES = {
    "temporary": "tmp",
    "range end": "end",
    "range step": "step",
    "finally flag": "finished",
    "broken flag": "broken",
    "exception": "error",
    "result": "result",
    "exit": "out",
}


def identifier(name: str) -> str:
    """A legal C++ identifier that looks like the Python name; numbers of names that are none of Python's are left out.

    >>> identifier("state"), identifier("default"), identifier("self.hidden"), identifier("2d"), identifier("__x")
    ('state', 'default_', 'self_hidden', 'v2d', 'x')
    >>> identifier("524:position")
    'position'
    """
    name = re.sub(r"^\d+:", "", name)
    text = re.sub(r"_+", "_", re.sub(r"[^0-9A-Za-z_]", "_", name)).lstrip("_")
    # A lone underscore is Python's "not needed"; C++ needs a name that says so.
    if not text:
        return "unused"
    if text[0].isdigit():
        text = f"v{text}"
    return f"{text}_" if text in _KEYWORDS or text in RESERVED else text


def namespace_identifier(name: str) -> str:
    """The namespace of a project.

    >>> namespace_identifier("early_exit"), namespace_identifier("own")
    ('early_exit', 'own_')
    """
    text = identifier(name)
    return f"{text}_" if text in HELPERS else text


def class_identifier(name: str) -> str:
    """A C++ class name: `left_child` -> `LeftChild`; names already in that form stay.

    >>> class_identifier("encode"), class_identifier("HTTPHead"), class_identifier("beam_step_2")
    ('Encode', 'HTTPHead', 'BeamStep2')
    >>> class_identifier("Dict44_17")
    'Dict44_17'
    """
    parts = [p for p in re.split(r"[^0-9A-Za-z]+", name) if p]
    text = "".join(p[:1].upper() + p[1:] for p in parts)
    # Two numbers side by side stay apart.
    return identifier(name if re.search(r"\d_\d", name) and name[:1].isupper() else text)


@final
class Scope:
    """Names taken so far in one C++ scope; gives each new one a spelling of its own.

    >>> scope = Scope({"regions_"})
    >>> scope.fresh("x"), scope.fresh("x"), scope.fresh("for")
    ('x', 'x_2', 'for_')
    """

    def __init__(self, taken: set[str] | frozenset[str] = frozenset()) -> None:
        self._taken = set(taken)

    def fresh(self, name: str) -> str:
        """An identifier for `name` that nothing else in the scope has."""
        base = identifier(name)
        out, n = base, 1
        while out in self._taken:
            n += 1
            out = f"{base}_{n}" if not base.endswith("_") else f"{base}{n}"
        self._taken.add(out)
        return out
