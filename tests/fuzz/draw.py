"""What the generator draws from: a source of random choices, the names in reach, the text so far."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TypeVar

T = TypeVar("T")

#: The types of the programs' variables. Tensors are a letter for the dtype and the rank.
SCALARS = ("int", "float", "bool", "str")
TENSORS = ("f0", "f1", "f2", "i0", "i1", "b1")
LISTS = ("ints", "floats", "tensors")
OTHERS = ("pair", "table", "rows", "record", "maybe_int", "maybe_f1", "num")


@dataclass(slots=True)
class Loop:
    """An enclosing loop: what `break` and `continue` belong to."""

    #: Whether a `continue` here could skip what makes the loop end.
    continues: bool


@dataclass
class Draw:
    """One program being written."""

    rng: random.Random
    lines: list[str] = field(default_factory=list)
    indent: int = 0
    #: Variables that are surely assigned here, and their types.
    names: dict[str, str] = field(default_factory=dict)
    #: Helper functions in reach: name -> (types of parameters, type of result).
    helpers: dict[str, tuple[tuple[str, ...], str]] = field(default_factory=dict)
    loops: list[Loop] = field(default_factory=list)
    #: Names that statements here must not assign: counters of loops, names of an outer function.
    fixed: set[str] = field(default_factory=set)
    #: How many statements may still be written.
    budget: int = 24
    #: Type of the function's result when it has one type only.
    result: str | None = None
    #: Whether expressions inside read names of an outer scope only (a comprehension's body may not assign).
    pure: int = 0
    _count: int = 0

    def chance(self, share: float) -> bool:
        return self.rng.random() < share

    def pick(self, items: Sequence[T]) -> T:
        return items[self.rng.randrange(len(items))]

    def weighted(self, rows: Sequence[tuple[int, Callable[[], str]]]) -> str:
        """Calls one of the functions, as likely as its weight says."""
        at = self.rng.randrange(sum(w for w, _ in rows))
        for weight, make in rows:
            if at < weight:
                return make()
            at -= weight
        raise AssertionError("weights add up")

    def fresh(self, stem: str) -> str:
        """A name not used before."""
        self._count += 1
        return f"{stem}{self._count}"

    def of_type(self, type_: str) -> list[str]:
        return [n for n, t in self.names.items() if t == type_]

    def line(self, text: str) -> None:
        self.lines.append("    " * self.indent + text)

    @contextmanager
    def block(self, header: str) -> Iterator[None]:
        """Lines under a header; names first assigned in it are not sure to be assigned afterwards."""
        self.line(header)
        before, start = dict(self.names), len(self.lines)
        self.indent += 1
        try:
            yield
        finally:
            if len(self.lines) == start:
                self.line("pass")
            self.indent -= 1
            self.names = before

    @contextmanager
    def bound(self, **names: str) -> Iterator[None]:
        """Names that expressions in the body can read: the variables of a comprehension or lambda."""
        before = dict(self.names)
        self.names.update(names)
        self.pure += 1
        try:
            yield
        finally:
            self.names = before
            self.pure -= 1
