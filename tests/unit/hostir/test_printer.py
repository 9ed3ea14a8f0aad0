"""The text form: complete, stable, and with the Python line of every operation."""

from __future__ import annotations

import torch

from ir_builder import Builder, aten, tensor
from torch2cpp.hostir.ops import Handler
from torch2cpp.hostir.printer import print_function, print_program
from torch2cpp.hostir.program import Struct
from torch2cpp.hostir.types import INT, STR, StructType


def squeezed(text: str) -> str:
    """The text with single spaces: the column of the line numbers does not matter here."""
    return "\n".join(" ".join(line.split("  #")[0].rstrip().split()) for line in text.splitlines())


def example() -> Builder:
    b = Builder()
    b.structs[StructType("Node")] = Struct("Node", {"value": INT})
    x = b.param("x", tensor(None, 3))
    n = b.param("n", INT, 2)
    w = b.weight("fc.weight", torch.ones(2, 3))
    count = b.cell("count", INT, 0)
    y = b.tensor(aten.linear.default, x, w, name="y")
    i, acc = b.value(INT, "i"), b.value(y.type, "acc")
    with b.block(i, acc) as body:
        y2 = b.tensor(aten.mul.Scalar, acc, 2.0, name="y")
        with b.block() as then:
            b.break_(y2)
        with b.block() as orelse:
            b.yield_(b.load(count))
        (c,) = b.if_(b.host("gt", i, n, name="late"), then, orelse, [INT])
        b.store(count, c)
        b.continue_(y2)
    (out,) = b.loop([y], body, [y.type], over=(0, n, 1))
    message = b.value(STR, "e")
    with b.block() as tried:
        b.raise_("ValueError", "bad", "Exception")
    with b.block(message) as handler:
        b.yield_()
    b.try_(tried, [Handler(("ValueError",), handler)], [])
    b.return_(out)
    return b


WANT = """\
program model (class Model)
weights
@fc.weight: float32[2, 3]
state $count: int = 0
struct Node {value: int}
entry forward(x: float32[?, 3], n: int = 2) -> float32[?, 2]
y: float32[?, 2] = aten.linear.default(x, @fc.weight)
for i: int in range(0, n, 1) with acc: float32[?, 2] = y
y.1: float32[?, 2] = aten.mul.Scalar(acc, 2.0)
late: bool = gt(i, n)
if late
break y.1
else
c: int = load $count
yield c
-> r: int
store $count = r
continue y.1
-> l: float32[?, 2]
try
raise ValueError (Exception) 'bad'
except ValueError as e: str
yield
return l"""


def test_whole_program():
    assert squeezed(print_program(example().program(tensor(None, 2)))) == WANT


def test_the_text_is_the_same_for_equal_programs():
    first, second = (print_program(example().program(tensor(None, 2))) for _ in range(2))
    assert first == second


def test_every_operation_has_its_line():
    text = print_function(example().program(tensor(None, 2)).entries["forward"])
    assert "aten.linear.default" in text
    for line in text.splitlines():
        if not line.strip().startswith(("else", "except", "->")):
            assert "# model.py:" in line
