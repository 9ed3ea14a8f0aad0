"""A distinct region as the body of a C++ call operator: one `at::` call a statement."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any, final

from torch2cpp.backends.aten.calls import call
from torch2cpp.backends.aten.expressions import Unspellable, scalar
from torch2cpp.backends.interface import Interface, interface
from torch2cpp.backends.protocol import Refusal
from torch2cpp.emit.environment import render
from torch2cpp.hostir.host_ops import TABLE
from torch2cpp.hostir.ops import HostOp, TensorOp, Value, WeightRef, operands, values_in
from torch2cpp.hostir.types import BOOL, FLOAT, INT, ListType, TensorType, TupleType, Type
from torch2cpp.regions.share import DistinctRegion
from torch2cpp.spans import Span, source_lines

_RETURNS = {"Tensor": TensorType, "int": INT, "bool": BOOL, "float": FLOAT}


@final
@dataclass(frozen=True, slots=True)
class Statement:
    """One statement, after an assignment to `place` where the Python line changes."""

    place: str
    code: str


class RegionWriter:
    """Writes one region. Raises `Refused` where an operation has no C++ form."""

    #: The C++ type of tensors inside, and the template around the statements.
    tensor = "at::Tensor"
    template = "aten/region.cpp.j2"

    def __init__(self, distinct: DistinctRegion, namespace: str) -> None:
        self.distinct = distinct
        self.region = distinct.region
        self.view, self.scope = interface(distinct, namespace)
        self.names: dict[Value, str] = {}
        self.weight_names = {name: variable for variable, name, _ in self.view.weights}
        self.headers: set[str] = set()
        self.statements: list[Statement] = []
        self.place = self.region.span
        self.uses = Counter(
            v for tree in (*map(operands, self.region.body), self.region.results) for v in values_in(tree)
        )

    def text(self) -> str:
        """The .cpp file."""
        borrowed, parameters = self._parameters()
        first = self.region.body[0].span if self.region.body else self.region.span
        self.place = first
        for op in self.region.body:
            try:
                code = self._tensor_op(op) if isinstance(op, TensorOp) else self._host_op(op)
            except Unspellable as reason:
                raise Refused(Refusal(str(reason), op.span)) from None
            if code:
                self.statements.append(Statement(self._moved(op.span), code))
        results = [self._result(r) for r in self.region.results]
        returned = results[0] if len(results) == 1 else f"{{{', '.join(results)}}}" if results else ""
        return render(
            self.template,
            region=self.view,
            parameters=parameters,
            headers=sorted(self.headers),
            borrowed=borrowed,
            first_place=f"{json.dumps(_file(first))}, {first.line}",
            statements=self.statements,
            returned=returned,
        )

    def name_of(self, leaf: Value | WeightRef) -> str:
        """The C++ variable of a value or weight."""
        return self.names[leaf] if isinstance(leaf, Value) else self.weight_names[leaf.name]

    def _parameters(self) -> tuple[list[str], str]:
        """Statements that borrow the tensors, and the parameter list of the definition."""
        borrowed, parameters = [], []
        for value, param in zip(self.region.params, self.view.params):
            if isinstance(value.type, TensorType):
                self.names[value] = param.name
                handle = self.scope.fresh(f"{param.name}_handle")
                borrowed.append(f"const {self.tensor}& {param.name} = borrow({handle});")
            elif isinstance(value.type, TupleType) or (
                isinstance(value.type, ListType) and isinstance(value.type.elem, TensorType)
            ):
                self.names[value] = param.name
                handle = self.scope.fresh(f"{param.name}_handles")
                borrowed.append(f"const Tensors {param.name} = borrow({handle});")
            else:
                self.names[value] = handle = param.name
            unused = "" if self.uses[value] else "[[maybe_unused]] "
            parameters.append(f"{unused}{param.type} {handle}")
            if unused and borrowed and param.name in borrowed[-1]:
                borrowed.pop()
        return borrowed, ", ".join(parameters)

    def _moved(self, span: Span) -> str:
        """The assignment to `place` that a new Python line needs, with that line for the reader."""
        before, self.place = self.place, span
        if (before.file, before.line) == (span.file, span.line) and self.statements:
            return ""
        lines = source_lines(span.file)
        source = lines[span.line - 1].strip() if span.line <= len(lines) else ""
        comment = f"  // {source}" if source and not source.endswith("\\") else ""
        if before.file != span.file:
            return f"place = {{{json.dumps(_file(span))}, {span.line}}};{comment}"
        return f"place.line = {span.line};{comment}"

    def _define(self, value: Value) -> str:
        self.names[value] = self.scope.fresh(value.name)
        return self.names[value]

    def _tensor_op(self, op: TensorOp) -> str:
        text = self._call(op)
        fresh = [r for r in op.results if r not in self.names]
        if not any(self.uses[r] for r in fresh):
            for r in fresh:
                self.names[r] = ""
            return f"{text};"
        returns = op.overload._schema.returns
        if len(returns) > 1:
            return f"auto [{', '.join(self._define(r) for r in op.results)}] = {text};"
        kind = str(returns[0].type)
        result = op.results[0]
        if kind == "number":
            reader = {BOOL: "toBool", INT: "toLong", FLOAT: "toDouble"}[result.type]  # type: ignore[index]
            return f"const {self._local(result.type)} {self._define(result)} = {text}.{reader}();"
        if kind not in ("Tensor", "List[Tensor]", "int", "bool", "float"):
            raise Unspellable(f"operator {op.overload} returns {kind}")
        return f"const {self._local(result.type)} {self._define(result)} = {text};"

    def _call(self, op: TensorOp) -> str:
        """The call of an operation's operator; raises Unspellable."""
        made = call(op, self.name_of)
        if made.header:
            self.headers.add(made.header)
        return made.text

    def _host_op(self, op: HostOp) -> str:
        assert op.result is not None
        if not self.uses[op.result] and TABLE[op.name].effect == "pure":
            return ""
        text = self._host_expression(op)
        if not self.uses[op.result]:
            return f"static_cast<void>({text});"
        return f"const {self._local(op.result.type)} {self._define(op.result)} = {text};"

    def _host_expression(self, op: HostOp) -> str:
        first = op.args[0] if op.args else None
        match op.name:
            case "tensor.size":
                return f"{self._tensor(first)}.size({op.args[1]})"
            case "tensor.numel":
                return f"{self._tensor(first)}.numel()"
            case "tuple.get" | "list.get" if isinstance(first, Value):
                return f"element({self.names[first]}, {scalar(op.args[1], self.name_of).text})"
        texts = [scalar(a, self.name_of).text for a in op.args]
        cpp = TABLE[op.name].cpp
        return cpp.format(*texts) if "{" in cpp else f"torch2cpp::{cpp}({', '.join(texts)})"

    def _local(self, t: Type) -> str:
        """The type of a local variable; lists and tuples of tensors are vectors here."""
        match t:
            case TensorType():
                return self.tensor
            case ListType(elem=TensorType()):
                return "Tensors"
            case TupleType(elems=elems) if all(isinstance(e, TensorType) for e in elems):
                return "Tensors"
        scalars = {BOOL: "bool", INT: "int64_t", FLOAT: "double"}
        if t not in scalars:
            raise Unspellable(f"a value of type {t} inside a region")
        return scalars[t]

    def _tensor(self, operand: Any) -> str:
        if not isinstance(operand, Value | WeightRef):
            raise Unspellable(f"{operand!r} as a tensor")
        return self.name_of(operand)

    def _result(self, operand: Any) -> str:
        if not isinstance(operand, Value | WeightRef):
            return scalar(operand, self.name_of).text
        name = self.name_of(operand)
        match operand.type:
            case TensorType():
                return f"own({name})"
            case ListType():
                return f"own({name})"
            case TupleType(elems=elems):
                return f"{{{', '.join(f'own({name}[{i}])' for i in range(len(elems)))}}}"
            case _:
                return name


@final
class Refused(Exception):
    """The region cannot be written."""

    def __init__(self, refusal: Refusal) -> None:
        super().__init__(refusal.reason)
        self.refusal = refusal


def _file(span: Span) -> str:
    return Path(span.file).name


def write_region(distinct: DistinctRegion, namespace: str) -> tuple[Interface, str]:
    """The interface and the .cpp text. Raises Refused."""
    writer = RegionWriter(distinct, namespace)
    return writer.view, writer.text()
