"""Region formation changes nothing that a program does: random programs before and after."""

from __future__ import annotations

import io
from contextlib import redirect_stdout

import hypothesis.strategies as st
from hypothesis import HealthCheck, given, settings

from ir_random import behaviour, random_program
from torch2cpp.hostir.ops import TensorOp, walk
from torch2cpp.hostir.verify import verify
from torch2cpp.passes.form_regions import form_regions
from torch2cpp.passes.plan_regions import HOST_LIST_OPS, HOST_VIEWS

SETTINGS = settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))


def seen(program):
    out = io.StringIO()
    with redirect_stdout(out):
        found = behaviour(program)
    return found, [] if "error" in found else out.getvalue().splitlines()


@SETTINGS
@given(st.randoms(use_true_random=False), st.booleans())
def test_same_behaviour(rnd, in_place):
    program = random_program(rnd, in_place=in_place)
    verify(program)
    formed = form_regions(program)
    verify(formed)
    assert seen(formed) == seen(program)
    left = [op.overload for op in walk(formed.entries["forward"].body) if isinstance(op, TensorOp)]
    assert set(left) <= HOST_VIEWS | HOST_LIST_OPS
