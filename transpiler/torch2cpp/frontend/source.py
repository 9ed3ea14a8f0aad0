"""From a Python function to its libcst tree, with places."""

from __future__ import annotations

import inspect
import types
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import libcst as cst
import torch
from libcst.metadata import MetadataWrapper, PositionProvider

from torch2cpp.spans import NOWHERE, Span

#: Torch's own files, and the bodies that this package gives to library functions.
_LIBRARIES = (str(Path(torch.__file__).parent), str(Path(__file__).parents[1] / "binding" / "in_python"))


@dataclass(frozen=True)
class Source:
    """A parsed piece of a file; `shift` is what to add to its line numbers."""

    file: str
    shift: int
    positions: dict[cst.CSTNode, Any]

    def span(self, node: cst.CSTNode) -> Span:
        """The place of a node of this piece."""
        pos = self.positions.get(node)
        if pos is None:
            return NOWHERE
        return Span(
            self.file,
            pos.start.line + self.shift,
            pos.start.column + 1,
            pos.end.line + self.shift,
            pos.end.column + 1,
        )

    def place(self, node: cst.CSTNode, caller: Span) -> Span:
        """The place of a node for the reader: inside torch's own files, where the user's code called them."""
        called = is_library(self.file) and not is_library(caller.file) and caller != NOWHERE
        return caller if called else self.span(node)


def is_library(file: str) -> bool:
    """Whether a file belongs to torch or to this package, not to the user."""
    return file.startswith(_LIBRARIES)


@dataclass(frozen=True)
class ParsedFunction:
    """The definition of one Python function."""

    node: cst.FunctionDef | cst.Lambda
    source: Source


class NoSource(Exception):
    """The function has no Python source (a builtin, or made by `exec`)."""


def _parse(text: str, file: str, shift: int) -> tuple[cst.Module, Source]:
    wrapper = MetadataWrapper(cst.parse_module(text))
    return wrapper.module, Source(file, shift, dict(wrapper.resolve(PositionProvider)))


@cache
def _parsed_file(file: str) -> tuple[cst.Module, Source]:
    return _parse(Path(file).read_text(encoding="utf-8"), file, 0)


@cache
def parse_function(fn: types.FunctionType) -> ParsedFunction:
    """The tree of a plain Python function or lambda.

    Only the function's own lines are parsed: the files of torch are long. They are kept at their
    indentation under an `if True:`, so that columns and multi-line strings stay as they are.

    Raises NoSource when Python has no source for it.
    """
    code = fn.__code__
    file = code.co_filename
    try:
        lines, first = inspect.getsourcelines(code)
    except (OSError, TypeError) as error:
        raise NoSource(str(error)) from error
    if fn.__name__ == "<lambda>":
        return _find_lambda(fn)
    indented = lines[0][:1] in " \t"
    text = "".join(lines)
    module, source = _parse(f"if True:\n{text}" if indented else text, file, first - 2 if indented else first - 1)
    statement: Any = module.body[0]
    if indented:
        statement = statement.body.body[0]
    if not isinstance(statement, cst.FunctionDef):
        raise NoSource(f"{file}:{first} is not a function definition")
    return ParsedFunction(statement, source)


def _find_lambda(fn: types.FunctionType) -> ParsedFunction:
    module, source = _parsed_file(fn.__code__.co_filename)
    wanted = next(((line, col) for line, _, col, _ in fn.__code__.co_positions() if line and col), None)
    best: cst.Lambda | None = None

    class Finder(cst.CSTVisitor):
        def visit_Lambda(self, node: cst.Lambda) -> None:
            nonlocal best
            body = source.span(node.body)
            inside = wanted is not None and (
                (body.line, body.column) <= (wanted[0], wanted[1] + 1) < (body.end_line, body.end_column)
            )
            if inside or (wanted is None and source.span(node).line == fn.__code__.co_firstlineno):
                best = node

    module.visit(Finder())
    if best is None:
        raise NoSource("lambda not found")
    return ParsedFunction(best, source)
