"""Places in the user's source."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Span:
    """One place in a Python file; lines and columns count from 1."""

    #: File as Python knows it (``__code__.co_filename``).
    file: str
    #: First line, from 1.
    line: int
    #: First column, from 1.
    column: int
    #: Last line, from 1.
    end_line: int
    #: Column after the last character, from 1.
    end_column: int

    def __str__(self) -> str:
        return f"{Path(self.file).name}:{self.line}"

    @property
    def lines(self) -> str:
        """``18`` or ``18-32``."""
        return str(self.line) if self.line == self.end_line else f"{self.line}-{self.end_line}"


#: For what has no place in the user's source, such as the entry's own input checks.
NOWHERE = Span("<torch2cpp>", 1, 1, 1, 1)


@lru_cache(maxsize=256)
def source_lines(file: str) -> tuple[str, ...]:
    """The lines of a file, or nothing when it cannot be read."""
    try:
        return tuple(Path(file).read_text(encoding="utf-8").splitlines())
    except OSError:
        return ()
