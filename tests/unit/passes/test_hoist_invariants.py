"""What leaves a loop, and what must not."""

from __future__ import annotations

import pytest
import torch

from ir_builder import Builder, aten, tensor
from torch2cpp.hostir.interpret import Interpreter
from torch2cpp.hostir.ops import Handler, Loop, TensorOp, walk
from torch2cpp.hostir.types import BOOL, INT, STR, ListType, TupleType
from torch2cpp.hostir.verify import verify
from torch2cpp.passes.hoist_invariants import hoist_invariants

MAT = tensor(None, 4)


def inside(b: Builder, result) -> list[str]:
    """The tensor operations left in loops after the pass."""
    program = b.program(result)
    verify(program)
    changed = hoist_invariants(program)
    verify(changed)
    loops = [op for op in walk(changed.entries["forward"].body) if isinstance(op, Loop)]
    return [str(op.overload) for loop in loops for op in walk(loop.body) if isinstance(op, TensorOp)]


def attention(case: str):
    """while True: keys = linear(neg(memory)); h = h + keys; if h.sum() > 3: break"""
    b = Builder()
    memory, n = b.param("memory", MAT), b.param("n", INT)
    xs = b.param("xs", ListType(MAT))
    w = b.weight("w", torch.ones(4, 4))
    h = b.value(MAT, "h")
    counted = {"counted": (0, 3, 1), "maybe empty": (0, n, 1)}.get(case)
    params = [b.value(INT, "i"), h] if counted else [h]
    with b.block(*params) as body:
        if case == "after a way out":
            with b.block() as then:
                b.break_(h)
            with b.block() as orelse:
                b.yield_()
            b.if_(b.host("tensor.truth", b.tensor(aten.any.default, h)), then, orelse, [])
        keys = b.tensor(aten.linear.default, b.tensor(aten.neg.default, memory), w, name="keys")
        if case == "kept by a list":
            b.do("list.append", xs, keys)
        if case == "written":
            b.tensor(aten.add_.Scalar, memory, 1.0)
        h2 = b.tensor(aten.add.Tensor, h, keys)
        done = b.host("tensor.truth", b.tensor(aten.gt.Scalar, b.tensor(aten.sum.default, h2), 3.0))
        with b.block() as then:
            b.break_(h2)
        with b.block() as orelse:
            b.yield_()
        b.if_(done, then, orelse, [])
        b.continue_(h2)
    (out,) = b.loop([memory], body, [MAT], over=counted)
    b.return_(out)
    return b


@pytest.mark.parametrize("case", ["plain", "counted"])
def test_heavy_work_and_what_it_needs_leaves(case):
    assert inside(attention(case), MAT) == ["aten.add.Tensor", "aten.sum.default", "aten.gt.Scalar"]


@pytest.mark.parametrize("case", ["after a way out", "kept by a list", "written", "maybe empty"])
def test_what_stays(case):
    assert "aten.linear.default" in inside(attention(case), MAT)


def test_results_are_the_same():
    program = attention("plain").program(MAT)
    for memory in (-torch.ones(1, 4), -torch.rand(2, 4)):
        args = [memory, 1, []]
        want = Interpreter(program).run("forward", args)
        assert torch.equal(Interpreter(hoist_invariants(program)).run("forward", args), want)


def test_it_leaves_all_loops_around():
    b = Builder()
    x = b.param("x", MAT)
    w = b.weight("w", torch.ones(4, 4))
    i, a, j, c = b.value(INT, "i"), b.value(MAT, "a"), b.value(INT, "j"), b.value(MAT, "c")
    with b.block(i, a) as outer:
        with b.block(j, c) as inner:
            b.continue_(b.tensor(aten.add.Tensor, c, b.tensor(aten.linear.default, x, w)))
        (d,) = b.loop([a], inner, [MAT], over=(0, 2, 1))
        b.continue_(d)
    (out,) = b.loop([x], outer, [MAT], over=(0, 2, 1))
    b.return_(out)
    changed = hoist_invariants(b.program(MAT))
    first = changed.entries["forward"].body.ops[0]
    assert isinstance(first, TensorOp)
    assert Interpreter(changed).run("forward", [torch.ones(1, 4)]).tolist() == [[17.0] * 4]


def test_nothing_moves_inside_try():
    b = Builder()
    x = b.param("x", MAT)
    h = b.value(MAT, "h")
    with b.block() as tried:
        with b.block(h) as body:
            b.break_(b.tensor(aten.linear.default, x, b.weight("w", torch.ones(4, 4))))
        b.yield_(*b.loop([x], body, [MAT]))
    with b.block(b.value(STR, "e")) as handler:
        b.yield_(x)
    (out,) = b.try_(tried, [Handler((), handler)], [MAT])
    b.return_(out)
    assert inside(b, MAT) == ["aten.linear.default"]


def test_random_numbers_stay():
    b = Builder()
    x = b.param("x", MAT)
    h = b.value(MAT, "h")
    with b.block(h) as body:
        noisy = b.tensor(aten.dropout.default, x, 0.5, True)
        b.break_(b.tensor(aten.linear.default, noisy, b.weight("w", torch.ones(4, 4))))
    (out,) = b.loop([x], body, [MAT])
    b.return_((out, True))
    assert inside(b, TupleType((MAT, BOOL))) == ["aten.dropout.default", "aten.linear.default"]
