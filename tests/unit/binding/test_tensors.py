"""Operations on tensors give what eager gives: values, dtypes, sizes, classes, exceptions."""

from __future__ import annotations

import pytest

from model_files import differences
from tensor_cases import errors, indexing, operators, random_numbers, values
from torch2cpp.binding.entry import bind
from torch2cpp.hostir.interpret import Interpreter
from torch2cpp.hostir.program import Program
from torch2cpp.hostir.verify import verify
from torch2cpp.parity.run import call
from torch2cpp.passes.order import run_passes

CASES = [
    pytest.param(made, name, inputs, id=f"{made.__name__}-{name}")
    for made, of in (
        (indexing.Indexing, indexing.INPUTS),
        (values.Values, values.INPUTS),
        (operators.Operators, operators.INPUTS),
        (errors.Errors, errors.INPUTS),
        (random_numbers.RandomNumbers, random_numbers.INPUTS),
    )
    for name, inputs in of.items()
]


@pytest.mark.parametrize(("made", "name", "inputs"), CASES)
def test_equals_eager(made, name, inputs):
    want = [call(getattr(made(), name), args) for args in inputs]
    program = bind(made(), inputs, entries=[name])
    verify(program)
    assert differences(want, run(program, name, inputs)) == []
    assert differences(want, run(run_passes(program, after=lambda _, each: verify(each)), name, inputs)) == []


def run(program: Program, name: str, inputs: list):
    out = []
    for args in inputs:
        interpreter = Interpreter(program)
        out.append(call(lambda *a, i=interpreter: i.run(name, a), args))
    return out
