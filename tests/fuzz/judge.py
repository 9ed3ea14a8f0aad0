"""One program in Python and on the reference interpreter, before and after the passes."""

from __future__ import annotations

import importlib.util
import itertools
import linecache
import sys
import traceback
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.fuzz.program import Generated

from torch2cpp.binding.entry import bind
from torch2cpp.diagnostics import Refused
from torch2cpp.hostir.interpret import Interpreter
from torch2cpp.hostir.program import Program
from torch2cpp.hostir.verify import verify
from torch2cpp.parity.compare import Comparison
from torch2cpp.parity.run import Outcome, call, compare_outcomes
from torch2cpp.passes.order import run_passes

_serial = itertools.count()
#: Integers are 64-bit by contract: where Python goes on with longer ones, the program raises this.
OVERFLOW = ("OverflowError", "int result does not fit in 64 bits")


@dataclass(frozen=True, slots=True)
class Verdict:
    """What became of a program: "same", "refused", "different", "crash"."""

    kind: str
    detail: str = ""
    #: How many inputs made Python raise, of all.
    raised: int = 0

    @property
    def is_bug(self) -> bool:
        return self.kind in ("different", "crash")


def judge(program: Generated, folder: Path) -> Verdict:
    """Runs a program every way; never raises for what the transpiler does."""
    with loaded(program, folder) as make, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        # A module is called with one input after the other, so that its state counts.
        function = make()
        want = [call(function, args) for args in program.inputs]
        raised = sum(o.raised is not None for o in want)
        entry = "forward" if program.is_module else "program"
        try:
            bound = bind(make(), program.inputs, entries=[entry])
            verify(bound)
        except Refused as error:
            return Verdict("refused", error.diagnostics[0].render(), raised)
        except Exception as error:
            return Verdict("crash", _crash(error), raised)
        found = differences(program, want, _entry(bound, entry))
        if found:
            return Verdict("different", found, raised)
        try:
            passed = run_passes(bound, after=lambda _, each: verify(each))
        except Exception as error:
            return Verdict("crash", f"after the passes: {_crash(error)}", raised)
        found = differences(program, want, _entry(passed, entry), moved=True)
        return Verdict("different", f"after the passes: {found}", raised) if found else Verdict("same", "", raised)


def differences(program: Generated, want: list[Outcome], function: Callable[..., Any], moved: bool = False) -> str:
    """What differs on the first input that differs when `function` is called with one after the other.

    `moved`: outside of `try`, the passes let errors of tensor operations and others change places.
    """
    for i, (args, expected) in enumerate(zip(program.inputs, want)):
        got = call(function, args)
        if (got.raised, got.message) == OVERFLOW or (moved and expected.raised and got.raised):
            if program.is_module and (expected.raised, expected.message) != (got.raised, got.message):
                return ""  # the state may be another one from here on
            continue
        compared: Comparison = compare_outcomes(expected, got, exact=True)
        if not compared.equal:
            return f"input {i}: " + "; ".join(map(str, compared.differences[:3]))
    return ""


def _entry(program: Program, entry: str) -> Callable[..., Any]:
    interpreter = Interpreter(program)
    return lambda *args: interpreter.run(entry, args)


def _crash(error: Exception) -> str:
    where = traceback.extract_tb(error.__traceback__)[-4:]
    places = " > ".join(f"{Path(f.filename).name}:{f.lineno}" for f in where)
    return f"{type(error).__name__}: {str(error)[:400]} at {places}"


@contextmanager
def loaded(program: Generated, folder: Path) -> Iterator[Callable[[], Any]]:
    """The program imported from a file; what is given makes its entry anew."""
    name = f"fuzz_program_{next(_serial)}"
    path = folder / f"{name}.py"
    path.write_text(program.source)
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
        yield (lambda: module.Program()) if program.is_module else (lambda: module.program)
    finally:
        del sys.modules[name]
        linecache.cache.pop(str(path), None)
        path.unlink()
