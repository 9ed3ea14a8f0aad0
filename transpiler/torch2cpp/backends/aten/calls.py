"""One TensorOp as one C++ call.

The readable forms come first: `at::name(...)`, then a method of `at::Tensor`. Either is taken only
where overload resolution cannot pick another function than the one eager calls; otherwise the call
names its overload, `at::_ops::name_overload::call(...)`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, final

import torch

from torch2cpp.backends.aten.expressions import ACCEPTS, Expression, Unspellable, options, spell
from torch2cpp.backends.aten.signatures import CppParam, CppSignature, dispatch, functions, header_name, methods
from torch2cpp.hostir.ops import TensorOp, Value, WeightRef

#: The schema arguments that at::TensorOptions stands for.
OPTIONS = ("dtype", "layout", "device", "pin_memory")
_EXACT = {"tensor": "at::Tensor", "dtype": "at::ScalarType", "ints": "at::IntArrayRef"}

NameOf = Callable[[Value | WeightRef], str]


@final
@dataclass(frozen=True, slots=True)
class Call:
    """C++ text of the call and the header it needs, below ATen/ops."""

    text: str
    header: str


@final
@dataclass(frozen=True, slots=True)
class _Argument:
    operand: Any
    #: Equal to the schema's default.
    default: bool
    #: N of a schema type such as `int[N]`.
    length: int | None


def call(op: TensorOp, name_of: NameOf) -> Call:
    """The C++ call of an operation. Raises Unspellable where it has none."""
    namespace, _, base = op.overload._schema.name.partition("::")
    overload = op.overload._schema.overload_name
    if namespace != "aten":
        raise Unspellable(f"operator {op.overload} is not an ATen operator")
    if op.indexed is not None:
        texts = [spell(op.args[0], "at::Tensor", name_of, None).text]
        texts += [spell(a, "int64_t", name_of, None).text for a in (*op.args[1:], op.indexed)]
        return Call(f"subscript({', '.join(texts)})", "select.h")
    schema = f"{base}.{overload}" if overload else base
    arguments = _bind(op)
    exact = dispatch(base, overload)
    if exact is None:
        raise Unspellable(f"operator {op.overload} has no C++ entry")
    for form in (functions(base), methods(base)):
        for signature in form:
            if signature.schema != schema:
                continue
            text = _readable(signature, form, arguments, name_of)
            if text is not None:
                header = f"{base}.h" if signature.form == "function" else ""
                return Call(text, header)
    expressions = [_expression(p, arguments, name_of) for p in exact.params]
    text = f"at::_ops::{exact.name}::call({', '.join(e.text for e in expressions if e)})"
    return Call(text, f"{header_name(base)}_ops.h")


def _bind(op: TensorOp) -> Mapping[str, _Argument]:
    """Every argument of the schema by name, defaults filled in."""
    out: dict[str, _Argument] = {}
    for i, argument in enumerate(op.overload._schema.arguments):
        has_default = argument.has_default_value()
        if i < len(op.args) and not argument.kwarg_only:
            operand = op.args[i]
        elif argument.name in op.kwargs:
            operand = op.kwargs[argument.name]
        elif has_default:
            operand = _default(argument)
        else:
            raise Unspellable(f"argument {argument.name} of {op.overload} is missing")
        out[argument.name] = _Argument(operand, has_default and _same(operand, _default(argument)), _length(argument))
    return out


def _default(argument: torch.Argument) -> Any:
    """A parameter's default; schemas give dtypes as numbers, of which only `long` occurs."""
    value = argument.default_value
    if str(argument.real_type).endswith("ScalarType]") or str(argument.real_type) == "ScalarType":
        return {None: None, 4: torch.int64}[value]
    return value


def _length(argument: torch.Argument) -> int | None:
    """N of a schema type `int[N]`, as torchgen's comment in the header has it too."""
    length: int | None = getattr(argument, "N", None)
    return length


def _same(operand: Any, default: Any) -> bool:
    if isinstance(operand, Value | WeightRef):
        return False
    if isinstance(operand, list | tuple) and isinstance(default, list | tuple):
        return len(operand) == len(default) and all(map(_same, operand, default))
    return type(operand) is type(default) and bool(operand == default)


def _expression(param: CppParam, arguments: Mapping[str, _Argument], name_of: NameOf) -> Expression | None:
    """The expression for a parameter; None for tensor options that say nothing."""
    if param.type == "at::TensorOptions":
        return options(*(arguments[o].operand if o in arguments else None for o in OPTIONS))
    argument = arguments[param.name]
    return spell(argument.operand, param.type, name_of, argument.length)


def _is_default(param: CppParam, arguments: Mapping[str, _Argument]) -> bool:
    if param.default is None:
        return False
    if param.type == "at::TensorOptions":
        return options(*(arguments[o].operand if o in arguments else None for o in OPTIONS)) is None
    return arguments[param.name].default


def _readable(
    signature: CppSignature, overloads: tuple[CppSignature, ...], arguments: Mapping[str, _Argument], name_of: NameOf
) -> str | None:
    """`at::name(...)` or `self.name(...)`, or None where it would be ambiguous or lose an argument."""
    given = list(signature.params)
    known = [p for p in given if p.type == "at::TensorOptions" or p.name in arguments]
    if len(known) != len(given):
        return None
    needed = len(given)
    while needed and _is_default(given[needed - 1], arguments):
        needed -= 1
    # Fewest arguments first; more of them where that makes the overload unique.
    for count in range(needed, len(given) + 1):
        expressions = [_expression(p, arguments, name_of) for p in given[:count]]
        if any(e is None for e in expressions):
            # Options that say nothing, followed by arguments that say something.
            expressions = [e or Expression("at::TensorOptions()", "options") for e in expressions]
        found = [e for e in expressions if e is not None]
        if _unique(signature, overloads, found):
            inner = ", ".join(e.text for e in found)
            if signature.form == "function":
                return f"at::{signature.name}({inner})"
            receiver = spell(arguments["self"].operand, "at::Tensor", name_of, None).text
            return f"{receiver}.{signature.name}({inner})"
    return None


def _unique(chosen: CppSignature, overloads: tuple[CppSignature, ...], given: list[Expression]) -> bool:
    """Whether overload resolution surely picks `chosen`."""
    if not _viable(chosen, given):
        return False
    return all(o is chosen or not _viable(o, given) or _better(chosen, o, given) for o in overloads)


def _viable(signature: CppSignature, given: list[Expression]) -> bool:
    if len(given) > len(signature.params):
        return False
    if any(p.default is None for p in signature.params[len(given) :]):
        return False
    # A type that is not in the table could take anything.
    return all(e.category in ACCEPTS.get(p.type, (e.category,)) for p, e in zip(signature.params, given))


def _better(chosen: CppSignature, other: CppSignature, given: list[Expression]) -> bool:
    """Whether each argument fits `chosen` at least as well, and one of them better."""
    wins = False
    for e, mine, theirs in zip(given, chosen.params, other.params):
        if mine.type == theirs.type:
            continue
        if _rank(e.category, mine.type) >= _rank(e.category, theirs.type):
            return False
        wins = True
    return wins


def _rank(category: str, type_: str) -> int:
    """How far C++ goes to make an argument fit: 0 not at all, 1 a conversion of its own, 2 one that a class defines."""
    if _EXACT.get(category) == type_:
        return 0
    return 1 if category in ("int", "float", "bool") and type_ in ("int64_t", "double", "bool") else 2
