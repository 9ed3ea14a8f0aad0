"""Host IR written by hand: a small builder that several test folders share.

Example: a function that doubles `x` until its first element exceeds 10.

    b = Builder()
    x = b.param("x", tensor(None))
    with b.loop([x]) as (loop, (cur,)):
        ...
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import torch

from torch2cpp.hostir.host_ops import result_type
from torch2cpp.hostir.ops import (
    Block,
    Break,
    Call,
    Cell,
    Continue,
    Handler,
    HostOp,
    If,
    Leave,
    Load,
    Loop,
    Raise,
    Return,
    Scope,
    Store,
    TensorOp,
    Try,
    Value,
    WeightRef,
    Yield,
    map_leaves,
)
from torch2cpp.hostir.program import REQUIRED, Function, Param, Program, Struct
from torch2cpp.hostir.types import BOOL, FLOAT, INT, NONE, STR, ScalarType, StructType, TensorType, Type
from torch2cpp.spans import Span

aten = torch.ops.aten
FILE = "model.py"


def tensor(*dims: int | None, dtype: torch.dtype = torch.float32) -> TensorType:
    """A tensor type, float32 unless told."""
    return TensorType(dtype, tuple(dims))


def type_of(constant: Any) -> Type:
    """The type of a constant operand."""
    match constant:
        case bool():
            return BOOL
        case int():
            return INT
        case float():
            return FLOAT
        case str():
            return STR
        case complex():
            return ScalarType("complex")
        case _:
            return NONE


class Builder:
    """Appends operations to the innermost open block; every operation gets a line of its own."""

    def __init__(self, name: str = "forward") -> None:
        self.name = name
        self.line = 0
        self.count = 0
        self.params: list[Param] = []
        self.cells: list[Cell] = []
        self.weights: dict[str, torch.Tensor] = {}
        self.structs: dict[StructType, Struct] = {}
        self.functions: dict[str, Function] = {}
        self.body = Block()
        self.open = [self.body]

    def span(self) -> Span:
        """A fresh line."""
        self.line += 1
        return Span(FILE, self.line, 1, self.line, 10)

    def value(self, type_: Type, name: str = "v") -> Value:
        """A fresh value."""
        self.count += 1
        return Value(self.count, type_, name, self.span())

    def param(self, name: str, type_: Type, default: Any = REQUIRED) -> Value:
        """A parameter of the entry."""
        value = self.value(type_, name)
        self.params.append(Param(name, value, default))
        return value

    def weight(self, name: str, value: torch.Tensor) -> WeightRef:
        """A weight and the operand that names it."""
        self.weights[name] = value
        return WeightRef(name, TensorType(value.dtype, tuple(value.shape)))

    def cell(self, name: str, type_: Type, initial: Any = None, scope: str = "state") -> Cell:
        """A mutable place."""
        self.cells.append(Cell(name, type_, scope, initial))
        return self.cells[-1]

    def add(self, op: Any) -> Any:
        """Appends an operation as it is."""
        self.open[-1].ops.append(op)
        return op

    def host(self, op: str, *args: Any, type: Type | None = None, name: str = "h") -> Value:
        """A host operation with a result; its type comes from the table unless given."""
        if type is None:
            type = result_type(op, [a.type if isinstance(a, Value) else type_of(a) for a in args])
        assert type is not None, op
        result = self.value(type, name)
        self.add(HostOp(result, op, args, self.span()))
        return result

    def do(self, op: str, *args: Any) -> None:
        """A host operation without result."""
        self.add(HostOp(None, op, args, self.span()))

    def tensor(self, overload: Any, *args: Any, name: str = "t", type: Type | None = None, **kwargs: Any) -> Any:
        """A tensor operation; its result type is found on meta tensors."""
        types = [type] if type is not None else self._infer(overload, args, kwargs)
        values = tuple(self.value(t, name) for t in types)
        self.add(TensorOp(values, overload, args, kwargs, self.span()))
        return values[0] if len(values) == 1 else values

    def _infer(self, overload: Any, args: Any, kwargs: Any) -> list[Type]:
        """Runs the operator with two sizes for what varies; a result's size that differs varies too."""

        def run(size: int) -> tuple[torch.Tensor, ...]:
            def sample(leaf: Any) -> Any:
                if not isinstance(leaf, Value | WeightRef):
                    return leaf
                if isinstance(leaf.type, TensorType):
                    shape = [size if d is None else d for d in leaf.type.dims]
                    return torch.zeros(shape, dtype=leaf.type.dtype, device="meta")
                return {"int": 1, "float": 1.0, "bool": True}[leaf.type.kind]

            out = overload(*map_leaves(args, sample), **map_leaves(kwargs, sample))
            return out if isinstance(out, tuple) else (out,)

        pairs = zip(run(3), run(5), strict=True)
        return [
            TensorType(t.dtype, tuple(d if d == e else None for d, e in zip(t.shape, u.shape, strict=True)))
            for t, u in pairs
        ]

    def load(self, cell: Cell, name: str = "c") -> Value:
        """Reads a cell."""
        result = self.value(cell.type, name)
        self.add(Load(result, cell, self.span()))
        return result

    def store(self, cell: Cell, value: Any) -> None:
        """Writes a cell."""
        self.add(Store(cell, value, self.span()))

    @contextmanager
    def block(self, *params: Value) -> Iterator[Block]:
        """A block that collects what is added inside."""
        block = Block(tuple(params))
        self.open.append(block)
        yield block
        self.open.pop()

    def if_(self, cond: Any, then: Block, orelse: Block, types: Sequence[Type], name: str = "r") -> tuple[Value, ...]:
        """An If over finished arms; gives its results."""
        values = tuple(self.value(t, name) for t in types)
        self.add(If(values, cond, then, orelse, self.span()))
        return values

    def loop(self, inits: Sequence[Any], body: Block, types: Sequence[Type], over: Any = None) -> tuple[Value, ...]:
        """A Loop over a finished body; gives its results."""
        values = tuple(self.value(t, "l") for t in types)
        self.add(Loop(values, tuple(inits), body, over, self.span()))
        return values

    def scope(self, label: str, body: Block, types: Sequence[Type]) -> tuple[Value, ...]:
        """A Scope over a finished body; gives its results."""
        values = tuple(self.value(t, label) for t in types)
        self.add(Scope(values, label, label, body, self.span()))
        return values

    def try_(
        self, body: Block, handlers: Sequence[Handler], types: Sequence[Type], final: Block | None = None
    ) -> tuple[Value, ...]:
        """A Try over finished blocks; gives its results."""
        values = tuple(self.value(t, "y") for t in types)
        self.add(Try(values, body, tuple(handlers), final, self.span()))
        return values

    def call(self, function: str, *args: Any, type: Type) -> Value:
        """Calls a function of the program."""
        result = self.value(type, function)
        self.add(Call((result,), function, args, self.span()))
        return result

    def yield_(self, *values: Any) -> None:
        """Ends an arm."""
        self.add(Yield(values, self.span()))

    def continue_(self, *values: Any) -> None:
        """Goes on with the next iteration."""
        self.add(Continue(values, self.span()))

    def break_(self, *values: Any) -> None:
        """Leaves the loop."""
        self.add(Break(values, self.span()))

    def leave(self, label: str, *values: Any) -> None:
        """Leaves a scope."""
        self.add(Leave(label, values, self.span()))

    def return_(self, value: Any) -> None:
        """Leaves the function."""
        self.add(Return(value, self.span()))

    def raise_(self, name: str, message: Any, *bases: str) -> None:
        """Raises."""
        self.add(Raise(name, bases, message, self.span()))

    def function(self, result: Type) -> Function:
        """What was built, as a function."""
        return Function(self.name, tuple(self.params), result, self.body, self.span())

    def program(self, result: Type) -> Program:
        """What was built, as the program's only entry."""
        return Program(
            name="model",
            class_name="Model",
            entries={self.name: self.function(result)},
            functions=self.functions,
            cells=self.cells,
            weights=self.weights,
            structs=self.structs,
            regions={},
            sources=(FILE,),
        )
