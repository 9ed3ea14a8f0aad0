"""Where the author of a file wrote branches and loops, so that only those are counted.

A program has more branches than its author wrote: a search among the keys of a dict, a check that
torch's own code makes, the choice between values of two kinds.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass, field
from functools import lru_cache
from typing import final

from torch2cpp.spans import Span, source_lines

#: First line and column, last line and column after the last character, as in `Span`.
_Place = tuple[int, int, int, int]


@final
@dataclass(slots=True)
class WrittenBranches:
    """The places of one file."""

    #: Expressions that decide: tests, conditional expressions, `and` and `or`, comprehensions with conditions.
    deciding: set[_Place] = field(default_factory=set)
    #: Where statements begin that decide: `if`, and the patterns of `match`.
    headers: set[tuple[int, int]] = field(default_factory=set)
    #: Where loops begin: `for`, `while`.
    loops: set[tuple[int, int]] = field(default_factory=set)
    #: Comprehensions, and calls that consume a generator expression.
    comprehensions: set[_Place] = field(default_factory=set)

    def decides(self, span: Span) -> bool:
        """Whether the author wrote a decision at this place."""
        return _place(span) in self.deciding or (span.line, span.column) in self.headers

    def loops_at(self, span: Span) -> bool:
        """Whether the author wrote a loop at this place."""
        return (span.line, span.column) in self.loops or _place(span) in self.comprehensions


@lru_cache(maxsize=256)
def written_branches(file: str) -> WrittenBranches | None:
    """What the author of a file wrote; None where the file cannot be read."""
    lines = source_lines(file)
    try:
        tree = ast.parse("\n".join(lines)) if lines else None
    except SyntaxError:
        tree = None
    if tree is None:
        return None
    out = WrittenBranches()
    for node in ast.walk(tree):
        _add(node, out, lines)
    return out


def _add(node: ast.AST, out: WrittenBranches, lines: tuple[str, ...]) -> None:
    def place(at: ast.expr | ast.stmt | ast.pattern) -> _Place:
        assert at.end_lineno is not None and at.end_col_offset is not None
        return (*_start(at, lines), at.end_lineno, _column(lines, at.end_lineno, at.end_col_offset))

    match node:
        case ast.If():
            out.headers.add(_start(node, lines))
            out.deciding.add(place(node.test))
        case ast.IfExp():
            out.deciding |= {place(node), place(node.test)}
        case ast.BoolOp():
            out.deciding.add(place(node))
            # `a and b and c` decides twice: the first decision spans a to b.
            first, *rest = (place(v) for v in node.values)
            out.deciding |= {(*first[:2], *each[2:]) for each in rest}
        case ast.match_case():
            out.headers.add(_start(node.pattern, lines))
            if node.guard is not None:
                out.deciding.add(place(node.guard))
        case ast.For() | ast.While():
            out.loops.add(_start(node, lines))
            if isinstance(node, ast.While):
                out.deciding.add(place(node.test))
        case ast.ListComp() | ast.SetComp() | ast.DictComp() | ast.GeneratorExp():
            _add_comprehension(node, place(node), out)
            out.deciding |= {place(test) for g in node.generators for test in g.ifs}
        case ast.Call(args=[ast.GeneratorExp() as inner]):
            _add_comprehension(inner, place(node), out)


def _add_comprehension(
    node: ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp, place: _Place, out: WrittenBranches
) -> None:
    out.comprehensions.add(place)
    if any(g.ifs for g in node.generators):
        out.deciding.add(place)


def _place(span: Span) -> _Place:
    return span.line, span.column, span.end_line, span.end_column


def _start(at: ast.expr | ast.stmt | ast.pattern, lines: tuple[str, ...]) -> tuple[int, int]:
    return at.lineno, _column(lines, at.lineno, at.col_offset)


def _column(lines: tuple[str, ...], line: int, offset: int) -> int:
    """A column in characters from 1, of an offset in bytes."""
    return len(lines[line - 1].encode()[:offset].decode()) + 1
