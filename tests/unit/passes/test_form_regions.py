"""How many regions there are, what is in them, and which are marked: programs built by hand."""

from __future__ import annotations

import pytest
import torch

from ir_builder import Builder, aten, tensor
from torch2cpp.hostir.interpret import Interpreter
from torch2cpp.hostir.ops import Handler, HostOp, RegionCall, TensorOp, walk
from torch2cpp.hostir.types import BOOL, INT, STR, ListType, TupleType
from torch2cpp.hostir.verify import verify
from torch2cpp.passes.form_regions import form_regions
from torch2cpp.passes.order import STEPS
from torch2cpp.passes.simplify import simplify

ROW = tensor(None)
MAT = tensor(None, 4)


def formed(b: Builder, result):
    program = b.program(result)
    verify(program)
    new = form_regions(program)
    verify(new)
    return new


def body(program, kind):
    return [op for op in walk(program.entries["forward"].body) if isinstance(op, kind)]


def names(region):
    return [str(op.overload) if isinstance(op, TensorOp) else op.name for op in region.body]


def test_host_statements_in_between_do_not_split():
    b = Builder()
    x, n = b.param("x", MAT), b.param("n", INT)
    xs = b.host("list.new", type=ListType(MAT))
    h = b.tensor(aten.linear.default, x, b.weight("w", torch.ones(4, 4)), name="h")
    m = b.host("add", n, 1)
    b.do("list.append", xs, h)
    b.do("print", b.host("str", m))
    y = b.tensor(aten.relu.default, h, name="y")
    b.return_((y, m, xs))
    new = formed(b, TupleType((MAT, INT, xs.type)))
    (region,) = new.regions.values()
    assert names(region) == ["aten.linear.default", "aten.relu.default"]
    assert [r.name for r in region.results] == ["h", "y"]
    assert region.name == "y"
    assert not region.aliasing


def test_sizes_are_computed_inside():
    b = Builder()
    x = b.param("x", tensor(None, 6))
    n = b.host("tensor.size", x, 0, name="n")
    h = b.tensor(aten.relu.default, x)
    m = b.host("mul", n, 2, name="m")
    y = b.tensor(aten.view.default, h, [m, -1], type=tensor(None, None))
    b.return_(y)
    new = formed(b, y.type)
    (region,) = new.regions.values()
    assert names(region) == ["aten.relu.default", "tensor.size", "mul", "aten.view.default"]
    assert [p.name for p in region.params] == ["x"]
    assert body(new, HostOp) == []
    assert Interpreter(new).run("forward", [torch.ones(3, 6)]).shape == (6, 3)


def test_sizes_of_an_outer_tensor_reach_a_loop_body():
    b = Builder()
    x = b.param("x", tensor(None, 6))
    n = b.host("tensor.size", x, 0, name="n")
    i, acc = b.value(INT, "i"), b.value(tensor(None, 6), "acc")
    with b.block(i, acc) as loop_body:
        wide = b.tensor(aten.view.default, acc, [n, 6], type=tensor(None, 6))
        b.continue_(b.tensor(aten.relu.default, wide, type=tensor(None, 6)))
    (out,) = b.loop([x], loop_body, [tensor(None, 6)], over=(0, n, 1))
    b.return_(out)
    new = formed(b, out.type)
    (region,) = new.regions.values()
    assert sorted(p.name for p in region.params) == ["acc", "x"]
    # The host needs the size as well, for the loop.
    assert [op.name for op in body(new, HostOp)] == ["tensor.size"]


def test_data_through_the_host_splits():
    b = Builder()
    x = b.param("x", tensor(4))
    s = b.tensor(aten.sum.default, x, name="s")
    k = b.host("int", b.host("tensor.item", s), name="k")
    y = b.tensor(aten.mul.Scalar, x, k, name="y")
    z = b.tensor(aten.relu.default, x, name="z")
    b.return_((y, z))
    new = formed(b, TupleType((y.type, z.type)))
    first, second = new.regions.values()
    # What does not wait is with the first.
    assert names(first) == ["aten.sum.default", "aten.relu.default"]
    assert names(second) == ["aten.mul.Scalar"]
    assert [str(p.type) for p in second.params] == ["float32[4]", "int"]


def test_a_host_scalar_does_not_drag_heavy_neighbours_along():
    b = Builder()
    x, k = b.param("x", MAT), b.param("k", INT)
    w = b.weight("w", torch.ones(4, 4))
    h = b.tensor(aten.linear.default, x, w)
    y = b.tensor(aten.mul.Scalar, h, k)
    z = b.tensor(aten.linear.default, y, w)
    b.return_(z)
    new = formed(b, z.type)
    assert [names(r) for r in new.regions.values()] == [
        ["aten.linear.default"],
        ["aten.mul.Scalar"],
        ["aten.linear.default"],
    ]


