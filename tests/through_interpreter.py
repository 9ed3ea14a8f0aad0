"""Model files through the reference interpreter: no C++ is built."""

from __future__ import annotations

from typing import Any

from model_files import differences, run_eager
from torch2cpp.binding.entry import bind
from torch2cpp.hostir.interpret import Interpreter
from torch2cpp.hostir.program import Program
from torch2cpp.hostir.verify import verify
from torch2cpp.model_file import ModelFile
from torch2cpp.parity.run import Outcome, call
from torch2cpp.passes.order import run_passes


def bound(file: ModelFile) -> Program:
    """The file's entries as host IR, as the binding leaves them."""
    program = bind(
        file.make_model(),
        file.make_inputs(),
        entries=list(file.entries),
        dynamic_shapes=file.dynamic_shapes,
        pin=file.pin,
    )
    verify(program)
    return program


def formed(program: Program) -> Program:
    """The program after all passes, verified after each."""
    return run_passes(program, after=lambda _, each: verify(each))


def run_interpreter(file: ModelFile, program: Program, inputs: list[tuple[Any, ...]]) -> list[Outcome]:
    """The inputs on one instance, as `run_eager` does it."""
    interpreter = Interpreter(program)

    def entry(*args: Any) -> Any:
        return interpreter.run(file.entry, args)

    return [call(entry, args) for args in inputs]


def assert_same_as_python(file: ModelFile, some: slice = slice(None)) -> None:
    """Bit for bit, before and after the passes: nesting, types, values, exceptions, written arguments.

    `some` limits the inputs that are run; all of them are given to the binding.
    """
    inputs = file.make_inputs()[some]
    want = run_eager(file, inputs)
    program = bound(file)
    assert not (found := differences(want, run_interpreter(file, program, inputs))), found
    program = formed(program)
    assert not (found := differences(want, run_interpreter(file, program, inputs))), f"after the passes: {found}"
