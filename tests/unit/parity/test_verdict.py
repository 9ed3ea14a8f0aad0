"""Outcomes, coverage and the verdict's JSON."""

from __future__ import annotations

import json
from pathlib import Path

import torch

from ir_builder import Builder
from torch2cpp.hostir.interpret import Interpreter
from torch2cpp.hostir.ops import Raise
from torch2cpp.hostir.types import INT
from torch2cpp.parity.coverage import coverage
from torch2cpp.parity.run import Outcome, call, compare_outcomes
from torch2cpp.parity.verdict import Verdict, cover, judge
from torch2cpp.spans import Span


def test_arguments_are_copied_and_their_tensors_kept():
    def model(x: torch.Tensor) -> torch.Tensor:
        x.add_(1)
        return x * 2

    x = torch.zeros(2)
    outcome = call(model, (x,))
    assert x.sum() == 0
    assert outcome.arguments[0].tolist() == [1, 1]
    assert outcome.value.tolist() == [2, 2]


def test_results_do_not_change_with_later_calls():
    held = torch.zeros(1)

    def model(step: int) -> torch.Tensor:
        return held.add_(step)

    assert [o.value.item() for o in [call(model, (1,)), call(model, (2,))]] == [1, 3]


def test_exceptions_are_compared_by_name_and_message():
    a = Outcome(raised="ValueError", message="too small")
    assert compare_outcomes(a, Outcome(raised="ValueError", message="too small"), True).equal
    assert not compare_outcomes(a, Outcome(raised="ValueError", message="small"), True).equal
    assert not compare_outcomes(a, Outcome(value=1), True).equal


def test_verdict_counts_matches_and_flips():
    verdict = Verdict()
    want = [Outcome(torch.tensor([1.0])), Outcome(torch.tensor([1])), Outcome(raised="ValueError", message="no")]
    got = [Outcome(torch.tensor([1.00001])), Outcome(torch.tensor([2])), want[2]]
    judge(verdict, want, got, exact=False)
    assert (verdict.inputs, verdict.matched, verdict.decision_flips, verdict.ok) == (3, 2, 1, False)
    keys = ["ok", "inputs", "matched", "branches", "branches_taken", "regions", "distinct_regions", "max_abs_err",
            "max_rel_err", "decision_flips", "seconds_transpile", "seconds_build", "error"]  # fmt: skip
    assert list(json.loads(verdict.as_json())) == keys


def test_nothing_checked_is_not_ok():
    assert not Verdict().ok
    assert not Verdict(inputs=1, matched=1, error="did not build").ok


def test_ways_not_taken_are_missed():
    b = Builder()
    n = b.param("n", INT)
    with b.block() as then:
        b.yield_(1)
    with b.block() as orelse:
        b.yield_(2)
    (x,) = b.if_(b.host("gt", n, 0), then, orelse, [INT])
    b.return_(x)
    program = b.program(INT)
    interpreter = Interpreter(program)
    interpreter.run("forward", [3])
    verdict = Verdict()
    cover(verdict, coverage(program, [interpreter]))
    assert (verdict.branches, verdict.branches_taken) == (2, 1)
    assert [way for _, way in verdict.missed] == ["false"]


def test_what_python_raises_by_itself_is_no_branch(tmp_path: Path):
    source = tmp_path / "model.py"
    source.write_text("a, b = xs\nif n:\n    raise ValueError\n")
    for line, ways in ((1, 1), (3, 2)):
        b = Builder()
        n = b.param("n", INT)
        with b.block() as then:
            b.add(Raise("ValueError", (), "no", Span(str(source), line, 1, line, 9)))
        with b.block() as orelse:
            b.yield_()
        b.if_(b.host("gt", n, 0), then, orelse, [])
        b.return_(n)
        assert len(coverage(b.program(INT), []).ways) == ways
