"""Plain functions through binding and the reference interpreter, compared with Python itself."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from model_files import call, outcome_difference
from torch2cpp.binding.entry import bind
from torch2cpp.diagnostics import Refused
from torch2cpp.hostir.interpret import Interpreter
from torch2cpp.hostir.verify import verify


def assert_like_python(function: Callable[..., Any], *inputs: tuple[Any, ...]) -> None:
    """One program for all inputs; results, types and exceptions are those of Python."""
    program = bind(function, list(inputs), entries=[function.__name__])
    verify(program)
    for args in inputs:
        interpreter = Interpreter(program)
        got = call(lambda *a, i=interpreter: i.run(function.__name__, a), args)
        found = outcome_difference(call(function, args), got)
        assert found is None, f"{function.__name__}{args}: {found}"


def assert_refused(function: Callable[..., Any], code: str, *inputs: tuple[Any, ...]) -> None:
    """The program is refused with this diagnostic."""
    with pytest.raises(Refused) as caught:
        bind(function, list(inputs), entries=[function.__name__])
    assert [d.code for d in caught.value.diagnostics] == [code]
