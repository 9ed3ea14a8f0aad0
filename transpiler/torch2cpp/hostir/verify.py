"""The verifier: whether a program is well formed; run between all stages in tests.

Every rule has an id (`RULES`); what it finds is shown inside the listing, under the line it is about.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import final

from torch2cpp.hostir.fit import fits, operand_type
from torch2cpp.hostir.host_ops import TABLE
from torch2cpp.hostir.ops import (
    TERMINATORS,
    Block,
    Break,
    Call,
    Cell,
    Continue,
    HostOp,
    If,
    Leave,
    Load,
    Loop,
    Op,
    Operand,
    Raise,
    RegionCall,
    Return,
    Scope,
    Store,
    TensorOp,
    Try,
    Value,
    WeightRef,
    Yield,
    falls_through,
    leaves,
    operands,
    results,
    values_in,
)
from torch2cpp.hostir.printer import Line, list_program, render
from torch2cpp.hostir.program import Function, Program, Region
from torch2cpp.hostir.types import BOOL, INT, STR, TensorType, Type
from torch2cpp.hostir.verify_ops import host_op_problem, tensor_op_problem

#: What each rule asks for.
RULES = {
    "V001": "a value is defined before it is used, in the block of the use or one around it",
    "V002": "a value is defined once",
    "V003": "a block ends in a terminator and has no other",
    "V004": "the terminator is one that its block can end in",
    "V005": "Yield, Continue, Break and Leave hand on one value per receiver",
    "V006": "a value handed on, passed or stored fits the receiver's type",
    "V007": "Break and Continue are inside a loop",
    "V008": "Leave names an enclosing scope",
    "V009": "what is returned fits the function's result type",
    "V010": "a host operation is in the table and its operands and result follow the table",
    "V011": "a tensor operation's operands and results follow its schema",
    "V012": "a region call names a region and has its number of operands and results",
    "V013": "a call names a function and has its number of operands",
    "V014": "every operation has a place in a source file",
    "V015": "the condition of an If is a bool, the range of a Loop is ints",
    "V016": "a region holds tensor operations and host operations without effect, and defines its results",
    "V017": "a weight is in the program, with its dtype and shape",
    "V018": "a state cell is declared in the program",
    "V019": "a loop has one initial value per carried parameter",
    "V020": "a handler takes the message and the class's name, strings, or nothing",
    "V021": "no two values have the same id",
    "V022": "the labels of scopes are unique in their function",
    "V023": "the instances of an indexed region call take and give the same, the first one names the region",
}


@final
@dataclass(frozen=True, slots=True)
class Problem:
    """One broken rule."""

    rule: str
    text: str
    #: The operation, function or region it is about.
    subject: object


class VerifyError(Exception):
    """The program is malformed: our fault, never the user's. The message is the listing."""

    def __init__(self, problems: Sequence[Problem], listing: str) -> None:
        self.problems = tuple(problems)
        super().__init__(f"{len(problems)} broken rules of the host IR\n{listing}")


def verify(program: Program) -> None:
    """Raises VerifyError, with all problems in the listing, unless the program is well formed."""
    problems = find_problems(program)
    if problems:
        raise VerifyError(problems, _remarked(program, problems))


def find_problems(program: Program) -> list[Problem]:
    """Every broken rule, in the order of the program."""
    checker = _Checker(program)
    for region in program.regions.values():
        checker.region(region)
    for function in (*program.functions.values(), *program.entries.values()):
        checker.function(function)
    return checker.problems


def _remarked(program: Program, problems: Sequence[Problem]) -> str:
    lines: list[Line] = []
    left = list(problems)
    for line in list_program(program):
        lines.append(line)
        if line.subject is not None:
            here = [p for p in left if p.subject is line.subject]
            left = [p for p in left if p.subject is not line.subject]
            lines += [Line(f"^ {p.rule}: {p.text}", line.depth) for p in here]
    lines += [Line(f"^ {p.rule}: {p.text}", 0) for p in left]
    return render(lines)


@final
@dataclass(frozen=True, slots=True)
class _Place:
    """Where a block is: what its terminators hand values to."""

    function: Function
    #: Receivers of Yield, or None where the block does not end in one.
    yields: tuple[Value, ...] | None = None
    loop: Loop | None = None
    scopes: tuple[Scope, ...] = ()


