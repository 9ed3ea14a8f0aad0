"""Model files through the reference interpreter: no C++ is built."""

from __future__ import annotations

from typing import Any

from torch2cpp.binding.entry import bind

from model_files import ModelFile, Outcome, call, outcome_difference, run_eager
from torch2cpp.hostir.interpret import Interpreter
from torch2cpp.hostir.program import Program


def bound(file: ModelFile) -> Program:
    """The file's entry as host IR, as the binding leaves it."""
    return bind(file.make_model(), file.make_inputs(), entries=[file.entry])


def run_interpreter(file: ModelFile, program: Program) -> list[Outcome]:
    """Every input on one instance, as `run_eager` does it."""
    interpreter = Interpreter(program)

    def entry(*args: Any) -> Any:
        return interpreter.run(file.entry, args)

    return [call(entry, args) for args in file.make_inputs()]


def assert_same_as_python(file: ModelFile, program: Program) -> None:
    """Bit for bit: nesting, types, values, exceptions, and what was written to the arguments."""
    want, got = run_eager(file), run_interpreter(file, program)
    differences = {i: outcome_difference(x, y) for i, (x, y) in enumerate(zip(want, got))}
    assert {i: found for i, found in differences.items() if found} == {}
