"""Random programs through emitted C++ must do what the reference interpreter does: many entries, one build."""

from __future__ import annotations

import copy
import random
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

from emitted import compiled_by_aten, load_class
from ir_builder import FILE, Builder
from ir_random import ARGUMENTS, Writer, comparable
from torch2cpp.emit.write_project import write_project
from torch2cpp.hostir.interpret import Interpreter
from torch2cpp.hostir.program import Function, Program
from torch2cpp.hostir.pyerror import PyError
from torch2cpp.passes.order import run_passes
from torch2cpp.spans import Span


class SparseBuilder(Builder):
    """Puts neighbouring operations on one line now and then, so that they fold into expressions."""

    def __init__(self, rnd: random.Random, first_line: int) -> None:
        super().__init__()
        self.rnd = rnd
        self.line = first_line

    def span(self) -> Span:
        if self.rnd.random() < 0.4:
            self.line += 1
        return Span(FILE, self.line, 1, self.line, 10)


def random_programs(seed: int, count: int) -> Program:
    """One program with `count` random entries `f0`, `f1`, ..., each with cells of its own."""
    rnd = random.Random(seed)
    entries: dict[str, Function] = {}
    whole: Program | None = None
    for i in range(count):
        writer = Writer(rnd, rnd.choice([4, 8, 12]), b=SparseBuilder(rnd, 1000 * i))
        program = writer.program()
        for cell in program.cells:
            cell.name = f"{cell.name}_{i}"
        entries[f"f{i}"] = replace(program.entries["forward"], name=f"f{i}")
        if whole is None:
            whole = program
        else:
            whole.cells += program.cells
    assert whole is not None
    return run_passes(replace(whole, name=f"random_{seed}", class_name="Random", entries=entries))


def outcomes(call: Any) -> list[Any]:
    """What two calls in a row give for every argument tuple; `call` gets the name of nothing but its arguments."""
    out: list[Any] = []
    for x, y, n, flag in ARGUMENTS:
        fresh = call()
        for _ in range(2):
            torch.manual_seed(0)
            args = [torch.tensor(x), torch.tensor(y), n, flag]
            try:
                result = fresh(*args)
            except PyError as error:
                out.append((error.name, error.message))
                break
            except Exception as error:
                out.append((type(error).__name__, str(error)))
                break
            out.append(comparable(copy.deepcopy((result, args))))
    return out


def check(seed: int, count: int, folder: Path) -> None:
    program = random_programs(seed, count)
    write_project(program, compiled_by_aten(program), folder, "random programs")
    made = load_class(program, folder)

    for name in program.entries:

        def interpreted(name: str = name) -> Any:
            interpreter = Interpreter(program)
            return lambda *args: interpreter.run(name, args)

        def compiled(name: str = name) -> Any:
            return getattr(made(), name)

        assert outcomes(compiled) == outcomes(interpreted), f"seed {seed}, entry {name}"


def test_random_programs_in_cpp(tmp_path: Path) -> None:
    check(1, 12, tmp_path / "random")


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(2, 12))
def test_more_random_programs_in_cpp(seed: int, tmp_path: Path) -> None:
    check(seed, 50, tmp_path / "random")
