"""The checks of an entry's inputs: dtype, rank and constant sizes of every tensor."""

from __future__ import annotations

from torch2cpp.emit import literals
from torch2cpp.emit.cpp_types import CppTypes
from torch2cpp.emit.nodes import Braces, Branch, Line, Node
from torch2cpp.emit.precedence import POSTFIX, Expr, wrap
from torch2cpp.hostir.types import (
    DictType,
    ListType,
    OptionalType,
    RecordType,
    StructType,
    TensorType,
    TupleType,
    Type,
)


def check_input(
    expr: Expr, python_name: str, t: Type, types: CppTypes, depth: int = 0, kind: str = "input"
) -> list[Node]:
    """Statements that raise InputError where a value does not fit its type; `kind` is what it calls the value.

    `python_name` is how messages call it: `x`, `state[0]`, `batch.mask`. Members of unions are told
    apart by the caller's C++ type; objects of user classes may refer to themselves and are not entered.
    """
    match t:
        case TensorType():
            dims = ", ".join("-1" if d is None else str(d) for d in t.dims)
            name = literals.string(python_name)
            # "input" goes without saying.
            last = "" if kind == "input" else f", {literals.string(kind)}"
            return [Line(f"py::check_tensor({name}, {expr.text}, {literals.dtype(t.dtype)}, {{{dims}}}{last});")]
        case OptionalType():
            inner = check_input(Expr(f"*{wrap(expr, POSTFIX)}", POSTFIX - 1), python_name, t.elem, types, depth, kind)
            return [Branch(f"{wrap(expr, POSTFIX)}.has_value()", inner, [])] if inner else []
        case ListType():
            return _each(expr, f"{python_name}[...]", "item", t.elem, types, depth, "", kind)
        case DictType():
            return _each(expr, f"{python_name}[...]", "item", t.value, types, depth, ".values()", kind)
        case TupleType():
            parts = [(f"std::get<{i}>({expr.text})", f"{python_name}[{i}]", e) for i, e in enumerate(t.elems)]
        case RecordType():
            types.name_of(t)
            member = "[{!r}]" if t.kind == "dict" else ".{}"
            parts = [
                (f"{wrap(expr, POSTFIX)}.{cpp}", python_name + member.format(key), field)
                for key, cpp, field in types.record(t).fields
            ]
        case StructType() | _:
            return []
    return [n for text, name, e in parts for n in check_input(Expr(text, POSTFIX), name, e, types, depth, kind)]


def _each(
    expr: Expr, name: str, item: str, elem: Type, types: CppTypes, depth: int, view: str, kind: str
) -> list[Node]:
    variable = item if depth == 0 else f"{item}_{depth + 1}"
    inner = check_input(Expr(variable, POSTFIX), name, elem, types, depth + 1, kind)
    return [Braces(f"for (const auto& {variable} : {wrap(expr, POSTFIX)}{view})", inner)] if inner else []