def test_a_host_scalar_joins_light_neighbours():
    b = Builder()
    x, k = b.param("x", MAT), b.param("k", INT)
    y = b.tensor(aten.relu.default, b.tensor(aten.mul.Scalar, b.tensor(aten.neg.default, x), k))
    b.return_(y)
    new = formed(b, y.type)
    assert len(new.regions) == 1


def test_views_with_run_time_ints_stay_on_the_host():
    b = Builder()
    x, t = b.param("x", tensor(None, None, 4)), b.param("t", INT)
    step = b.tensor(aten.select.int, x, 1, t, name="step")
    y = b.tensor(aten.relu.default, step)
    b.return_(y)
    new = formed(b, y.type)
    assert [str(op.overload) for op in body(new, TensorOp)] == ["aten.select.int"]
    assert [names(r) for r in new.regions.values()] == [["aten.relu.default"]]


def test_constant_views_join_and_lone_views_stay():
    b = Builder()
    x = b.param("x", tensor(None, 4))
    y = b.tensor(aten.relu.default, b.tensor(aten.select.int, x, 0, -1))
    b.return_(y)
    (region,) = formed(b, y.type).regions.values()
    assert names(region) == ["aten.select.int", "aten.relu.default"]
    b = Builder()
    x = b.param("x", tensor(None, 4))
    y = b.tensor(aten.select.int, x, 0, -1)
    b.return_(y)
    assert formed(b, y.type).regions == {}


def test_parts_of_a_chunk_are_taken_inside():
    b = Builder()
    x = b.param("x", tensor(None, 4))
    parts = b.tensor(aten.chunk.default, x, 2, 1, type=ListType(tensor(None, 2)))
    a, c = b.host("list.get", parts, 0, name="a"), b.host("list.get", parts, 1, name="c")
    y = b.tensor(aten.mul.Tensor, a, c, type=tensor(None, 2))
    b.return_((a, y))
    new = formed(b, TupleType((a.type, y.type)))
    (region,) = new.regions.values()
    assert names(region) == ["aten.chunk.default", "list.get", "list.get", "aten.mul.Tensor"]
    assert [r.name for r in region.results] == ["a", "t"]
    assert body(new, HostOp) == []


def test_lists_of_run_time_length_are_stacked_by_the_host():
    b = Builder()
    xs = b.param("xs", ListType(tensor(4)))
    y = b.tensor(aten.stack.default, xs, 1, type=tensor(4, None))
    b.return_(b.tensor(aten.relu.default, y))
    new = formed(b, tensor(4, None))
    assert [str(op.overload) for op in body(new, TensorOp)] == ["aten.stack.default"]
    assert len(new.regions) == 1


def diamond(exit_inside: bool):
    """if flag: k += 1 (or return), between two tensor operations without data through it."""
    b = Builder()
    x, flag, n = b.param("x", MAT), b.param("flag", BOOL), b.param("n", INT)
    y = b.tensor(aten.relu.default, x)
    with b.block() as then:
        if exit_inside:
            b.return_((y, n))
        else:
            b.yield_(b.host("add", n, 1))
    with b.block() as orelse:
        b.yield_(n)
    (k,) = b.if_(flag, then, orelse, [INT])
    z = b.tensor(aten.neg.default, y)
    b.return_((z, k))
    return formed(b, TupleType((MAT, INT)))


def test_control_flow_without_a_way_out_does_not_split():
    assert len(diamond(exit_inside=False).regions) == 1
    # What may never run is not computed before.
    assert len(diamond(exit_inside=True).regions) == 2


def test_predicates_are_results():
    b = Builder()
    x = b.param("x", MAT)
    y = b.tensor(aten.relu.default, x, name="y")
    done = b.tensor(aten.gt.Scalar, b.tensor(aten.mean.default, y), 0.5, name="done")
    cond = b.host("tensor.truth", done)
    with b.block() as then:
        b.return_(y)
    with b.block() as orelse:
        b.yield_()
    b.if_(cond, then, orelse, [])
    b.return_(b.tensor(aten.neg.default, y))
    new = formed(b, MAT)
    first = next(iter(new.regions.values()))
    assert [r.name for r in first.results] == ["y", "done"]


