"""The text form of a program: one line per operation, with the Python line it came from.

Names come from the Python names and the position, never from `id()`: the first value called `x`
is `x`, the next `x.1`, so two runs print the same text. A line looks like

    y: float32[?, 3] = aten.linear.default(x, @fc.weight)    # model.py:12

Weights are written `@name`, cells `$name`, a value that nothing defines `?name`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, final

import torch

from torch2cpp.hostir.ops import (
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
)
from torch2cpp.hostir.program import REQUIRED, Function, Param, Program, Region
from torch2cpp.hostir.types import BOOL, TensorType
from torch2cpp.spans import Span

_COLUMN = 88


@final
@dataclass(frozen=True, slots=True)
class Line:
    """One line of a listing."""

    text: str
    depth: int
    #: The operation, function, region or cell the line shows, for remarks about it.
    subject: object | None = None
    span: Span | None = None

    def __str__(self) -> str:
        indented = "  " * self.depth + self.text
        return indented if self.span is None else f"{indented:<{_COLUMN}}  # {self.span}"


def print_program(program: Program) -> str:
    """The whole program as text, ending in a newline."""
    return render(list_program(program))


def print_function(function: Function, kind: str = "entry") -> str:
    """One function as text, ending in a newline."""
    listing = _Listing()
    listing.function(function, kind)
    return render(listing.lines)


def print_region(region: Region) -> str:
    """One region as text, ending in a newline: inputs, weights, results, body."""
    listing = _Listing()
    listing.region(region)
    return render(listing.lines)


def render(lines: Iterable[Line]) -> str:
    """The lines as one text."""
    return "".join(str(line).rstrip() + "\n" for line in lines)


def list_program(program: Program) -> list[Line]:
    """The whole program as lines that know what they show."""
    listing = _Listing()
    listing.add(f"program {program.name} (class {program.class_name})", 0)
    if program.weights:
        listing.add("weights", 0)
    for name, tensor in program.weights.items():
        listing.add(f"@{name}: {TensorType(tensor.dtype, tuple(tensor.shape))}", 1)
    for cell in program.cells:
        initial = f" = {_constant(cell.initial)}" if cell.scope == "state" else ""
        listing.add(f"{cell.scope} ${cell.name}: {cell.type}{initial}", 0, cell)
    for struct in program.structs.values():
        fields = ", ".join(f"{k}: {t}" for k, t in struct.fields.items())
        listing.add(f"struct {struct.name} {{{fields}}}", 0, struct, struct.span)
    for region in program.regions.values():
        listing.region(region)
    for function in program.functions.values():
        listing.function(function, "function")
    for function in program.entries.values():
        listing.function(function, "entry")
    return listing.lines


@final
@dataclass(slots=True)
class _Listing:
    """Lines so far, and the names given in the current function or region."""

    lines: list[Line] = field(default_factory=list)
    names: dict[Value, str] = field(default_factory=dict)
    used: dict[str, int] = field(default_factory=dict)

    def add(self, text: str, depth: int, subject: object | None = None, span: Span | None = None) -> None:
        self.lines.append(Line(text, depth, subject, span))

    # -- names and operands --------------------------------------------------------------------

    def fresh(self) -> None:
        self.names, self.used = {}, {}

    def define(self, value: Value) -> str:
        """`x: int`, naming the value on the way."""
        base = value.name or "v"
        count = self.used.get(base, 0)
        self.used[base] = count + 1
        self.names[value] = base if count == 0 else f"{base}.{count}"
        return f"{self.names[value]}: {value.type}"

    def defined(self, values: Sequence[Value]) -> str:
        return ", ".join(self.define(v) for v in values)

    def show(self, tree: Operand) -> str:
        match tree:
            case Value():
                return self.names.get(tree, f"?{tree.name}")
            case WeightRef():
                return f"@{tree.name}"
            case tuple():
                inner = ", ".join(self.show(x) for x in tree)
                return f"({inner},)" if len(tree) == 1 else f"({inner})"
            case list():
                return "[" + ", ".join(self.show(x) for x in tree) + "]"
            case dict():
                return "{" + ", ".join(f"{k!r}: {self.show(v)}" for k, v in tree.items()) + "}"
            case slice():
                return f"slice({self.show(tree.start)}, {self.show(tree.stop)}, {self.show(tree.step)})"
            case _:
                return _constant(tree)

    def shown(self, trees: Sequence[Operand]) -> str:
        return ", ".join(self.show(t) for t in trees)

    # -- functions and regions -----------------------------------------------------------------

    def function(self, function: Function, kind: str) -> None:
        self.fresh()
        params = ", ".join(self.param(p) for p in function.params)
        self.add(f"{kind} {function.name}({params}) -> {function.result}", 0, function, function.span)
        self.block(function.body, 1)

    def param(self, param: Param) -> str:
        if param.value is None:
            return f"{param.name} pinned to {_constant(param.pinned)}"
        shown = self.define(param.value)
        return shown if param.default is REQUIRED else f"{shown} = {_constant(param.default)}"

    def region(self, region: Region) -> None:
        self.fresh()
        aliasing = " aliasing" if region.aliasing else ""
        title = f"region {region.name}{aliasing}, lines {region.span.lines}"
        self.add(title, 0, region, region.span)
        self.add(f"inputs  {self.defined(region.params) or 'none'}", 1)
        if weights := region.weights():
            self.add("weights " + ", ".join(f"@{w.name}" for w in weights), 1)
        at = len(self.lines)
        for op in region.body:
            self.op(op, 2)
        predicates = [r for r in region.results if r.type == BOOL]
        results = f"results {self.shown(region.results) or 'none'}"
        self.lines.insert(at, Line(results, 1))
        if predicates:
            self.lines.insert(at + 1, Line(f"predicates {self.shown(predicates)}", 1))

    # -- operations ----------------------------------------------------------------------------

    def block(self, block: Block, depth: int) -> None:
        for op in block.ops:
            self.op(op, depth)

    def op(self, op: Op, depth: int) -> None:
        match op:
            case If():
                self.if_(op, depth)
            case Loop():
                self.loop(op, depth)
            case Scope():
                # What is inside is named first, as it is defined first.
                self.nested(f"scope {op.label} ({op.name})", op, op.body, depth)
                self.results(op, depth)
            case Try():
                self.try_(op, depth)
            case _:
                text = self.operation(op)
                self.add(text, depth, op, op.span)

    def operation(self, op: Op) -> str:
        """A straight-line operation or a terminator."""
        match op:
            case TensorOp():
                kwargs = [f"{k}={self.show(v)}" for k, v in op.kwargs.items()]
                call = f"{op.overload}({', '.join([self.show(a) for a in op.args] + kwargs)})"
                return self.assigned(op.results, call)
            case HostOp():
                return self.assigned(() if op.result is None else (op.result,), f"{op.name}({self.shown(op.args)})")
            case Call():
                return self.assigned(op.results, f"call {op.function}({self.shown(op.args)})")
            case RegionCall():
                chosen = f" .. {op.instances[-1]}[{self.show(op.index)}]" if op.instances else ""
                return self.assigned(op.results, f"region {op.region}{chosen}({self.shown(op.args)})")
            case Load():
                return self.assigned((op.result,), f"load {_cell(op.cell)}")
            case Store():
                return f"store {_cell(op.cell)} = {self.show(op.value)}"
            case Yield() | Continue() | Break():
                return f"{type(op).__name__.lower()} {self.shown(op.values)}".rstrip()
            case Leave():
                return f"leave {op.label} {self.shown(op.values)}".rstrip()
            case Return():
                return f"return {self.show(op.value)}"
            case Raise(name=""):
                return "raise"
            case Raise():
                bases = f" ({', '.join(op.bases)})" if op.bases else ""
                return f"raise {op.name}{bases} {self.show(op.message)}"
            case _:
                raise TypeError(f"no operation: {type(op).__name__}")

    def assigned(self, values: Sequence[Value], call: str) -> str:
        return f"{self.defined(values)} = {call}" if values else call

    def nested(self, title: str, op: Op, block: Block, depth: int) -> None:
        self.add(title, depth, op, op.span)
        self.block(block, depth + 1)

    def results(self, op: If | Loop | Scope | Try, depth: int) -> None:
        if op.results:
            self.add(f"-> {self.defined(op.results)}", depth)

    def if_(self, op: If, depth: int) -> None:
        self.nested(f"if {self.show(op.cond)}", op, op.then, depth)
        self.add("else", depth)
        self.block(op.orelse, depth + 1)
        self.results(op, depth)

    def loop(self, op: Loop, depth: int) -> None:
        inits = [self.show(v) for v in op.inits]
        params = op.body.params
        title = "while True"
        if op.over is not None:
            over = self.shown(op.over)
            title = f"for {self.define(params[0]) if params else '?'} in range({over})"
            params = params[1:]
        carried = [self.define(p) for p in params]
        shown = [f"{c} = {v}" for c, v in zip(carried, inits, strict=False)]
        self.nested(title + (f" with {', '.join(shown)}" if shown else ""), op, op.body, depth)
        self.results(op, depth)

    def try_(self, op: Try, depth: int) -> None:
        self.nested("try", op, op.body, depth)
        for handler in op.handlers:
            names = ", ".join(handler.names) or "everything"
            bound = f" as {self.defined(handler.body.params)}" if handler.body.params else ""
            self.add(f"except {names}{bound}", depth)
            self.block(handler.body, depth + 1)
        if op.final is not None:
            self.add("finally", depth)
            self.block(op.final, depth + 1)
        self.results(op, depth)


def _cell(cell: Cell) -> str:
    return f"${cell.name}"


def _constant(value: Any) -> str:
    """A constant, without addresses in it."""
    match value:
        case torch.Tensor():
            return f"<{TensorType(value.dtype, tuple(value.shape))}>"
        case list() | tuple() | set() | frozenset():
            ordered = sorted(map(_constant, value)) if isinstance(value, set | frozenset) else map(_constant, value)
            return f"{type(value).__name__}({', '.join(ordered)})"
        case dict():
            return "{" + ", ".join(f"{k!r}: {_constant(v)}" for k, v in value.items()) + "}"
        case None | bool() | int() | float() | complex() | str():
            return repr(value)
        case torch.dtype() | torch.device() | torch.layout() | torch.memory_format():
            return str(value)
        case _:
            return f"<{type(value).__name__}>"
