"""Clocks at the beginning of every branch and iteration, for `torch2cpp compile --profile`.

The statements stay as they are; each arm of an `if` and each body of a loop gets a first line that
measures from there to its end, under the Python line that it came from.
"""

from __future__ import annotations

import linecache
from collections.abc import Sequence
from pathlib import Path

from torch2cpp.emit import literals
from torch2cpp.emit.nodes import Braces, Branch, Line, Node
from torch2cpp.spans import Span

#: The most that is shown of a Python line.
_WIDTH = 60


def with_probes(nodes: Sequence[Node], main_file: str) -> list[Node]:
    """The same statements with a clock in each branch and each iteration."""
    return [_probed(node, main_file) for node in nodes]


def _probed(node: Node, main_file: str) -> Node:
    match node:
        case Line():
            return node
        case Braces():
            body = with_probes(node.body, main_file)
            if node.head.startswith(("for ", "while ")) and node.span is not None:
                body.insert(0, _clock(_label(node.span, main_file)))
            return Braces(node.head, body, node.tail, node.span)
        case Branch():
            then, orelse = (with_probes(arm, main_file) for arm in (node.then, node.orelse))
            if node.span is not None:
                label = _label(node.span, main_file)
                names = (f"{label} [else]", label) if node.negated else (label, f"{label} [else]")
                then.insert(0, _clock(names[0]))
                if orelse:
                    orelse.insert(0, _clock(names[1]))
            return Branch(node.cond, then, orelse, node.span, node.negated)


def _clock(label: str) -> Line:
    return Line(f"const py::Timed branch_time_(py::Probe::kBranch, {literals.string(label)});")


def _label(span: Span, main_file: str) -> str:
    """`75 if prob > 0.5:`; with the file's name where it is another than the model's."""
    text = linecache.getline(span.file, span.line).strip()
    short = text if len(text) <= _WIDTH else f"{text[: _WIDTH - 3]}..."
    place = str(span.line) if span.file == main_file else f"{Path(span.file).name}:{span.line}"
    return f"{place} {short}".strip()
