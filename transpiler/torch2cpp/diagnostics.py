"""What the user is told when a program is refused: code, place, source line, caret, reason, remedy."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from torch2cpp.spans import Span, source_lines


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """One problem in the user's program."""

    #: Stable identifier such as ``T2C101``; listed in docs/limitations.md.
    code: str
    span: Span
    #: What was found.
    message: str
    #: What to write instead.
    remedy: str
    #: Further places, such as the two assignments that do not join.
    notes: tuple[tuple[Span, str], ...] = field(default=())

    def render(self) -> str:
        """The text shown on the terminal."""
        lines = [f"{self.span.file}:{self.span.line}:{self.span.column}: error {self.code}: {self.message}"]
        lines += _excerpt(self.span)
        for span, text in self.notes:
            lines.append(f"  note: {Path(span.file).name}:{span.line}: {text}")
            lines += _excerpt(span)
        lines.append(f"  help: {self.remedy}")
        return "\n".join(lines)


def _excerpt(span: Span) -> list[str]:
    text = source_lines(span.file)
    if not 1 <= span.line <= len(text):
        return []
    line = text[span.line - 1]
    width = (span.end_column if span.end_line == span.line else len(line) + 1) - span.column
    return [f"    {line}", "    " + " " * (span.column - 1) + "^" * max(1, width)]


class Refused(Exception):
    """The program cannot be transpiled; carries one or more diagnostics."""

    def __init__(self, diagnostics: list[Diagnostic]) -> None:
        super().__init__("\n".join(d.render() for d in diagnostics))
        self.diagnostics = diagnostics


class SignatureError(Exception):
    """The examples cannot be the inputs of one program, or do not fit the entry's parameters."""
