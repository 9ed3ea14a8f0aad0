"""The reference interpreter on programs built by hand."""

from __future__ import annotations

from collections import deque, namedtuple

import pytest
import torch

from ir_builder import Builder, aten, tensor
from torch2cpp.hostir.host_ops import INT_MAX
from torch2cpp.hostir.interpret import Interpreter
from torch2cpp.hostir.ops import Handler
from torch2cpp.hostir.program import Param, Region, Struct
from torch2cpp.hostir.pyerror import IrFault, PyError
from torch2cpp.hostir.pyvalues import Named
from torch2cpp.hostir.types import (
    BOOL,
    FLOAT,
    INT,
    NONE,
    STR,
    DictType,
    ListType,
    OptionalType,
    RecordType,
    StructType,
    TupleType,
    UnionType,
)


def run(builder: Builder, result, *args, **kwargs):
    return Interpreter(builder.program(result)).run("forward", list(args), kwargs)


def test_tensor_ops_and_weights():
    b = Builder()
    x = b.param("x", tensor(None, 3))
    w = b.weight("fc.weight", torch.nn.Parameter(torch.ones(2, 3)))
    y = b.tensor(aten.linear.default, x, w)
    b.return_(y)
    out = run(b, y.type, torch.ones(4, 3))
    assert torch.equal(out, torch.full((4, 2), 3.0))
    assert not out.requires_grad


def test_in_place_keeps_the_handle():
    b = Builder()
    x = b.param("x", tensor(3))
    y = b.tensor(aten.clone.default, x)
    view = b.tensor(aten.select.int, y, 0, 1)
    b.tensor(aten.fill_.Scalar, view, 7.0)
    b.return_((x, y))
    out = run(b, TupleType((x.type, y.type)), torch.zeros(3))
    assert out[0].tolist() == [0, 0, 0]
    assert out[1].tolist() == [0, 7, 0]


def test_several_results_and_lists():
    b = Builder()
    x = b.param("x", tensor(None))
    values, indices = b.tensor(aten.topk.default, x, 2)
    parts = b.tensor(aten.split.Tensor, values, 1, type=ListType(tensor(None)))
    n = b.host("list.len", parts)
    b.return_((indices, n, parts))
    result = TupleType((indices.type, INT, parts.type), "list")
    out = run(b, result, torch.tensor([1.0, 5.0, 3.0]))
    assert isinstance(out, list)
    assert out[0].tolist() == [1, 2]
    assert out[1] == 2
    assert [t.tolist() for t in out[2]] == [[5.0], [3.0]]


def counting_loop(limit: int | None = None):
    """for i in range(n): if total > 10: break; total += i; returns total."""
    b = Builder()
    n = b.param("n", INT)
    total, i = b.value(INT, "total"), b.value(INT, "i")
    with b.block(i, total) as body:
        big = b.host("gt", total, 10)
        with b.block() as then:
            b.break_(total)
        with b.block() as orelse:
            b.yield_()
        b.if_(big, then, orelse, [])
        b.continue_(b.host("add", total, i))
    (out,) = b.loop([0], body, [INT], over=(0, n, 1))
    b.return_(out)
    return b


@pytest.mark.parametrize(("n", "want"), [(0, 0), (3, 3), (5, 10), (100, 15)])
def test_for_with_break(n, want):
    assert run(counting_loop(), INT, n) == want


def test_coverage_is_recorded():
    program = counting_loop().program(INT)
    interpreter = Interpreter(program)
    interpreter.run("forward", [3])
    (taken,) = interpreter.taken.values()
    assert taken == {False}
    interpreter.run("forward", [100])
    assert taken == {True, False}
    assert list(interpreter.iterations.values()) == [{3, 7}]


def test_long_while_loop_needs_no_stack():
    b = Builder()
    i = b.value(INT, "i")
    with b.block(i) as body:
        done = b.host("ge", i, 20_000)
        with b.block() as then:
            b.break_(i)
        with b.block() as orelse:
            b.yield_()
        b.if_(done, then, orelse, [])
        b.continue_(b.host("add", i, 1))
    (out,) = b.loop([0], body, [INT])
    b.return_(out)
    assert run(b, INT) == 20_000


def test_leave_goes_out_of_loops_and_of_inner_scopes():
    b = Builder()
    far = b.param("far", BOOL)
    i = b.value(INT, "i")
    with b.block() as outer:
        with b.block() as inner:
            with b.block(i) as body:
                with b.block() as then:
                    b.leave("outer", 100)
                with b.block() as orelse:
                    b.leave("inner", i)
                b.if_(far, then, orelse, [])
                b.continue_()
            b.loop([], body, [], over=(5, 9, 1))
            b.leave("inner", -1)
        (got,) = b.scope("inner", inner, [INT])
        b.leave("outer", b.host("mul", got, 2))
    (out,) = b.scope("outer", outer, [INT])
    b.return_(out)
    assert run(b, INT, False) == 10
    assert run(b, INT, True) == 100


