"""Region formation changes nothing that a program does: random programs before and after."""

from __future__ import annotations

import hypothesis.strategies as st
from hypothesis import HealthCheck, given, settings

from ir_random import compiled_separately, compiled_sharing, random_program, seen
from torch2cpp.hostir.ops import TensorOp, walk
from torch2cpp.hostir.verify import verify
from torch2cpp.passes.form_regions import form_regions
from torch2cpp.passes.region_rules import HOST_LIST_OPS, HOST_VIEWS

SETTINGS = settings(max_examples=120, deadline=None, suppress_health_check=list(HealthCheck))


@SETTINGS
@given(st.randoms(use_true_random=False), st.integers(4, 20), st.booleans())
def test_same_behaviour(rnd, size, in_place):
    program = random_program(rnd, size, in_place)
    verify(program)
    formed = form_regions(program)
    verify(formed)
    want = seen(program)
    assert seen(formed) == want
    # Regions that are not marked as aliasing may go to compilers that copy, or share what is equal.
    assert seen(formed, compiled_separately) == want
    assert seen(formed, compiled_sharing) == want
    left = [op.overload for op in walk(formed.entries["forward"].body) if isinstance(op, TensorOp)]
    assert set(left) <= HOST_VIEWS | HOST_LIST_OPS
