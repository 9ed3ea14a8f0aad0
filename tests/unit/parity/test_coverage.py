"""Ways that count: those the author wrote, not what Python, torch or this program's own searches add."""

from __future__ import annotations

from typing import Any

import torch
from torch import nn

from torch2cpp.binding.entry import bind
from torch2cpp.hostir.interpret import Interpreter
from torch2cpp.parity.coverage import Coverage, coverage
from torch2cpp.spans import source_lines


def ways(model: Any, inputs: list[tuple[Any, ...]], entry: str = "forward") -> tuple[list[str], Coverage]:
    """`TEXT: way` of every way, in order of the source, and what running the inputs covers."""
    program = bind(model, inputs, entries=[entry])
    interpreter = Interpreter(program)
    for args in inputs:
        interpreter.run(entry, args)
    found = coverage(program, [interpreter])
    spans = sorted(found.ways, key=lambda w: (w[0].line, w[0].column, -w[0].end_column, w[1]))
    texts = [source_lines(s.file)[s.line - 1][s.column - 1 : s.end_column - 1] + f": {way}" for s, way in spans]
    return texts, found


class Cell(nn.Module):
    def __init__(self):
        super().__init__()
        self.cell = nn.LSTMCell(2, 3)
        self.state = None

    def forward(self, x, last: bool):
        # nn.LSTMCell itself asks whether there is a state; an assertion is no way to go.
        assert x.shape[0] > 0, "no rows"
        for row in x:
            self.state = self.cell(row, self.state)
        return self.state[0] if last else self.state[1]


def test_branches_inside_torch_and_assertions_do_not_count():
    texts, found = ways(Cell(), [(torch.ones(2, 2), True)])
    assert texts == [
        "for row in x:: body",
        "self.state[0] if last else self.state[1]: false",
        "self.state[0] if last else self.state[1]: true",
    ]
    assert [(s.line, way) for s, way in found.missed] == [(found.missed[0][0].line, "false")]


def counted(n: int, words: list[str]) -> dict[str, int]:
    seen = {"a": 0, "b": 0}
    for é in words:
        seen[é] += 1 if (n > 2 and é != "é") or n < 0 else 2
    longest = [w for w in words if len(w) > n]
    if any(len(w) > 9 for w in words):
        seen["a"] = -1
    match n:
        case 3:
            seen["b"] += 10
        case _ if n > 5:
            seen["b"] += 20
    while seen["a"] > 5:
        seen["a"] -= n
    return {**seen, "longest": len(longest)}


def test_each_kind_of_branch():
    inputs = [(1, ["a", "b"]), (3, ["b", "b"]), (7, ["a" * 1, "b"]), (-1, ["a"])]
    texts, found = ways(counted, inputs, "counted")
    assert texts == [
        "for é in words:: body",
        '1 if (n > 2 and é != "é") or n < 0 else 2: false',
        '1 if (n > 2 and é != "é") or n < 0 else 2: true',
        '(n > 2 and é != "é") or n < 0: false',
        '(n > 2 and é != "é") or n < 0: true',
        'n > 2 and é != "é": false',
        'n > 2 and é != "é": true',
        "[w for w in words if len(w) > n]: body",
        "[w for w in words if len(w) > n]: false",
        "[w for w in words if len(w) > n]: true",
        "any(len(w) > 9 for w in words): body",
        "any(len(w) > 9 for w in words): false",
        "any(len(w) > 9 for w in words): true",
        "3: false",
        "3: true",
        "n > 5: false",
        "n > 5: true",
        'while seen["a"] > : body',
    ]
    missed = [source_lines(s.file)[s.line - 1].strip() + f": {way}" for s, way in found.missed]
    assert missed == ["if any(len(w) > 9 for w in words):: true"]
