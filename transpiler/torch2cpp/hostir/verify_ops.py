"""What can be wrong with one host or tensor operation, for the verifier."""

from __future__ import annotations

import re

from torch2cpp.hostir.fit import operand_type, overlaps
from torch2cpp.hostir.host_ops import CONSTANT_OPERANDS, TABLE
from torch2cpp.hostir.ops import HostOp, Operand, TensorOp, Value, WeightRef, leaves, values_in
from torch2cpp.hostir.schema import SchemaArg, bound_arguments, schema_info
from torch2cpp.hostir.types import BOOL, FLOAT, INT, ListType, ScalarType, TensorType, TupleType, Type

_SCALAR_KINDS = {
    "int": {"int", "bool"},
    "float": {"float", "int", "bool"},
    "bool": {"bool"},
    "number": {"int", "float", "bool", "complex"},
    "str": {"str"},
}


def host_op_problem(op: HostOp) -> str | None:
    """Why a host operation does not follow the table, or None."""
    info = TABLE.get(op.name)
    if info is None:
        return f"no host operation {op.name}"
    wanted = 1 + max((int(i) for i in re.findall(r"\{(\d)\}", info.cpp)), default=-1)
    if len(op.args) < wanted and op.name != "list.pop":
        return f"{op.name} has {len(op.args)} operands of {wanted}"
    for i in CONSTANT_OPERANDS.get(op.name, ()):
        if any(True for _ in values_in(op.args[i])):
            return f"operand {i} of {op.name} is no constant"
    types = [operand_type(a) for a in op.args]
    if info.promote and not _promotes(types):
        return f"{op.name} over {', '.join(map(str, types))}"
    try:
        result = info.result(*types)
    except (AssertionError, AttributeError, TypeError):
        return f"{op.name} over {', '.join(map(str, types))}"
    if result is not None and op.result is not None and not overlaps(result, op.result.type):
        return f"{op.name} gives {result}, not {op.result.type}"
    return None


def _promotes(types: list[Type]) -> bool:
    numbers = (BOOL, INT, FLOAT)
    if all(t in numbers for t in types):
        return True
    # Strings and tuples compare with their like.
    return all(t == types[0] or (isinstance(t, TupleType) and isinstance(types[0], TupleType)) for t in types)


def tensor_op_problem(op: TensorOp) -> str | None:
    """Why a tensor operation does not follow its schema, or None."""
    info = schema_info(op.overload)
    try:
        bound = bound_arguments(op)
    except ValueError as error:
        return str(error)
    given = {arg.name for arg, _ in bound}
    for arg in info.args:
        if arg.required and arg.name not in given:
            return f"{op.overload} lacks {arg.name}"
    for arg, operand in bound:
        if problem := _operand_problem(arg, operand):
            return f"{op.overload}: {problem}"
    if len(op.results) == len(info.results) or (not op.results and info.writes):
        return None
    return f"{op.overload} has {len(info.results)} results, not {len(op.results)}"


def _operand_problem(arg: SchemaArg, operand: Operand) -> str | None:
    inner = arg.type.removeprefix("Optional[").removeprefix("List[").removeprefix("Optional[").rstrip("]")
    listed = "List[" in arg.type
    for leaf in leaves(operand):
        if not isinstance(leaf, Value | WeightRef):
            continue
        type_: Type = leaf.type
        if listed and isinstance(type_, ListType):
            type_ = type_.elem
        if inner == "Tensor":
            wrong = not isinstance(type_, TensorType)
        elif inner in _SCALAR_KINDS:
            wrong = not isinstance(type_, ScalarType) or type_.kind not in _SCALAR_KINDS[inner]
        else:
            wrong = True
        if wrong:
            return f"{arg.name} is {arg.type}, given {leaf.type}"
    return None