def test_writing_what_was_made_here_is_the_regions_own_affair():
    b = Builder()
    x = b.param("x", tensor(4))
    y = b.tensor(aten.clone.default, x)
    b.tensor(aten.fill_.Scalar, b.tensor(aten.select.int, y, 0, 0), 3.0)
    b.return_(b.tensor(aten.relu.default, y))
    (region,) = formed(b, tensor(4)).regions.values()
    assert not region.aliasing


def test_writing_an_argument_is_marked_and_kept_apart():
    b = Builder()
    x, w = b.param("x", MAT), b.weight("w", torch.ones(4, 4))
    h = b.tensor(aten.linear.default, x, w)
    b.tensor(aten.add_.Scalar, x, 1.0)
    z = b.tensor(aten.linear.default, x, w)
    b.return_((h, z))
    new = formed(b, TupleType((MAT, MAT)))
    assert [(names(r), r.aliasing) for r in new.regions.values()] == [
        (["aten.linear.default"], False),
        (["aten.add_.Scalar"], True),
        (["aten.linear.default"], False),
    ]
    x = torch.ones(1, 4)
    assert [t.tolist() for t in Interpreter(new).run("forward", [x])] == [[[4.0] * 4], [[8.0] * 4]]


def test_what_a_loop_writes_is_made_by_a_backend_that_keeps_aliasing():
    b = Builder()
    x, n = b.param("x", MAT), b.param("n", INT)
    out = b.tensor(aten.zeros_like.default, x)
    h = b.tensor(aten.linear.default, x, b.weight("w", torch.ones(4, 4)))
    i = b.value(INT, "i")
    with b.block(i) as loop_body:
        row = b.tensor(aten.select.int, out, 0, i, type=tensor(4))
        b.tensor(aten.copy_.default, row, b.tensor(aten.select.int, h, 0, i, type=tensor(4)))
        b.continue_()
    b.loop([], loop_body, [], over=(0, n, 1))
    b.return_(out)
    new = formed(b, MAT)
    marked = {name for r in new.regions.values() if r.aliasing for name in names(r)}
    assert marked == {"aten.zeros_like.default", "aten.copy_.default"}
    assert Interpreter(new).run("forward", [torch.ones(2, 4), 1]).tolist() == [[4.0] * 4, [0.0] * 4]


def test_random_numbers_are_drawn_in_order():
    b = Builder()
    x = b.param("x", tensor(4))
    a = b.tensor(aten.rand_like.default, x)
    k = b.host("tensor.item", b.tensor(aten.sum.default, a))
    c = b.tensor(aten.mul.Scalar, x, k)
    d = b.tensor(aten.rand_like.default, c)
    e = b.tensor(aten.rand_like.default, x)
    b.return_((a, d, e))
    program = b.program(TupleType((tensor(4),) * 3))
    torch.manual_seed(0)
    want = Interpreter(program).run("forward", [torch.ones(4)])
    torch.manual_seed(0)
    got = Interpreter(form_regions(program)).run("forward", [torch.ones(4)])
    assert all(torch.equal(g, w) for g, w in zip(got, want, strict=True))


@pytest.mark.parametrize("guarded", [True, False])
def test_inside_try_errors_keep_their_order(guarded):
    b = Builder()
    x, xs = b.param("x", MAT), b.param("xs", ListType(MAT))
    with b.block() as body_:
        first = b.tensor(aten.relu.default, x)
        got = b.host("list.get", xs, 5)
        b.yield_(b.tensor(aten.add.Tensor, first, b.tensor(aten.neg.default, x)), got)
    with b.block() as handler:
        b.yield_(x, x)
    if guarded:
        outs = b.try_(body_, [Handler(("IndexError",), handler)], [MAT, MAT])
        b.return_(outs)
    else:
        for op in body_.ops[:-1]:
            b.add(op)
        b.return_(body_.ops[-1].values)
    assert len(formed(b, TupleType((MAT, MAT))).regions) == (2 if guarded else 1)


def test_operations_run_for_their_errors_are_kept():
    b = Builder()
    x = b.param("x", tensor(2, 2))
    with b.block() as tried:
        b.tensor(aten.linalg_cholesky.default, x)
        b.yield_(True)
    with b.block(b.value(STR, "e")) as handler:
        b.yield_(False)
    (fine,) = b.try_(tried, [Handler(("RuntimeError",), handler)], [BOOL])
    b.return_(fine)
    new = formed(b, BOOL)
    (region,) = new.regions.values()
    assert len(region.results) == 1
    assert Interpreter(new).run("forward", [torch.eye(2)]) is True
    assert Interpreter(new).run("forward", [-torch.eye(2)]) is False


