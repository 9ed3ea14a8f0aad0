"""Tensor operations that the host program does itself, as calls of the runtime library."""

from __future__ import annotations

from collections.abc import Callable

from torch2cpp.emit.precedence import ATOM, Expr, call
from torch2cpp.hostir.ops import Operand, TensorOp, Value, WeightRef

Render = Callable[[Operand], Expr]


def tensor_call(op: TensorOp, render: Render) -> Expr:
    """`aten.select.int(x, 1, t)` -> `py::select(x, 1, t)`: all arguments in the order of the schema."""
    schema = op.overload._schema
    if op.indexed is not None:
        shown = () if op.indexed == op.args[1] else (op.indexed,)
        return call("py::subscript", *(_argument(a, render) for a in (*op.args, *shown)))
    args = list(op.args) + [op.kwargs.get(a.name, a.default_value) for a in schema.arguments[len(op.args) :]]
    # Trailing defaults are the runtime's defaults too.
    while args and len(args) > 1 and _is_default(args[-1], schema.arguments[len(args) - 1]):
        args.pop()
    return call(f"py::{schema.name.removeprefix('aten::')}", *(_argument(a, render) for a in args))


def _is_default(value: Operand, argument: object) -> bool:
    default = getattr(argument, "default_value", None)
    if isinstance(value, Value | WeightRef) or not argument.has_default_value():  # type: ignore[attr-defined]
        return False
    return type(value) is type(default) and bool(value == default)


def _argument(tree: Operand, render: Render) -> Expr:
    if isinstance(tree, list | tuple):
        return Expr(f"{{{', '.join(_argument(x, render).text for x in tree)}}}", ATOM)
    return render(tree)
