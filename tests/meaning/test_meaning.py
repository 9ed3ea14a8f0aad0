"""Small programs mean in the host IR what they mean in Python, or are refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from meaning_cases import FOLDER, Case, groups, inputs, read_cases
from model_files import differences
from pending_models import pending
from torch2cpp.binding.entry import bind
from torch2cpp.diagnostics import Refused
from torch2cpp.hostir.interpret import Interpreter
from torch2cpp.hostir.program import Program
from torch2cpp.hostir.verify import verify
from torch2cpp.parity.run import Outcome, call
from torch2cpp.passes.order import run_passes

CASES = [case for group in groups() for case in read_cases(group)]
PENDING = pending(FOLDER / "pending.txt")


def marked(cases: list[Case]) -> list[object]:
    """A parameter per case; a pending one must fail."""
    names = {case.name for case in CASES + read_cases("refused")}
    assert set(PENDING) <= names, sorted(set(PENDING) - names)
    return [pytest.param(case, id=f"{case.group}-{case.name}", marks=marks(case.name)) for case in cases]


def marks(name: str) -> list[pytest.MarkDecorator]:
    """Strict, so that the list of pending cases can only shrink."""
    if name not in PENDING:
        return []
    return [pytest.mark.xfail(strict=True, reason=PENDING[name], run=not PENDING[name].startswith("hangs"))]


def run(program: Program) -> list[Outcome]:
    """All inputs as successive calls on one instance of the program."""
    interpreter = Interpreter(program)
    return [call(lambda *args: interpreter.run("forward", args), args) for args in inputs()]


@pytest.mark.parametrize("case", marked(CASES))
def test_same_as_python(case: Case, tmp_path: Path) -> None:
    model = case.model(tmp_path)
    want = [call(model, args) for args in inputs()]
    program = bind(case.model(tmp_path), inputs())
    verify(program)
    assert differences(want, run(program)) == []
    assert differences(want, run(run_passes(program))) == []


@pytest.mark.parametrize("case", marked(read_cases("refused")))
def test_refused(case: Case, tmp_path: Path) -> None:
    with pytest.raises(Refused) as caught:
        bind(case.model(tmp_path), inputs())
    for diagnostic in caught.value.diagnostics:
        assert Path(diagnostic.span.file).parent == tmp_path, "the place is the user's"
        assert diagnostic.code and diagnostic.remedy


def test_an_int_beyond_64_bits_raises(tmp_path: Path) -> None:
    program = bind(Case("", "overflow", "for _ in range(70): n = n * 2\nreturn n\n").model(tmp_path), inputs())
    raised = [outcome.raised for outcome in run(program)]
    assert raised == ["OverflowError", "OverflowError", None, "OverflowError", "OverflowError"]
