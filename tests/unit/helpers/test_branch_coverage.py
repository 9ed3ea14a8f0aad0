"""The branch counter that the tests of models rely on."""

from __future__ import annotations

import textwrap
from pathlib import Path
from typing import Any

import pytest

from branch_coverage import Trace, missed

CASES = {
    "both ways of an if": ("if x > 0:\n    x = -x\nreturn x", [1, -1], []),
    "an if that is never true": ("if x > 9:\n    x = -x\nreturn x", [1], ["never True", "never runs"]),
    "a loop without its break": (
        "for i in range(x):\n    if i == 7:\n        break",
        [3],
        ["never True", "never runs"],
    ),
    "a loop that always runs": ("while x > 0:\n    x -= 1", [2], []),
    "one operand of an and": ("return x > 0 and x < 5", [1], ["never False"]),
    "a conditional expression": ("return 1 if x else 2", [1], ["never False"]),
    "a test for None": ("return 0 if x is None else x", [1], ["never True"]),
    "a condition in a comprehension": ("return [i for i in range(x) if i > 1]", [2], ["never True"]),
}


@pytest.mark.parametrize("case", CASES)
def test_missed(case: str, tmp_path: Path) -> None:
    body, arguments, want = CASES[case]
    path = tmp_path / "model.py"
    path.write_text("def model(x):\n" + textwrap.indent(body, "    ") + "\n")
    names: dict[str, Any] = {}
    exec(compile(path.read_text(), str(path), "exec", dont_inherit=True), names)
    trace = Trace(str(path))
    trace.watch(lambda: [names["model"](argument) for argument in arguments])
    assert sorted(m.what for m in missed(trace)) == want
