"""One function of the program as C++ text: parameters and body."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import final

from torch2cpp.emit.cpp_types import parameter, passed_by_value, spell
from torch2cpp.emit.expressions import Expressions
from torch2cpp.emit.flow import analyse
from torch2cpp.emit.fold import fold
from torch2cpp.emit.layout import Layout
from torch2cpp.emit.nodes import Comments, Line, Node, render
from torch2cpp.emit.precedence import ATOM, POSTFIX, Expr
from torch2cpp.emit.probes import with_probes
from torch2cpp.emit.statements import Statements
from torch2cpp.emit.tables import constant_tables
from torch2cpp.emit.variables import Variables, allocate
from torch2cpp.hostir.ops import Call, Cell, Load, Store, Value, walk
from torch2cpp.hostir.program import Function
from torch2cpp.hostir.types import NoneType, Type


@final
@dataclass(frozen=True, slots=True)
class ParameterText:
    """One C++ parameter."""

    #: Spelled for the .cpp file.
    type: str
    #: Spelled for the public header.
    public_type: str
    name: str
    python_name: str
    ir_type: Type
    #: Python's default, or REQUIRED.
    default: object


@final
@dataclass(frozen=True, slots=True)
class FunctionText:
    """One C++ function."""

    name: str
    python_name: str
    result: str
    public_result: str
    params: tuple[ParameterText, ...]
    lines: tuple[str, ...]
    #: Whether it changes no state.
    const: bool
    python_place: str
    function: Function


def function_text(function: Function, layout: Layout, main_file: str, probes: bool = False) -> FunctionText:
    """Emits one function. `main_file` is the Python file whose name comments leave out.

    With `probes`, each branch and iteration is measured.
    """
    folding = fold(function.body, layout.program.regions)
    flow = analyse(function.body, folding)

    def spelled(t: Type) -> str:
        return spell(t, layout.types)

    tables = {op: layout.tables.name(op, spelled) for op in constant_tables(function.body)}
    variables = allocate(function, flow, spelled, frozenset({*layout.methods.values(), *tables.values()}))
    places: dict[Value, str] = {}
    expressions = Expressions(
        program=layout.program,
        types=layout.types,
        folding=folding,
        place=lambda v: _place(v, places, variables),
        region_method=layout.regions.__getitem__,
        function_method=layout.methods.__getitem__,
        region_fields=layout.region_fields.__getitem__,
        cell=lambda cell: _cell_place(cell, layout),
        table=tables.get,
    )
    used = {v for v in dict.fromkeys(variables.of.values()) if v.read}
    statements = Statements(function, expressions, flow, variables, places, used)
    body = statements.body()
    nodes: list[Node] = [*_local_cells(function, spelled), *(with_probes(body, main_file) if probes else body)]
    return FunctionText(
        name=layout.methods[function.name],
        python_name=function.name,
        result="void" if isinstance(function.result, NoneType) else spelled(function.result),
        public_result="void" if isinstance(function.result, NoneType) else _public(function.result, layout),
        params=tuple(_parameters(function, variables, layout)),
        lines=tuple(render(nodes, Comments(main_file))),
        const=not layout.cells or not _writes_state(function, layout),
        python_place=_python_place(function),
        function=function,
    )


def _place(value: Value, places: dict[Value, str], variables: Variables) -> Expr:
    if value in places:
        return Expr(places[value], POSTFIX)
    return Expr(variables.of[value].name, ATOM)


def _cell_place(cell: Cell, layout: Layout) -> str:
    return f"state_->{layout.cells[cell]}" if cell.scope == "state" else _local_name(cell)


def _local_name(cell: Cell) -> str:
    return re.sub(r"\W", "_", cell.name) + "_cell"


def _local_cells(function: Function, spelled: Callable[[Type], str]) -> list[Node]:
    seen: dict[Cell, None] = {}
    for op in walk(function.body):
        if isinstance(op, Load | Store) and op.cell.scope == "local":
            seen.setdefault(op.cell)
    return [Line(f"{spelled(cell.type)} {_local_name(cell)}{{}};") for cell in seen]


def _public(t: Type, layout: Layout) -> str:
    return spell(t, layout.types, tensor="torch::stable::Tensor", runtime="torch2cpp")


def _parameters(function: Function, variables: Variables, layout: Layout) -> list[ParameterText]:
    out = []
    for param in function.params:
        if param.value is None:
            continue
        variable = variables.of[param.value]
        type_ = parameter(param.value.type, layout.types)
        public = parameter(param.value.type, layout.types, "torch::stable::Tensor", "torch2cpp")
        if len(variable.assigned) > 1 and not passed_by_value(param.value.type):
            # Python assigns to its parameter; so does the C++.
            type_, public = spell(param.value.type, layout.types), _public(param.value.type, layout)
        if not variable.read:
            type_ = f"[[maybe_unused]] {type_}"
        out.append(ParameterText(type_, public, variable.name, param.name, param.value.type, param.default))
    return out


def _writes_state(function: Function, layout: Layout) -> bool:
    """Whether a function or one that it calls stores to state."""
    seen: set[str] = set()
    todo = [function]
    while todo:
        current = todo.pop()
        for op in walk(current.body):
            if isinstance(op, Store) and op.cell.scope == "state":
                return True
            if isinstance(op, Call) and op.function not in seen:
                seen.add(op.function)
                todo.append(layout.program.functions[op.function])
    return False


def _python_place(function: Function) -> str:
    span = function.span
    return f"{span.file.rsplit('/', 1)[-1]}:{span.lines}"