def test_names_and_spans():
    b = Builder()
    x = b.param("x", MAT)
    for _ in range(2):
        y = b.tensor(aten.relu.default, x, name="self.h")
        with b.block() as then:
            b.return_(y)
        with b.block() as orelse:
            b.yield_()
        b.if_(b.host("tensor.truth", b.tensor(aten.any.default, y)), then, orelse, [])
    b.return_(x)
    new = formed(b, MAT)
    assert list(new.regions) == ["t", "t_2"]
    (call, _) = body(new, RegionCall)
    assert new.regions["t"].span.lines == call.span.lines
    assert call.span.line < call.span.end_line


def test_one_long_segment_is_quick():
    b = Builder()
    x = b.param("x", MAT)
    y = x
    for i in range(1500):
        y = b.tensor(aten.relu.default, y, type=MAT)
        b.do("print", str(i))
    b.return_(y)
    assert len(formed(b, MAT).regions) == 1


def view_of_written(used_elsewhere: bool):
    """A view of an argument that is written afterwards: looked through at once, or given out."""
    b = Builder()
    x = b.param("x", MAT)
    turned = b.tensor(aten.t.default, x, name="turned")
    y = b.tensor(aten.matmul.default, x, turned, name="y")
    b.tensor(aten.add_.Scalar, x, 1.0)
    b.return_((y, turned) if used_elsewhere else (y,))
    new = formed(b, TupleType((y.type, turned.type) if used_elsewhere else (y.type,)))
    return [(names(r), r.aliasing) for r in new.regions.values()]


def test_views_of_written_storage_are_plain_while_nobody_else_sees_them():
    assert view_of_written(used_elsewhere=False) == [
        (["aten.t.default", "aten.matmul.default"], False),
        (["aten.add_.Scalar"], True),
    ]
    assert (["aten.matmul.default"], False) in view_of_written(used_elsewhere=True)
    assert (["aten.t.default"], True) in view_of_written(used_elsewhere=True)


def test_writes_of_one_branch_do_not_mark_what_it_is_joined_with():
    """`out = conv(x); out += x; relu_(out)` in an arm whose result is either `out` or `x`."""
    b = Builder()
    x, flag = b.param("x", MAT), b.param("flag", BOOL)
    w = b.weight("w", torch.ones(4, 4))
    with b.block() as then:
        out = b.tensor(aten.linear.default, x, w, name="out")
        b.tensor(aten.add_.Tensor, out, x)
        b.tensor(aten.relu_.default, out)
        b.yield_(out)
    with b.block() as orelse:
        b.yield_(x)
    (y,) = b.if_(flag, then, orelse, [MAT])
    b.return_(b.tensor(aten.linear.default, y, w))
    new = formed(b, MAT)
    assert [r.aliasing for r in new.regions.values()] == [False, False]


def test_sizes_that_change_in_place_are_read_where_python_reads_them():
    b = Builder()
    cell = b.cell("seen", ROW, torch.ones(3))
    flag = b.param("flag", BOOL)
    t = b.load(cell)
    with b.block() as then:
        b.tensor(aten.resize_.default, t, [1], type=ROW)
        b.yield_()
    with b.block() as orelse:
        b.yield_()
    b.if_(flag, then, orelse, [])
    n = b.host("tensor.size", b.load(cell), 0)
    wide = b.tensor(aten.expand.default, b.weight("w", torch.ones(1)), [n], type=ROW)
    b.return_((n, b.tensor(aten.neg.default, wide, type=ROW)))
    program = b.program(TupleType((INT, ROW)))
    for changed in (form_regions(program), form_regions(simplify(program, STEPS))):
        verify(changed)
        for flag_value, want in ((False, 3), (True, 1)):
            size, wide_row = Interpreter(changed).run("forward", [flag_value])
            assert (size, wide_row.shape) == (want, (want,))


def test_fields_of_a_tuple_are_kept_apart():
    b = Builder()
    cell = b.cell("cache", MAT, torch.zeros(2, 4))
    x = b.param("x", MAT)
    y = b.tensor(aten.linear.default, x, b.weight("w", torch.ones(4, 4)), name="y")
    b.tensor(aten.add_.Scalar, b.load(cell), 1.0)
    pair = b.host("tuple.make", y, b.load(cell))
    b.return_((b.host("tuple.get", pair, 0, type=MAT), b.host("tuple.get", pair, 1, type=MAT)))
    new = formed(b, TupleType((MAT, MAT)))
    assert {r.name: r.aliasing for r in new.regions.values()} == {"y": False, "add": True}
