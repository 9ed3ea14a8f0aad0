"""Each simplifying pass on the smallest programs that show what it does, and what it must leave alone."""

from __future__ import annotations

import pytest

from ir_builder import Builder, aten, tensor
from torch2cpp.hostir.interpret import Interpreter
from torch2cpp.hostir.ops import HostOp, If, Leave, Loop, Scope, TensorOp, walk
from torch2cpp.hostir.printer import print_function
from torch2cpp.hostir.types import BOOL, FLOAT, INT, ListType, TupleType
from torch2cpp.hostir.verify import verify
from torch2cpp.passes.drop_dead import drop_dead
from torch2cpp.passes.fold_constants import fold_constants
from torch2cpp.passes.form_regions import form_regions
from torch2cpp.passes.forward_copies import forward_copies
from torch2cpp.passes.inline_scopes import inline_scopes
from torch2cpp.passes.merge_branches import merge_branches
from torch2cpp.passes.order import STEPS
from torch2cpp.passes.share_values import share_values
from torch2cpp.passes.simplify import simplify

ROW = tensor(None)


def after(step, b: Builder, result) -> list[str]:
    """The lines of the body after a pass, without places."""
    program = b.program(result)
    verify(program)
    changed = step(program)
    verify(changed)
    lines = print_function(changed.entries["forward"]).splitlines()[1:]
    return [line.split("  #")[0].strip() for line in lines]


def test_sizes_and_branches_that_are_known():
    b = Builder()
    x = b.param("x", tensor(None, 4))
    big = b.host("gt", b.host("tensor.size", x, -1), 3)
    with b.block() as then:
        b.yield_(b.host("add", 1, 2))
    with b.block() as orelse:
        b.yield_(2)
    (k,) = b.if_(big, then, orelse, [INT])
    b.return_(k)
    assert after(fold_constants, b, INT) == ["return 3"]


def test_what_stands_after_a_known_way_out_goes():
    b = Builder()
    n = b.param("n", INT)
    with b.block() as then:
        b.return_(n)
    with b.block() as orelse:
        b.yield_()
    b.if_(True, then, orelse, [])
    b.do("print", "never")
    b.return_(0)
    assert after(fold_constants, b, INT) == ["return n"]


@pytest.mark.parametrize(("op", "args"), [("floordiv", (1, 0)), ("mul", (2**62, 4)), ("truediv", (1.0, 0.0))])
def test_errors_stay_for_when_they_happen(op, args):
    b = Builder()
    type_ = FLOAT if op == "truediv" else INT
    b.return_(b.host(op, *args, type=type_))
    assert len(after(fold_constants, b, type_)) == 2


def test_infinities_are_no_constants():
    b = Builder()
    b.return_(b.host("mul", 1e300, 1e300))
    assert after(fold_constants, b, FLOAT) == ["h: float = mul(1e+300, 1e+300)", "return h"]


def test_neutral_operands():
    b = Builder()
    n, x = b.param("n", INT), b.param("x", FLOAT)
    # A float plus 0 is not always itself (-0.0), an int is.
    b.return_((b.host("add", b.host("mul", n, 1), 0), b.host("add", x, 0.0)))
    assert after(fold_constants, b, TupleType((INT, FLOAT))) == ["h: float = add(x, 0.0)", "return (n, h)"]


def test_sizes_that_a_tensor_was_made_with():
    b = Builder()
    x = b.param("x", ROW)
    n = b.host("tensor.size", x, 0, name="n")
    h = b.tensor(aten.zeros.default, [2, n], type=tensor(2, None), name="h")
    same = b.host("eq", b.host("tensor.size", h, -1), n)
    with b.block() as then:
        b.yield_()
    with b.block() as orelse:
        b.raise_("RuntimeError", "hidden size", "Exception")
    b.if_(same, then, orelse, [])
    b.return_(h)
    assert after(fold_constants, b, tensor(2, None)) == [
        "n: int = tensor.size(x, 0)",
        "h: float32[2, ?] = aten.zeros.default([2, n])",
        "return h",
    ]


def test_scopes_left_at_their_end_only():
    b = Builder()
    x = b.param("x", ROW)
    with b.block() as body:
        b.leave("f", b.tensor(aten.relu.default, x, name="y"))
    (y,) = b.scope("f", body, [ROW])
    b.return_(b.tensor(aten.neg.default, y, name="z"))
    assert after(inline_scopes, b, ROW) == [
        "y: float32[?] = aten.relu.default(x)",
        "z: float32[?] = aten.neg.default(y)",
        "return z",
    ]


def test_scopes_left_early_stay():
    b = Builder()
    flag = b.param("flag", BOOL)
    with b.block() as body:
        with b.block() as then:
            b.leave("f", 1)
        with b.block() as orelse:
            b.yield_()
        b.if_(flag, then, orelse, [])
        b.leave("f", 2)
    (k,) = b.scope("f", body, [INT])
    b.return_(k)
    program = inline_scopes(b.program(INT))
    ops = list(walk(program.entries["forward"].body))
    assert sum(isinstance(op, Scope) for op in ops) == 1
    assert sum(isinstance(op, Leave) for op in ops) == 2