def test_recursion():
    f = Builder("fact")
    n = f.param("n", INT)
    with f.block() as then:
        f.return_(1)
    with f.block() as orelse:
        rest = f.call("fact", f.host("sub", n, 1), type=INT)
        f.yield_(f.host("mul", n, rest))
    (out,) = f.if_(f.host("le", n, 1), then, orelse, [INT])
    f.return_(out)
    b = Builder()
    m = b.param("m", INT)
    b.functions["fact"] = f.function(INT)
    b.return_(b.call("fact", m, type=INT))
    assert run(b, INT, 10) == 3628800
    with pytest.raises(PyError) as error:
        run(b, INT, 30)
    assert error.value.name == "OverflowError"


def division(*names: str, final_line: bool = False):
    b = Builder()
    x = b.param("x", INT)
    with b.block() as body:
        b.yield_(b.host("floordiv", 10, x))
    message = b.value(STR, "e")
    with b.block(message) as handler:
        b.yield_(b.host("str.len", message))
    (out,) = b.try_(body, [Handler(names, handler)], [INT])
    b.return_(out)
    return b


@pytest.mark.parametrize("names", [("ZeroDivisionError",), ("ArithmeticError",), ("KeyError", "Exception"), ()])
def test_handlers_match_by_class_and_bases(names):
    assert run(division(*names), INT, 5) == 2
    assert run(division(*names), INT, 0) == len("integer division or modulo by zero")


def test_error_of_another_class_passes_through_with_its_line():
    with pytest.raises(PyError) as error:
        run(division("KeyError", "RuntimeError"), INT, 0)
    assert error.value.name == "ZeroDivisionError"
    assert error.value.span.file == "model.py"


def test_errors_of_tensor_ops_are_caught_by_class():
    b = Builder()
    x = b.param("x", tensor(2, 2))
    with b.block() as body:
        b.yield_(b.tensor(aten.linalg_cholesky.default, x, type=tensor(2, 2)))
    message = b.value(STR, "e")
    with b.block(message) as handler:
        b.do("print", message)
        b.yield_(x)
    (out,) = b.try_(body, [Handler(("LinAlgError",), handler)], [x.type])
    b.return_(out)
    assert run(b, x.type, -torch.eye(2)).tolist() == [[-1, 0], [0, -1]]
    assert run(b, x.type, torch.eye(2)).tolist() == [[1, 0], [0, 1]]


def test_finally_runs_on_every_way_out(capsys):
    b = Builder()
    x = b.param("x", INT)
    with b.block() as body:
        with b.block() as then:
            b.return_(100)
        with b.block() as orelse:
            b.yield_()
        b.if_(b.host("eq", x, 1), then, orelse, [])
        b.yield_(b.host("floordiv", 10, x))
    with b.block() as final:
        b.do("print", "final")
        b.yield_()
    (out,) = b.try_(body, [], [INT], final)
    b.return_(out)
    assert run(b, INT, 2) == 5
    assert run(b, INT, 1) == 100
    with pytest.raises(PyError, match="division"):
        run(b, INT, 0)
    assert capsys.readouterr().out == "final\n" * 3


def test_return_in_finally_wins():
    b = Builder()
    with b.block() as body:
        b.raise_("ValueError", "lost", "Exception")
    with b.block() as final:
        b.return_(3)
    b.try_(body, [], [], final)
    b.return_(4)
    assert run(b, INT) == 3


def test_raise_carries_name_bases_message_and_line():
    b = Builder()
    b.raise_("DecodeError", "no beams left", "ValueError", "Exception")
    with pytest.raises(PyError) as error:
        run(b, NONE)
    assert error.value.bases == ("DecodeError", "ValueError", "Exception")
    assert (error.value.message, error.value.span.line) == ("no beams left", b.body.ops[0].span.line)


def test_state_lives_in_the_instance():
    b = Builder()
    cell = b.cell("count", INT, 3)
    b.store(cell, b.host("add", b.load(cell), 1))
    b.return_(b.load(cell))
    program = b.program(INT)
    one, two = Interpreter(program), Interpreter(program)
    assert [one.run("forward", []), one.run("forward", []), two.run("forward", [])] == [4, 5, 4]
    one.reset()
    assert one.run("forward", []) == 4


def test_tensor_state_is_cloned():
    initial = torch.zeros(2)
    b = Builder()
    cell = b.cell("hidden", tensor(2), initial)
    hidden = b.load(cell)
    b.tensor(aten.add_.Scalar, hidden, 1.0)
    b.return_(hidden)
    interpreter = Interpreter(b.program(tensor(2)))
    interpreter.run("forward", [])
    assert interpreter.run("forward", []).tolist() == [2, 2]
    assert initial.tolist() == [0, 0]


