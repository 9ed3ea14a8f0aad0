"""Containers of constants that are only looked up in: made once for the program, not in every call."""

from __future__ import annotations

import textwrap
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, final

from torch2cpp.emit import literals
from torch2cpp.emit.names import Scope
from torch2cpp.hostir.ops import Block, HostOp, Value, operands, values_in, walk
from torch2cpp.hostir.types import DictType, ListType, ScalarType, SetType, Type

#: Fewer entries stand where they are used.
LEAST = 8
_MAKERS = {"list.new": 1, "set.new": 1, "dict.new": 2}
_READERS = frozenset(
    {
        "list.get", "list.len", "list.contains", "list.index", "list.count",
        "dict.get", "dict.find", "dict.contains", "dict.len", "set.contains", "set.len",
    }
)  # fmt: skip
_CPP = {"str": "std::string_view", "int": "int64_t", "float": "double", "bool": "bool"}


def constant_tables(body: Block) -> list[HostOp]:
    """The operations that make such containers: of constants, and read by their own functions only."""
    made = {op.result: op for op in walk(body) if isinstance(op, HostOp) and op.result is not None and _is_constant(op)}
    if not made:
        return []
    others: Counter[Value] = Counter()
    for op in walk(body):
        reads = isinstance(op, HostOp) and op.name in _READERS
        for i, tree in enumerate(operands(op)):
            others.update(v for v in values_in(tree) if v in made and not (reads and i == 0))
    return [op for value, op in made.items() if not others[value]]


def _is_constant(op: HostOp) -> bool:
    width = _MAKERS.get(op.name)
    if width is None or op.result is None or len(op.args) < LEAST * width:
        return False
    kinds = _entry_types(op.result.type)
    return kinds is not None and all(
        type(x).__name__ == kinds[i % width].kind and not (isinstance(x, str) and "\0" in x)
        for i, x in enumerate(op.args)
    )


def _entry_types(t: Type) -> tuple[ScalarType, ...] | None:
    """The scalars that an entry is of."""
    match t:
        case ListType() | SetType():
            found: tuple[Type, ...] = (t.elem,)
        case DictType():
            found = (t.key, t.value)
        case _:
            return None
    plain = all(isinstance(x, ScalarType) and not x.of and x.kind in _CPP for x in found)
    return found if plain else None  # type: ignore[return-value]


@final
@dataclass(frozen=True, slots=True)
class TableView:
    """One table: a function of the host program that makes it when it is first called."""

    name: str
    type: str
    #: The C++ type of an entry.
    entry: str
    #: The entries, in lines.
    entries: tuple[str, ...]


class Tables:
    """The tables of a program, equal ones once."""

    def __init__(self, taken: set[str]) -> None:
        self._names = Scope(taken)
        self._made: dict[Any, TableView] = {}

    def name(self, op: HostOp, spell: Callable[[Type], str]) -> str:
        """The function that gives the table of an operation."""
        assert op.result is not None
        spelled = spell(op.result.type)
        key = (spelled, tuple((type(x), x.hex() if isinstance(x, float) else x) for x in op.args))
        if key not in self._made:
            width = _MAKERS[op.name]
            kinds = _entry_types(op.result.type)
            assert kinds is not None
            cpp = [_CPP[k.kind] for k in kinds]
            texts = [literals.constant(x) for x in op.args]
            entries = [f"{{{', '.join(texts[i : i + width])}}}" for i in range(0, len(texts), width)]
            entries = texts if width == 1 else entries
            lines = textwrap.wrap(", ".join(e.replace(" ", "\0") for e in entries), 110, break_long_words=False,
                                  break_on_hyphens=False)  # fmt: skip
            self._made[key] = TableView(
                self._names.fresh(f"{op.result.name.removesuffix('_table').removesuffix('table') or 'constant'}_table"),
                spelled,
                cpp[0] if width == 1 else f"std::pair<{', '.join(cpp)}>",
                tuple(line.replace("\0", " ") for line in lines),
            )
        return self._made[key].name

    @property
    def views(self) -> tuple[TableView, ...]:
        """All tables, in the order of their first use."""
        return tuple(self._made.values())
