"""The simplifying passes change nothing that a program does: random programs before and after."""

from __future__ import annotations

import hypothesis.strategies as st
import pytest
from hypothesis import HealthCheck, given, settings

from ir_random import random_program, seen
from torch2cpp.hostir.verify import verify
from torch2cpp.passes.hoist_invariants import hoist_invariants
from torch2cpp.passes.order import STEPS, run_passes
from torch2cpp.passes.simplify import simplify

SETTINGS = settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))


def until_nothing_is_found(program):
    return simplify(program, STEPS)


@pytest.mark.parametrize(
    "step", [*STEPS, until_nothing_is_found, hoist_invariants, run_passes], ids=lambda f: f.__name__
)
@SETTINGS
@given(rnd=st.randoms(use_true_random=False), size=st.integers(4, 20), in_place=st.booleans())
def test_same_behaviour(step, rnd, size, in_place):
    program = random_program(rnd, size, in_place)
    changed = step(program)
    verify(changed)
    assert seen(changed) == seen(program)