@final
@dataclass(slots=True)
class _Checker:
    program: Program
    problems: list[Problem] = field(default_factory=list)
    #: Every value defined so far anywhere, and every id.
    defined: set[Value] = field(default_factory=set)
    ids: dict[int, Value] = field(default_factory=dict)
    #: Labels of scopes in the current function.
    labels: set[str] = field(default_factory=set)

    def report(self, rule: str, text: str, subject: object) -> None:
        self.problems.append(Problem(rule, text, subject))

    # -- functions and regions -----------------------------------------------------------------

    def function(self, function: Function) -> None:
        scope: set[Value] = set()
        self.labels = set()
        self.define((p.value for p in function.params if p.value is not None), scope, function)
        self.block(function.body, scope, _Place(function), function)

    def region(self, region: Region) -> None:
        scope: set[Value] = set()
        self.define(region.params, scope, region)
        for op in region.body:
            if not isinstance(op, TensorOp | HostOp):
                self.report("V016", f"{type(op).__name__} inside a region", op)
                continue
            # Lists inside a region never change: their elements may be taken.
            if isinstance(op, HostOp) and op.name in TABLE and op.name not in ("list.get", "list.len"):
                effect = TABLE[op.name].effect
                self.expect(effect in ("pure", "raises"), "V016", f"{op.name} {effect}", op)
            self.operation(op, scope)
            self.define(results(op), scope, op)
        for value in region.results:
            if value not in scope:
                self.report("V016", f"result {value} is not defined inside", region)

    def define(self, values: Iterable[Value], scope: set[Value], subject: object) -> None:
        for value in values:
            if value in self.defined:
                self.report("V002", f"{value} is defined again", subject)
            elif self.ids.setdefault(value.id, value) is not value:
                self.report("V021", f"{value} has the id of {self.ids[value.id]}", subject)
            self.defined.add(value)
            scope.add(value)

    # -- blocks --------------------------------------------------------------------------------

    def block(self, block: Block, outer: set[Value], place: _Place, owner: object) -> None:
        scope = set(outer)
        self.define(block.params, scope, owner)
        if falls_through(block):
            self.report("V003", "a block does not end in a terminator", block.ops[-1] if block.ops else owner)
        for i, op in enumerate(block.ops):
            if isinstance(op, TERMINATORS) and i < len(block.ops) - 1:
                self.report("V003", "a terminator is not the last of its block", op)
            self.operation(op, scope)
            self.control(op, scope, place)
            self.define(results(op), scope, op)

    def control(self, op: Op, scope: set[Value], place: _Place) -> None:
        """The blocks of an operation and, for a terminator, what it hands on."""
        match op:
            case If():
                self.expect(operand_type(op.cond) == BOOL, "V015", f"condition is {operand_type(op.cond)}", op)
                arm = _Place(place.function, op.results, place.loop, place.scopes)
                self.block(op.then, scope, arm, op)
                self.block(op.orelse, scope, arm, op)
            case Loop():
                self.loop(op, scope, place)
            case Scope():
                self.expect(op.label not in self.labels, "V022", f"label {op.label} again", op)
                self.labels.add(op.label)
                body = _Place(place.function, None, place.loop, (*place.scopes, op))
                self.block(op.body, scope, body, op)
            case Try():
                arm = _Place(place.function, op.results, place.loop, place.scopes)
                self.block(op.body, scope, arm, op)
                for handler in op.handlers:
                    types = [p.type for p in handler.body.params]
                    self.expect(types in ([], [STR], [STR, STR]), "V020", f"handler takes {len(types)} values", op)
                    self.block(handler.body, scope, arm, op)
                if op.final is not None:
                    final = _Place(place.function, (), place.loop, place.scopes)
                    self.block(op.final, scope, final, op)
            case Yield() | Continue() | Break() | Leave() | Return() | Raise():
                self.terminator(op, place)
            case _:
                pass

    def loop(self, op: Loop, scope: set[Value], place: _Place) -> None:
        carried = op.body.params
        if op.over is not None:
            for bound in op.over:
                self.expect(operand_type(bound) in (INT, BOOL), "V015", f"range over {operand_type(bound)}", op)
            if not carried or carried[0].type != INT:
                self.report("V019", "the body has no int index", op)
            carried = carried[1:]
        self.handed_on(op.inits, carried, "V019", "initial values", op)
        if op.over is not None:
            self.handed_on(carried, op.results, "V005", "values when the range has run out", op)
        self.block(op.body, scope, _Place(place.function, None, op, place.scopes), op)

    def terminator(self, op: Op, place: _Place) -> None:
        match op:
            case Yield():
                if place.yields is None:
                    self.report("V004", "Yield at the end of a function, loop or scope", op)
                else:
                    self.handed_on(op.values, place.yields, "V005", "values yielded", op)
            case Continue() | Break():
                loop = place.loop
                if loop is None:
                    self.report("V007", f"{type(op).__name__} outside a loop", op)
                elif isinstance(op, Break):
                    self.handed_on(op.values, loop.results, "V005", "values at Break", op)
                else:
                    carried = loop.body.params[1:] if loop.over is not None else loop.body.params
                    self.handed_on(op.values, carried, "V005", "values at Continue", op)
            case Leave():
                scope = next((s for s in place.scopes if s.label == op.label), None)
                if scope is None:
                    self.report("V008", f"no enclosing scope {op.label}", op)
                else:
                    self.handed_on(op.values, scope.results, "V005", "values at Leave", op)
            case Return():
                given, want = operand_type(op.value), place.function.result
                self.expect(_fits_operand(op.value, want), "V009", f"returns {given}, expected {want}", op)
            case _:
                assert isinstance(op, Raise)
                self.expect(operand_type(op.message) == STR, "V006", "the message is no string", op)

    def handed_on(self, given: Sequence[Operand], to: Sequence[Value], rule: str, what: str, op: object) -> None:
        if len(given) != len(to):
            self.report(rule, f"{len(given)} {what} for {len(to)}", op)
            return
        for operand, value in zip(given, to, strict=True):
            self.fit(operand, value.type, value.name, op)

    def fit(self, operand: Operand, want: Type, name: str, op: object) -> None:
        self.expect(_fits_operand(operand, want), "V006", f"{name} is {want}, given {operand_type(operand)}", op)

    def expect(self, holds: bool, rule: str, text: str, subject: object) -> None:
        if not holds:
            self.report(rule, text, subject)

    # -- single operations ---------------------------------------------------------------------

    def operation(self, op: Op, scope: set[Value]) -> None:
        for tree in operands(op):
            for value in values_in(tree):
                self.expect(value in scope, "V001", f"{value} is not defined here", op)
            for leaf in leaves(tree):
                if isinstance(leaf, WeightRef):
                    self.weight(leaf, op)
        self.expect(bool(op.span.file) and op.span.line >= 1, "V014", "no place in a source file", op)
        match op:
            case HostOp():
                if problem := host_op_problem(op):
                    self.report("V010", problem, op)
            case TensorOp():
                if problem := tensor_op_problem(op):
                    self.report("V011", problem, op)
            case RegionCall():
                self.region_call(op)
            case Call():
                self.call(op)
            case Load():
                self.cell(op.cell, op)
                self.expect(fits(op.cell.type, op.result.type), "V006", f"{op.cell.name} is {op.cell.type}", op)
            case Store():
                self.cell(op.cell, op)
                self.fit(op.value, op.cell.type, op.cell.name, op)
            case _:
                pass

    def cell(self, cell: Cell, op: Op) -> None:
        declared = cell.scope != "state" or any(cell is c for c in self.program.cells)
        self.expect(declared, "V018", f"cell {cell.name} is not in the program", op)

    def weight(self, weight: WeightRef, op: Op) -> None:
        tensor = self.program.weights.get(weight.name)
        if tensor is None:
            self.report("V017", f"no weight {weight.name}", op)
            return
        actual = TensorType(tensor.dtype, tuple(tensor.shape))
        self.expect(fits(actual, weight.type), "V017", f"{weight.name} is {actual}, not {weight.type}", op)

    def region_call(self, op: RegionCall) -> None:
        missing = [name for name in op.regions if name not in self.program.regions]
        if missing:
            self.report("V012", f"no region {', '.join(missing)}", op)
            return
        region = self.program.regions[op.region]
        if op.instances:
            self.instances(op, region)
        self.handed_on(op.args, region.params, "V012", "operands", op)
        if len(op.results) != len(region.results):
            self.report("V012", f"{len(op.results)} names for {len(region.results)} results", op)
            return
        for given, value in zip(map(operand_type, region.results), op.results, strict=True):
            self.expect(_gives(given, value.type), "V006", f"{value.name} is {value.type}, given {given}", op)

    def instances(self, op: RegionCall, first: Region) -> None:
        self.expect(op.instances[0] == op.region, "V023", f"the first instance is not {op.region}", op)
        self.expect(operand_type(op.index) == INT, "V023", f"the index is {operand_type(op.index)}", op)
        for name in op.instances[1:]:
            other = self.program.regions[name]
            same = _border(other) == _border(first) and other.aliasing == first.aliasing
            self.expect(same, "V023", f"{name} differs from {op.region}", op)

    def call(self, op: Call) -> None:
        function = self.program.functions.get(op.function)
        if function is None:
            self.report("V013", f"no function {op.function}", op)
            return
        params = [p.value for p in function.params if p.value is not None]
        self.handed_on(op.args, params, "V013", "operands", op)
        if len(op.results) == 1:
            given, want = function.result, op.results[0].type
            self.expect(fits(given, want), "V006", f"the result is {given}, not {want}", op)


def _gives(given: Type, target: Type) -> bool:
    """Whether a region's result can be one of the call's: sizes that the region leaves open may be known there."""
    if isinstance(given, TensorType) and isinstance(target, TensorType) and len(given.dims) == len(target.dims):
        known = TensorType(given.dtype, tuple(t if g is None else g for g, t in zip(given.dims, target.dims)))
        return fits(known, target)
    return fits(given, target)


def _border(region: Region) -> tuple[list[Type], list[Type]]:
    """The types of what a region takes and gives."""
    return [operand_type(p) for p in region.params], [operand_type(r) for r in region.results]


def _fits_operand(tree: Operand, want: Type) -> bool:
    return fits(operand_type(tree), want)
