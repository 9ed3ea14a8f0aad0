"""One failing program per rule of the verifier."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch

from ir_builder import Builder, aten, tensor
from torch2cpp.hostir.ops import Cell, Handler, HostOp, Load, RegionCall, TensorOp, Value, WeightRef, Yield
from torch2cpp.hostir.program import Region
from torch2cpp.hostir.types import BOOL, FLOAT, INT, STR, ListType, OptionalType, TensorType, TupleType, UnionType
from torch2cpp.hostir.verify import RULES, VerifyError, find_problems, verify
from torch2cpp.spans import Span

Case = Callable[[Builder], object]
BROKEN: list[tuple[str, Case]] = []


def broken(rule: str) -> Callable[[Case], Case]:
    """Registers a function that builds a body breaking `rule`; it returns a type or None for INT."""

    def register(case: Case) -> Case:
        BROKEN.append((rule, case))
        return case

    return register


@broken("V001")
def use_before_definition(b: Builder) -> None:
    b.host("add", b.value(INT), 1)
    b.return_(0)


@broken("V001")
def use_outside_the_block(b: Builder) -> None:
    with b.block() as then:
        inner = b.host("add", 1, 2)
        b.yield_()
    with b.block() as orelse:
        b.yield_()
    b.if_(True, then, orelse, [])
    b.return_(inner)


@broken("V002")
def defined_twice(b: Builder) -> None:
    x = b.host("add", 1, 2)
    b.add(HostOp(x, "add", (1, 2), b.span()))
    b.return_(x)


@broken("V003")
def no_terminator(b: Builder) -> None:
    b.host("add", 1, 2)


@broken("V003")
def terminator_in_the_middle(b: Builder) -> None:
    b.return_(0)
    b.return_(1)


@broken("V004")
def yield_of_a_function(b: Builder) -> None:
    b.yield_()


@broken("V005")
def yields_too_few(b: Builder) -> None:
    with b.block() as then:
        b.yield_(1)
    with b.block() as orelse:
        b.yield_()
    (r,) = b.if_(True, then, orelse, [INT])
    b.return_(r)


@broken("V005")
def break_hands_on_too_many(b: Builder) -> None:
    with b.block() as body:
        b.break_(1, 2)
    (r,) = b.loop([], body, [INT])
    b.return_(r)


@broken("V005")
def range_runs_out_without_values(b: Builder) -> None:
    with b.block(b.value(INT, "i")) as body:
        b.break_(1)
    (r,) = b.loop([], body, [INT], over=(0, 3, 1))
    b.return_(r)


@broken("V006")
def yields_another_type(b: Builder) -> None:
    with b.block() as then:
        b.yield_(1.5)
    with b.block() as orelse:
        b.yield_(1)
    (r,) = b.if_(True, then, orelse, [INT])
    b.return_(r)


@broken("V006")
def stores_another_type(b: Builder) -> None:
    b.store(b.cell("count", INT, 0), "many")
    b.return_(0)


@broken("V006")
def raises_an_int(b: Builder) -> None:
    b.raise_("ValueError", 3)


@broken("V007")
def break_outside_a_loop(b: Builder) -> None:
    b.break_()


@broken("V008")
def leaves_no_scope(b: Builder) -> None:
    with b.block() as body:
        b.leave("g")
    b.scope("f", body, [])
    b.return_(0)


@broken("V009")
def returns_another_type(b: Builder) -> None:
    b.return_("text")


@broken("V010")
def unknown_host_operation(b: Builder) -> None:
    b.host("frobnicate", 1, type=INT)
    b.return_(0)


@broken("V010")
def host_operand_of_another_type(b: Builder) -> None:
    b.host("list.get", 3, 0, type=INT)
    b.return_(0)


@broken("V010")
def host_result_of_another_type(b: Builder) -> None:
    b.host("add", 1, 2, type=STR)
    b.return_(0)


@broken("V010")
def comparison_of_unlike_operands(b: Builder) -> None:
    b.host("lt", 1, "a", type=BOOL)
    b.return_(0)


@broken("V010")
def which_part_is_decided_at_run_time(b: Builder) -> None:
    pair = b.host("tuple.make", 1, 2, type=TupleType((INT, INT)))
    at = b.host("add", 0, 1, type=INT)
    b.host("tuple.get", pair, at, type=INT)
    b.return_(0)


@broken("V010")
def too_few_host_operands(b: Builder) -> None:
    b.host("and", 1, type=INT)
    b.return_(0)


@broken("V011")
def too_many_tensor_operands(b: Builder) -> None:
    x = b.param("x", tensor(3))
    b.tensor(aten.relu.default, x, x, type=x.type)
    b.return_(0)


@broken("V011")
def missing_tensor_operand(b: Builder) -> None:
    x = b.param("x", tensor(3))
    b.tensor(aten.mm.default, x, type=x.type)
    b.return_(0)


@broken("V011")
def scalar_for_a_tensor(b: Builder) -> None:
    b.tensor(aten.relu.default, b.param("n", INT), type=tensor(3))
    b.return_(0)


@broken("V011")
def too_few_results(b: Builder) -> None:
    x = b.param("x", tensor(3))
    b.tensor(aten.topk.default, x, 2, type=x.type)
    b.return_(0)


@broken("V012")
def unknown_region(b: Builder) -> None:
    b.add(RegionCall((), "nowhere", (), b.span()))
    b.return_(0)


@broken("V013")
def unknown_function(b: Builder) -> None:
    b.return_(b.call("nowhere", type=INT))


@broken("V013")
def call_with_too_few_operands(b: Builder) -> None:
    f = Builder("f")
    f.count, f.line = 1000, 1000
    f.return_(f.param("n", INT))
    b.functions["f"] = f.function(INT)
    b.return_(b.call("f", type=INT))


@broken("V014")
def no_place(b: Builder) -> None:
    b.add(HostOp(b.value(INT), "add", (1, 2), Span("", 0, 0, 0, 0)))
    b.return_(0)


@broken("V015")
def condition_is_an_int(b: Builder) -> None:
    with b.block() as then:
        b.yield_()
    with b.block() as orelse:
        b.yield_()
    b.if_(1, then, orelse, [])
    b.return_(0)


@broken("V015")
def range_over_floats(b: Builder) -> None:
    with b.block(b.value(INT, "i")) as body:
        b.continue_()
    b.loop([], body, [], over=(0, 2.5, 1))
    b.return_(0)


@broken("V017")
def unknown_weight(b: Builder) -> None:
    b.tensor(aten.relu.default, WeightRef("nowhere", TensorType(torch.float32, (3,))), type=tensor(3))
    b.return_(0)


@broken("V017")
def weight_of_another_shape(b: Builder) -> None:
    b.weight("w", torch.ones(4))
    b.tensor(aten.relu.default, WeightRef("w", TensorType(torch.float32, (3,))), type=tensor(3))
    b.return_(0)


@broken("V018")
def undeclared_cell(b: Builder) -> None:
    result = b.value(INT)
    b.add(Load(result, Cell("ghost", INT, "state", 0), b.span()))
    b.return_(result)


@broken("V019")
def loop_without_initial_values(b: Builder) -> None:
    i = b.value(INT, "i")
    with b.block(i) as body:
        b.break_(i)
    (r,) = b.loop([], body, [INT])
    b.return_(r)


@broken("V019")
def counted_loop_without_index(b: Builder) -> None:
    with b.block() as body:
        b.continue_()
    b.loop([], body, [], over=(0, 3, 1))
    b.return_(0)


@broken("V020")
def handler_with_two_parameters(b: Builder) -> None:
    with b.block() as body:
        b.yield_()
    with b.block(b.value(STR), b.value(INT)) as handler:
        b.yield_()
    b.try_(body, [Handler((), handler)], [])
    b.return_(0)


@broken("V022")
def two_scopes_with_one_label(b: Builder) -> None:
    for _ in range(2):
        with b.block() as body:
            b.leave("f")
        b.scope("f", body, [])
    b.return_(0)


@broken("V021")
def two_values_with_one_id(b: Builder) -> None:
    for _ in range(2):
        b.add(HostOp(Value(77, INT, "x", b.span()), "add", (1, 2), b.span()))
    b.return_(0)


@pytest.mark.parametrize(("rule", "case"), BROKEN, ids=[c.__name__ for _, c in BROKEN])
def test_each_broken_rule_is_found(rule, case):
    b = Builder()
    case(b)
    program = b.program(INT)
    assert [p.rule for p in find_problems(program)] == [rule]
    with pytest.raises(VerifyError) as error:
        verify(program)
    assert f"^ {rule}: " in str(error.value)


def region_program(body, results, host_results=None):
    b = Builder()
    x = b.param("x", tensor(3))
    inner = b.value(tensor(3), "x")
    span = b.span()
    ops, outs = body(b, inner), results
    region = Region("r", (inner,), tuple(ops), tuple(op.results[0] for op in ops[:1]) if outs is None else outs, span)
    out = b.value(tensor(3), "y")
    b.add(RegionCall((out,), "r", (x,), span))
    b.return_(out)
    program = b.program(tensor(3))
    program.regions["r"] = region
    return program


def relu(b, x):
    return TensorOp((b.value(tensor(3), "y"),), aten.relu.default, (x,), {}, b.span())


def test_regions():
    assert find_problems(region_program(lambda b, x: [relu(b, x)], None)) == []
    stray = Value(999, tensor(3), "stray", Span("model.py", 1, 1, 1, 1))
    for rules, body, results in (
        (["V016"], lambda b, x: [relu(b, x)], (stray,)),
        (["V016"], lambda b, x: [relu(b, x), HostOp(None, "print", ("a",), b.span())], None),
        (["V016"], lambda b, x: [relu(b, x), Yield((), b.span())], None),
        (["V001"], lambda b, x: [relu(b, stray)], None),
        (["V012"], lambda b, x: [relu(b, x)], ()),
    ):
        assert [p.rule for p in find_problems(region_program(body, results))] == rules


def indexed_program(second, index):
    b = Builder()
    x = b.param("x", tensor(3))
    b.add(RegionCall((out := b.value(tensor(3), "y"),), "r", (x,), b.span(), ("r", "s"), index))
    b.return_(out)
    program = b.program(tensor(3))
    for name, type_ in (("r", tensor(3)), ("s", second)):
        inner = b.value(type_, "x")
        op = TensorOp((b.value(type_, "y"),), aten.relu.default, (inner,), {}, b.span())
        program.regions[name] = Region(name, (inner,), (op,), op.results, b.span())
    return program


def test_instances_called_by_index():
    assert find_problems(indexed_program(tensor(3), 0)) == []
    for second, index in ((tensor(4), 0), (tensor(3), 0.5), (tensor(3), None)):
        assert [p.rule for p in find_problems(indexed_program(second, index))] == ["V023"]
    lost = indexed_program(tensor(3), 0)
    del lost.regions["s"]
    assert [p.rule for p in find_problems(lost)] == ["V012"]


def test_every_rule_has_a_failing_program():
    assert {rule for rule, _ in BROKEN} | {"V016", "V023"} == set(RULES)


def test_problems_stand_under_their_lines():
    b = Builder()
    b.host("add", b.value(INT, "ghost"), 1, name="y")
    b.return_("text")
    with pytest.raises(VerifyError) as error:
        verify(b.program(INT))
    lines = [line.strip() for line in str(error.value).splitlines()]
    (at,) = [i for i, line in enumerate(lines) if line.startswith("y: int = add(?ghost, 1)")]
    assert lines[at + 1].startswith("^ V001: %ghost")
    assert lines[at + 3] == "^ V009: returns str, expected int"


def test_values_may_be_narrower_than_their_receivers():
    b = Builder()
    x = b.param("x", tensor(3))
    wide = TensorType(torch.float32, (None,))
    union = UnionType((INT, OptionalType(FLOAT)))
    with b.block() as then:
        b.yield_(x, None, 1)
    with b.block() as orelse:
        b.yield_(x, 2, None)
    r = b.if_(True, then, orelse, [wide, OptionalType(INT), union])
    xs = b.host("list.new", type=ListType(wide))
    b.return_((*r, xs))
    verify(b.program(TupleType((wide, OptionalType(INT), union, xs.type))))
