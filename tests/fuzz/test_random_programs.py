"""Random programs give on the reference interpreter what they give in Python, and few of them are refused."""

from __future__ import annotations

import collections
import random
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.fuzz.judge import judge
from tests.fuzz.memory import bounded_memory, forget
from tests.fuzz.program import generate
from tests.fuzz.shrink import shrink

#: More than this share of the programs must not be refused.
REFUSED = 0.15


def _run(count: int, folder: Path) -> None:
    kinds: collections.Counter[str] = collections.Counter()

    # Programs are drawn from a seed: what Hypothesis could shrink is far from Python, `shrink` works on the text.
    @settings(
        max_examples=count, derandomize=True, database=None, deadline=None, suppress_health_check=list(HealthCheck)
    )
    @given(st.integers(0, 2**32 - 1).map(lambda seed: (seed, generate(random.Random(seed)))))
    def agrees(drawn):
        seed, program = drawn
        if sum(kinds.values()) % 200 == 0:
            forget()
        verdict = judge(program, folder)
        kinds[verdict.kind] += 1
        if verdict.is_bug:
            small, why = shrink(program, verdict, lambda p: judge(p, folder))
            pytest.fail(f"seed {seed}: {why.kind}: {why.detail}\n{small.source}\ninputs: {small.inputs}")

    with bounded_memory():
        agrees()
    assert kinds["refused"] <= REFUSED * count, kinds


def test_random_programs(tmp_path):
    _run(150, tmp_path)


@pytest.mark.slow
def test_many_random_programs(tmp_path):
    _run(2000, tmp_path)
