"""The lines of an emitted function as a small tree, and its text."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import final

from torch2cpp.spans import Span


@final
@dataclass(slots=True)
class Line:
    """One statement."""

    text: str
    span: Span | None = None


@final
@dataclass(slots=True)
class Braces:
    """`head { body } tail`: a loop, a lambda, a try or catch clause."""

    head: str
    body: list[Node]
    tail: str = ""
    span: Span | None = None


@final
@dataclass(slots=True)
class Branch:
    """if / else."""

    cond: str
    then: list[Node]
    orelse: list[Node]
    span: Span | None = None
    #: Whether `then` is what Python has in its `else`.
    negated: bool = False


Node = Line | Braces | Branch


@final
@dataclass(slots=True)
class Comments:
    """Writes the Python lines a statement came from, each place once in a row."""

    #: File whose name is left out of the comments.
    main_file: str
    last: str = field(default="")

    def of(self, span: Span | None, header: bool = False) -> str:
        """` // 24` or ` // layers.py:7`; a header stands for its first line only."""
        if span is None or span.file.startswith("<"):
            return ""
        lines = str(span.line) if header else span.lines
        text = lines if span.file == self.main_file else f"{Path(span.file).name}:{lines}"
        if text == self.last:
            return ""
        self.last = text
        return f"  // {text}"


def render(nodes: Sequence[Node], comments: Comments, depth: int = 1) -> Iterator[str]:
    """The text, line by line; clang-format only has to break long lines."""
    pad = "  " * depth
    closed = ""
    for node, following in zip(nodes, [*nodes[1:], None]):
        match node:
            case Line():
                yield f"{pad}{node.text}{comments.of(node.span)}"
            case Braces():
                head = f"{closed}{node.head} " if node.head else ""
                yield f"{pad}{head}{{{comments.of(node.span, header=True)}"
                yield from render(node.body, comments, depth + 1)
                # `} catch (...) {` stands on one line.
                closed = "} " if isinstance(following, Braces) and following.head.startswith("catch ") else ""
                if not closed:
                    yield f"{pad}}}{node.tail}"
            case Branch():
                yield from _branch(node, comments, depth)


def _branch(node: Branch, comments: Comments, depth: int) -> Iterator[str]:
    pad = "  " * depth
    yield f"{pad}if ({node.cond}) {{{comments.of(node.span, header=True)}"
    yield from render(node.then, comments, depth + 1)
    rest = node.orelse
    while len(rest) == 1 and isinstance(rest[0], Branch):
        inner = rest[0]
        yield f"{pad}}} else if ({inner.cond}) {{{comments.of(inner.span, header=True)}"
        yield from render(inner.then, comments, depth + 1)
        rest = inner.orelse
    if rest:
        yield f"{pad}}} else {{"
        yield from render(rest, comments, depth + 1)
    yield f"{pad}}}"


def mentions(nodes: Sequence[Node], text: str) -> bool:
    """Whether the text of any statement has `text` in it."""
    for node in nodes:
        match node:
            case Line():
                if text in node.text:
                    return True
            case Braces():
                if text in node.head or mentions(node.body, text):
                    return True
            case Branch():
                if text in node.cond or mentions(node.then, text) or mentions(node.orelse, text):
                    return True
    return False