def test_regions_run_and_are_captured():
    b = Builder()
    x = b.param("x", tensor(None))
    y = b.tensor(aten.relu.default, x)
    b.return_(y)
    program = b.program(y.type)
    inner_x, inner_y = b.value(x.type, "x"), b.value(y.type, "y")
    op = program.entries["forward"].body.ops[0]
    from torch2cpp.hostir.ops import RegionCall, TensorOp

    body = TensorOp((inner_y,), op.overload, (inner_x,), {}, op.span)
    program.regions["relu"] = Region("relu", (inner_x,), (body,), (inner_y,), op.span)
    program.entries["forward"].body.ops[0] = RegionCall((y,), "relu", (x,), op.span)
    interpreter = Interpreter(program, capture=2)
    for n in (1, 1, 2, 3):
        assert interpreter.run("forward", [-torch.ones(n)]).tolist() == [0.0] * n
    assert [tuple(a.shape for a in args) for args in interpreter.captured["relu"]] == [((1,),), ((2,),)]


def test_arguments():
    b = Builder()
    x = b.param("x", ListType(tensor(None)))
    b.param("k", INT, 2)
    k = b.params[1].value
    b.params.append(Param("mode", None, pinned="greedy"))
    b.return_((b.host("list.len", x), k))
    result = TupleType((INT, INT))
    assert run(b, result, [torch.ones(1)], 5) == (1, 5)
    assert run(b, result, [], k=4, mode="greedy") == (0, 4)
    for args, kwargs, error, text in (
        ((), {}, TypeError, "missing required argument: 'x'"),
        (([], 1, "beam"), {}, ValueError, "pinned to 'greedy'"),
        (([], 1.5), {}, TypeError, "k: expected int, got float"),
        (([], True), {}, TypeError, "k: expected int, got bool"),
        (([torch.ones(2, 2)],), {}, TypeError, r"x\[0\]: expected float32\[\?\], got float32\[2, 2\]"),
        (([],), {"nope": 1}, TypeError, "unexpected keyword"),
        (([], 1), {"k": 1}, TypeError, "unexpected keyword"),
    ):
        with pytest.raises(error, match=text):
            run(b, result, *args, **kwargs)


def test_result_forms():
    Point = namedtuple("Point", "x y")
    record = RecordType("namedtuple", "Point", (("x", INT), ("y", INT)))
    b = Builder()
    p = b.param("p", record)
    q = b.param("q", OptionalType(INT))
    d = b.param("d", RecordType("dict", "Opts", (("a", FLOAT),)))
    qs = b.param("qs", ListType(INT, "deque"))
    b.return_((p, q, d, qs))
    result = TupleType((record, q.type, d.type, qs.type))
    out = run(b, result, Point(1, 2), None, {"a": 1.5}, deque([1]))
    assert out == (Named("Point", {"x": 1, "y": 2}), None, {"a": 1.5}, deque([1]))
    assert (out[0].x, out[0][1], len(out[0])) == (1, 2, 2)


def test_union_results_take_the_member_that_fits():
    union = UnionType((INT, TupleType((INT, INT), "list"), DictType(STR, INT)))
    b = Builder()
    x = b.param("x", union)
    b.return_(x)
    for value in (3, [1, 2], {"a": 1}):
        assert run(b, union, value) == value


def test_lists_are_shared_by_reference_in_results():
    t = ListType(INT)
    b = Builder()
    xs = b.host("list.new", 1, type=t)
    b.do("list.append", xs, 2)
    b.return_((xs, xs))
    out = run(b, TupleType((t, t)))
    assert out[0] == [1, 2]
    assert out[0] is out[1]


def test_objects_with_cycles():
    node = StructType("Node")
    b = Builder()
    b.structs[node] = Struct("Node", {"value": INT, "next": OptionalType(node)})
    n = b.host("struct.new", "Node", ("value", "next"), 1, None, type=node)
    b.do("struct.set", n, "next", n)
    b.return_(n)
    out = run(b, node)
    assert out.class_name == "Node"
    assert out.next is out


@pytest.mark.parametrize("op", ["add", "sub", "mul"])
def test_integers_are_64_bit(op):
    b = Builder()
    x = b.param("x", INT)
    b.return_(b.host(op, x, -2 if op == "sub" else 2))
    with pytest.raises(PyError) as error:
        run(b, INT, INT_MAX)
    assert error.value.name == "OverflowError"


def test_bools_become_ints_where_the_variable_is_one():
    b = Builder()
    x = b.param("x", BOOL)
    b.return_((b.host("add", x, x), b.host("min", x, 5), b.host("min", 1, 2.5)))
    out = run(b, TupleType((INT, INT, FLOAT)), True)
    assert [type(v) for v in out] == [int, int, float]
    assert out == (2, 1, 1.0)


def test_malformed_programs_are_our_fault_not_the_users():
    b = Builder()
    b.return_(b.value(INT))
    with pytest.raises(IrFault, match="before it is defined"):
        run(b, INT)