def test_values_that_branches_hand_on():
    b = Builder()
    x, flag = b.param("x", ROW), b.param("flag", BOOL)
    with b.block() as then:
        b.do("print", "yes")
        b.yield_(x, 1, 7)
    with b.block() as orelse:
        b.yield_(x, 2, 7)
    y, k, seven = b.if_(flag, then, orelse, [ROW, INT, INT])
    b.return_((y, k, seven))
    assert after(forward_copies, b, TupleType((ROW, INT, INT))) == [
        "if flag",
        "print('yes')",
        "yield 1",
        "else",
        "yield 2",
        "-> r: int",
        "return (x, r, 7)",
    ]


def test_branches_that_choose_between_constants():
    b = Builder()
    flag = b.param("flag", BOOL)
    with b.block() as then:
        b.yield_(0, True, False)
    with b.block() as orelse:
        b.yield_(1, False, True)
    kind, yes, no = b.if_(flag, then, orelse, [INT, BOOL, BOOL])
    tests = [b.host("eq", kind, 0), b.host("eq", kind, 1), b.host("eq", kind, 2), b.host("not", no), yes]
    b.return_(tuple(tests))
    assert after(lambda program: simplify(program, STEPS), b, TupleType((BOOL,) * 5)) == [
        "h: bool = not(flag)",
        "return (flag, h, False, flag, flag)",
    ]


def test_branches_on_one_condition_are_joined():
    b = Builder()
    x, flag = b.param("x", ROW), b.param("flag", BOOL)
    with b.block() as then:
        b.do("print", "first")
        b.yield_(1)
    with b.block() as orelse:
        b.return_((0, x))
    (k,) = b.if_(flag, then, orelse, [INT])
    n = b.host("tensor.size", x, 0, name="n")
    with b.block() as then:
        b.yield_(b.host("add", k, n), b.tensor(aten.relu.default, x, name="y"))
    with b.block() as orelse:
        b.yield_(0, x)
    m, z = b.if_(flag, then, orelse, [INT, ROW])
    b.return_((b.host("mul", k, m), z))
    assert after(merge_branches, b, TupleType((INT, ROW))) == [
        "n: int = tensor.size(x, 0)",
        "if flag",
        "print('first')",
        "h: int = add(1, n)",
        "y: float32[?] = aten.relu.default(x)",
        "yield 1, h, y",
        "else",
        "return (0, x)",
        "-> r: int, r.1: int, r.2: float32[?]",
        "h.1: int = mul(r, r.1)",
        "return (h.1, r.2)",
    ]


def test_branches_with_effects_in_between_are_not_joined():
    b = Builder()
    flag = b.param("flag", BOOL)
    for text in ("a", "b"):
        with b.block() as then:
            b.do("print", text)
            b.yield_()
        with b.block() as orelse:
            b.yield_()
        b.if_(flag, then, orelse, [])
        b.do("print", "between")
    b.return_(0)
    program = merge_branches(b.program(INT))
    assert sum(isinstance(op, If) for op in program.entries["forward"].body.ops) == 2


def test_values_that_loops_hand_on():
    b = Builder()
    x, n = b.param("x", ROW), b.param("n", INT)
    i, same, total = b.value(INT, "i"), b.value(ROW, "same"), b.value(INT, "total")
    with b.block(i, same, total) as body:
        b.do("print", b.host("str", b.host("tensor.size", same, 0)))
        b.continue_(same, b.host("add", total, i))
    y, k = b.loop([x, 0], body, [ROW, INT], over=(0, n, 1))
    b.return_((y, k))
    lines = after(forward_copies, b, TupleType((ROW, INT)))
    assert lines[0] == "for i: int in range(0, n, 1) with total: int = 0"
    assert lines[1] == "h: int = tensor.size(x, 0)"
    assert lines[-1] == "return (x, l)"


def test_a_break_with_another_value_keeps_the_result():
    b = Builder()
    x, z, n = b.param("x", ROW), b.param("z", ROW), b.param("n", INT)
    i, same = b.value(INT, "i"), b.value(ROW, "same")
    with b.block(i, same) as body:
        with b.block() as then:
            b.break_(z)
        with b.block() as orelse:
            b.yield_()
        b.if_(b.host("gt", i, 2), then, orelse, [])
        b.continue_(same)
    (y,) = b.loop([x], body, [ROW], over=(0, n, 1))
    b.return_(y)
    program = forward_copies(b.program(ROW))
    (loop,) = [op for op in program.entries["forward"].body.ops if isinstance(op, Loop)]
    assert len(loop.results) == 1


def test_repeated_sizes_and_arithmetic():
    b = Builder()
    x = b.param("x", ROW)
    n, m = b.host("tensor.size", x, 0, name="n"), b.host("tensor.size", x, 0, name="m")
    with b.block() as then:
        b.yield_(b.host("mul", b.host("tensor.size", x, 0), 2))
    with b.block() as orelse:
        b.yield_(b.host("add", n, m))
    (k,) = b.if_(b.host("lt", n, m), then, orelse, [INT])
    b.return_((k, b.host("mul", n, 2, name="after")))
    assert after(share_values, b, TupleType((INT, INT))) == [
        "n: int = tensor.size(x, 0)",
        "h: bool = lt(n, n)",
        "if h",
        "h.1: int = mul(n, 2)",
        "yield h.1",
        "else",
        "h.2: int = add(n, n)",
        "yield h.2",
        "-> r: int",
        # Not the one of the arm, which may not have run.
        "after: int = mul(n, 2)",
        "return (r, after)",
    ]


