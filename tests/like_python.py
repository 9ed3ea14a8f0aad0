"""Plain functions through binding, passes and the reference interpreter, compared with Python itself."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from model_files import differences
from torch2cpp.binding.entry import bind
from torch2cpp.diagnostics import Refused
from torch2cpp.hostir.interpret import Interpreter
from torch2cpp.hostir.program import Program
from torch2cpp.hostir.verify import verify
from torch2cpp.parity.run import call
from torch2cpp.passes.order import run_passes


def assert_like_python(function: Callable[..., Any], *inputs: tuple[Any, ...]) -> None:
    """One program for all inputs; results, types and exceptions are those of Python, before and after the passes."""
    program = bind(function, list(inputs), entries=[function.__name__])
    verify(program)
    _compare(function, program, inputs)
    _compare(function, run_passes(program, after=lambda _, each: verify(each)), inputs)


def _compare(function: Callable[..., Any], program: Program, inputs: tuple[tuple[Any, ...], ...]) -> None:
    for args in inputs:
        interpreter = Interpreter(program)
        got = call(lambda *a, i=interpreter: i.run(function.__name__, a), args)
        assert not (found := differences([call(function, args)], [got])), f"{function.__name__}{args}: {found}"


def assert_refused(function: Callable[..., Any], code: str, *inputs: tuple[Any, ...]) -> None:
    """The program is refused with this diagnostic."""
    with pytest.raises(Refused) as caught:
        bind(function, list(inputs), entries=[function.__name__])
    assert [d.code for d in caught.value.diagnostics] == [code]
