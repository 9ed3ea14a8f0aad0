"""Which branches the inputs took, seen by the reference interpreter; what none took is not verified."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import final

from torch2cpp.hostir.interpret import Interpreter
from torch2cpp.hostir.ops import Block, If, Loop, Raise, walk
from torch2cpp.hostir.program import Program
from torch2cpp.parity.written_branches import written_branches
from torch2cpp.spans import Span, source_lines

#: A raise statement, at the start of a line or after a colon.
_RAISE = re.compile(r"(^|:)\s*raise\b")


@final
@dataclass(frozen=True, slots=True)
class Coverage:
    """Ways of the author's branches: those there are, and those taken. Unrolled copies count once."""

    ways: frozenset[tuple[Span, str]]
    taken: frozenset[tuple[Span, str]]

    @property
    def missed(self) -> tuple[tuple[Span, str], ...]:
        """Ways that no input took, in order of the source."""
        return tuple(sorted(self.ways - self.taken, key=lambda w: (w[0].file, w[0].line, w[0].column, w[1])))


def coverage(program: Program, interpreters: Iterable[Interpreter]) -> Coverage:
    """What was taken in the runs of the given interpreters of `program`."""
    ways: set[tuple[Span, str]] = set()
    taken: set[tuple[Span, str]] = set()
    seen = list(interpreters)
    for function in (*program.entries.values(), *program.functions.values()):
        for op in walk(function.body):
            if isinstance(op, If) and _is_written(op):
                for value, arm in ((True, op.then), (False, op.orelse)):
                    way = (op.span, "true" if value else "false")
                    if not _is_pythons_own(arm):
                        ways.add(way)
                    if any(value in i.taken.get(op, ()) for i in seen):
                        taken.add(way)
            elif isinstance(op, Loop) and _is_written(op):
                ways.add((op.span, "body"))
                if any(max(i.iterations.get(op, {0})) > 0 for i in seen):
                    taken.add((op.span, "body"))
    return Coverage(frozenset(ways), frozenset(taken & ways))


def _is_written(op: If | Loop) -> bool:
    """Whether the author wrote a branch or a loop there. What has no source counts as written."""
    written = written_branches(op.span.file)
    if written is None:
        return True
    return written.decides(op.span) if isinstance(op, If) else written.loops_at(op.span)


def _is_pythons_own(arm: Block) -> bool:
    """Whether an arm raises what Python itself would raise there, such as for a wrong number of values
    to unpack, or an AssertionError: nothing that the model's author wrote as a way to go. (coverage.py
    does not count assertions as branches either.)"""
    last = arm.ops[-1] if arm.ops else None
    if isinstance(last, If):
        return _is_pythons_own(last.then) and _is_pythons_own(last.orelse)
    if not isinstance(last, Raise):
        return False
    text = source_lines(last.span.file)[last.span.line - 1 : last.span.end_line]
    return bool(text) and not any(_RAISE.search(line) for line in text)