def test_what_reads_is_not_shared():
    b = Builder()
    xs = b.param("xs", ListType(INT))
    one = b.host("list.len", xs)
    b.do("list.append", xs, 1)
    b.return_((one, b.host("list.len", xs)))
    program = share_values(b.program(TupleType((INT, INT))))
    assert Interpreter(program).run("forward", [[]]) == (0, 1)


def test_zeros_of_both_signs_are_different_constants():
    b = Builder()
    x = b.param("x", FLOAT)
    b.return_((b.host("mul", x, 0.0), b.host("mul", x, -0.0)))
    program = simplify(b.program(TupleType((FLOAT, FLOAT))), STEPS)
    assert str(Interpreter(program).run("forward", [1.0])) == "(0.0, -0.0)"


def test_dead_values():
    b = Builder()
    x, flag = b.param("x", ROW), b.param("flag", BOOL)
    b.host("tensor.size", x, 0)
    b.tensor(aten.relu.default, x)
    i, h, last = b.value(INT, "i"), b.value(ROW, "h"), b.value(INT, "last")
    with b.block(i, h, last) as body:
        b.continue_(b.tensor(aten.neg.default, h, name="h2"), i)
    y, _ = b.loop([x, 0], body, [ROW, INT], over=(0, 3, 1))
    with b.block() as then:
        b.yield_(1)
    with b.block() as orelse:
        b.yield_(b.host("add", 1, 1))
    b.if_(flag, then, orelse, [INT])
    b.return_(y)
    assert after(drop_dead, b, ROW) == [
        "for i: int in range(0, 3, 1) with h: float32[?] = x",
        "h2: float32[?] = aten.neg.default(h)",
        "continue h2",
        "-> l: float32[?]",
        "return l",
    ]


def test_errors_and_writes_are_not_dead():
    b = Builder()
    x, n, xs = b.param("x", tensor(2, 2)), b.param("n", INT), b.param("xs", ListType(INT))
    b.host("floordiv", 1, n)
    b.host("list.get", xs, n)
    b.tensor(aten.linalg_cholesky.default, x)
    b.tensor(aten.add_.Scalar, x, 1.0)
    b.do("list.append", xs, n)
    b.return_(0)
    program = drop_dead(b.program(INT))
    ops = [op for op in walk(program.entries["forward"].body) if isinstance(op, HostOp | TensorOp)]
    assert len(ops) == 5


def test_carried_values_that_only_feed_themselves():
    b = Builder()
    n = b.param("n", INT)
    i, lost = b.value(INT, "i"), b.value(INT, "lost")
    with b.block(i, lost) as body:
        with b.block() as then:
            b.break_(i)
        with b.block() as orelse:
            b.yield_()
        b.if_(b.host("ge", i, n), then, orelse, [])
        b.continue_(b.host("add", i, 1), b.host("add", lost, i))
    (k,) = b.loop([0, 0], body, [INT])
    b.return_(k)
    program = drop_dead(b.program(INT))
    (loop,) = [op for op in program.entries["forward"].body.ops if isinstance(op, Loop)]
    assert [p.name for p in loop.body.params] == ["i"]
    assert Interpreter(program).run("forward", [3]) == 3


def test_steps_work_together():
    """A function inlined with a known flag: nothing of it is left but its tensor operations."""
    b = Builder()
    x = b.param("x", tensor(None, 4))
    with b.block() as body:
        with b.block() as then:
            b.leave("f", b.tensor(aten.relu.default, x, name="y"), 1)
        with b.block() as orelse:
            b.yield_()
        b.if_(b.host("eq", b.host("tensor.size", x, 1), 4), then, orelse, [])
        b.raise_("ValueError", "size", "Exception")
    y, _ = b.scope("f", body, [x.type, INT])
    b.return_(y)
    assert after(lambda program: simplify(program, STEPS), b, x.type) == [
        "y: float32[?, 4] = aten.relu.default(x)",
        "return y",
    ]


def test_passes_leave_the_program_they_are_given_as_it_is():
    b = Builder()
    x = b.param("x", tensor(None, 4))
    n = b.host("tensor.size", x, 1)
    with b.block() as then:
        b.yield_(b.tensor(aten.relu.default, x))
    with b.block() as orelse:
        b.yield_(x)
    (y,) = b.if_(b.host("gt", n, 3), then, orelse, [x.type])
    b.return_(y)
    program = b.program(x.type)
    before = print_function(program.entries["forward"])
    changed = form_regions(simplify(program, STEPS))
    assert print_function(program.entries["forward"]) == before
    assert not any(isinstance(op, If) for op in walk(changed.entries["forward"].body))
