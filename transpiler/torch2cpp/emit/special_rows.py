"""Rows of the host operation table whose C++ depends on types: tuples, records, structs, optionals, unions."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from torch2cpp.emit.precedence import ATOM, COND, LOWEST, POSTFIX, UNARY, Expr, call, receiver, wrap
from torch2cpp.hostir.ops import HostOp, Value
from torch2cpp.hostir.types import OptionalType, RecordType, StructType, TupleType

if TYPE_CHECKING:
    from torch2cpp.emit.expressions import Expressions


def _tuple_make(e: Expressions, op: HostOp) -> Expr:
    assert op.result is not None
    return e.typed(tuple(op.args), op.result.type)


def _tuple_get(e: Expressions, op: HostOp) -> Expr:
    source, index = op.args
    assert isinstance(source.type, TupleType)
    return Expr(f"std::get<{index % len(source.type.elems)}>({e.operand(source).text})", POSTFIX)


def _record_make(e: Expressions, op: HostOp) -> Expr:
    assert op.result is not None
    names, *values = op.args
    return e.typed(dict(zip(names, values)), op.result.type)


def _field(e: Expressions, owner: Value, name: str) -> str:
    assert isinstance(owner.type, RecordType | StructType)
    e.types.name_of(owner.type)
    return next(cpp for python, cpp, _ in e.types.record(owner.type).fields if python == name)


def _record_get(e: Expressions, op: HostOp) -> Expr:
    return Expr(f"{receiver(e.operand(op.args[0]))}{_field(e, *op.args)}", POSTFIX)


def _struct_new(e: Expressions, op: HostOp) -> Expr:
    assert op.result is not None and isinstance(op.result.type, StructType)
    _, names, *values = op.args
    given = dict(zip(names, values))
    record = e.types.record(op.result.type)
    args = [e.typed(given[k], t) if k in given else Expr(f"{e.spelled(t)}{{}}", ATOM) for k, _, t in record.fields]
    return call(f"py::make<{record.cpp_name}>", *args)


def _struct_get(e: Expressions, op: HostOp) -> Expr:
    return Expr(f"{wrap(e.operand(op.args[0]), POSTFIX)}->{_field(e, *op.args)}", POSTFIX)


def _struct_set(e: Expressions, op: HostOp) -> Expr:
    owner, name, value = op.args
    field_type = next(t for k, _, t in e.types.record(owner.type).fields if k == name)
    target = f"{wrap(e.operand(owner), POSTFIX)}->{_field(e, owner, name)}"
    return Expr(f"{target} = {e.typed(value, field_type).text}", LOWEST)


def _optional_some(e: Expressions, op: HostOp) -> Expr:
    assert op.result is not None and isinstance(op.result.type, OptionalType)
    return call(e.spelled(op.result.type), e.typed(op.args[0], op.result.type.elem))


def _optional_none(e: Expressions, op: HostOp) -> Expr:
    assert op.result is not None
    return Expr(f"{e.spelled(op.result.type)}{{}}", POSTFIX)


def _is_none(e: Expressions, op: HostOp) -> Expr:
    return Expr(f"!{wrap(e.operand(op.args[0]), POSTFIX)}.has_value()", UNARY)


def _optional_cast(e: Expressions, op: HostOp) -> Expr:
    assert op.result is not None
    return e.typed(op.args[0], op.result.type)


def _optional_get(e: Expressions, op: HostOp) -> Expr:
    return Expr(f"*{wrap(e.operand(op.args[0]), UNARY)}", UNARY)


def _union_make(e: Expressions, op: HostOp) -> Expr:
    assert op.result is not None
    index, value = op.args
    made = e.spelled(op.result.type)
    return call(made, Expr(f"std::in_place_index<{index}>", ATOM), e.operand(value))


def _not(e: Expressions, op: HostOp) -> Expr:
    return e.negated(op.args[0])


def _select(e: Expressions, op: HostOp) -> Expr:
    assert op.result is not None
    cond, a, b = op.args
    arms = [wrap(e.exactly(x, op.result.type), COND + 1) for x in (a, b)]
    return Expr(f"{wrap(e.operand(cond), COND + 1)} ? {arms[0]} : {arms[1]}", COND)


def _tensor_size(e: Expressions, op: HostOp) -> Expr:
    return call("py::size", e.operand(op.args[0]), e.operand(op.args[1]))


def _same_number(e: Expressions, op: HostOp) -> Expr:
    return e.operand(op.args[0])


#: Row name -> its rendering.
SPECIAL: dict[str, Callable[[Expressions, HostOp], Expr]] = {
    "tuple.make": _tuple_make,
    "tuple.get": _tuple_get,
    "record.make": _record_make,
    "record.get": _record_get,
    "struct.new": _struct_new,
    "struct.get": _struct_get,
    "struct.set": _struct_set,
    "optional.some": _optional_some,
    "optional.none": _optional_none,
    "undefined": _optional_none,
    "optional.is_none": _is_none,
    "optional.get": _optional_get,
    "optional.cast": _optional_cast,
    "union.make": _union_make,
    "not": _not,
    "select": _select,
    "tensor.size": _tensor_size,
    "enum.member": _same_number,
    "enum.position": _same_number,
}
