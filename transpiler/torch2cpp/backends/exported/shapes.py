"""What compiled code relies on: sizes, relations between sizes, strides.

Export and Inductor decide things by the example's sizes and remember each decision as a guard. The
generated code does not check them, so the region's class does, on every call.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, final

import sympy  # type: ignore[import-untyped]
import torch
from torch.utils._sympy.printers import CppPrinter

from torch2cpp.backends.exported.export import NotExportable

#: Sizes below 2 are special to the exporter, which says nothing about them; samples of those sizes decide.
SPECIAL_BELOW = 2
_LARGEST = 2**31


@final
@dataclass(frozen=True, slots=True)
class InputLayout:
    """One tensor input: C++ expressions over the symbols."""

    dtype: torch.dtype
    #: Per dimension the expected size, as a C++ expression.
    sizes: tuple[str, ...]
    #: Per dimension the stride the compiled code assumes.
    strides: tuple[str, ...]


@final
@dataclass(frozen=True, slots=True)
class Requirements:
    """All that must hold for the compiled code to be right."""

    inputs: tuple[InputLayout, ...]
    #: (symbol, input, dimension): where each symbol's value is read.
    symbols: tuple[tuple[str, int, int], ...]
    #: C++ conditions over the symbols.
    conditions: tuple[str, ...]


def shape_env(program: torch.export.ExportedProgram) -> Any:
    """The symbolic shapes' environment; None when nothing is symbolic."""
    for node in program.graph.nodes:
        value = node.meta.get("val")
        mode = getattr(value, "fake_mode", None)
        if mode is not None:
            return mode.shape_env
    return None


def requirements(program: torch.export.ExportedProgram, inputs_counted: int | None = None) -> Requirements:
    """Reads them off the exported program; call it after Inductor has added its own guards.

    `inputs_counted`: how many inputs are the region's parameters, where weights follow them.
    """
    env = shape_env(program)
    tensors = _inputs(program)[:inputs_counted]
    symbols = _places(tensors, env)
    inputs = []
    for tensor in tensors:
        sizes = tuple(cpp(_expr(s, env), symbols) for s in tensor.shape)
        strides = tuple(cpp(_expr(s, env), symbols) for s in tensor.stride())
        inputs.append(InputLayout(tensor.dtype, sizes, strides))
    conditions = () if env is None else tuple(dict.fromkeys(_conditions(env, symbols)))
    places = tuple((str(s), i, d) for s, (i, d) in symbols.items())
    return Requirements(tuple(inputs), places, conditions)


def result_sizes(program: torch.export.ExportedProgram, inputs_counted: int) -> list[tuple[str, ...] | None]:
    """The sizes of each result as C++ expressions over the symbols; None where values decide them."""
    env = shape_env(program)
    symbols = _places(_inputs(program)[:inputs_counted], env)
    values = {n.name: n.meta.get("val") for n in program.graph.nodes}
    out: list[tuple[str, ...] | None] = []
    for name in program.graph_signature.user_outputs:
        value = values.get(str(name))
        try:
            out.append(tuple(cpp(_expr(s, env), symbols) for s in value.shape) if value is not None else None)
        except NotExportable:
            out.append(None)
    return out


def _places(tensors: Sequence[torch.Tensor], env: Any) -> dict[sympy.Symbol, tuple[int, int]]:
    """Input and dimension from which each symbol is read."""
    out: dict[sympy.Symbol, tuple[int, int]] = {}
    for i, tensor in enumerate(tensors):
        for d, size in enumerate(tensor.shape):
            expr = _expr(size, env)
            if isinstance(expr, sympy.Symbol):
                out.setdefault(expr, (i, d))
    return out


def _inputs(program: torch.export.ExportedProgram) -> list[torch.Tensor]:
    users = set(program.graph_signature.user_inputs)
    return [n.meta["val"] for n in program.graph.nodes if n.op == "placeholder" and n.name in users]


def _expr(size: int | torch.SymInt, env: Any) -> sympy.Expr:
    if isinstance(size, int):
        return sympy.Integer(size)
    return env.replace(size.node.expr)


def _conditions(env: Any, symbols: dict[sympy.Symbol, tuple[int, int]]) -> list[str]:
    """Guards that are not trivially true, and ranges that are narrower than "at least 2"."""
    out: list[str] = []
    for guard in env.guards:
        expr = env.replace(guard.expr)
        if expr is sympy.true:
            continue
        if expr is sympy.false:
            raise NotExportable(f"the guard {guard.expr} contradicts another one")
        # What is said of sizes that operators compute (nonzero) is checked where they are computed.
        if expr.free_symbols <= set(symbols):
            out.append(f"({cpp(expr, symbols)})")
        elif any(str(s).startswith("s") for s in expr.free_symbols):
            raise NotExportable(f"the guard {expr} relates sizes to values")
    for symbol in symbols:
        bounds = env.var_to_range.get(symbol)
        if bounds is None:
            continue
        if bounds.lower > SPECIAL_BELOW:
            out.append(f"{symbol} >= {int(bounds.lower)}")
        if bounds.upper.is_number and bounds.upper.is_finite and bounds.upper < _LARGEST:
            out.append(f"{symbol} <= {int(bounds.upper)}")
    return out


def cpp(expr: sympy.Expr, symbols: dict[sympy.Symbol, tuple[int, int]]) -> str:
    """A C++ expression; NotExportable when a symbol in it is read from no input."""
    unknown = [s for s in expr.free_symbols if s not in symbols]
    if unknown:
        raise NotExportable(f"size {expr} is known only through an expression")
    if expr.is_Integer:
        return str(int(expr))
    return str(CppPrinter().doprint(expr))
