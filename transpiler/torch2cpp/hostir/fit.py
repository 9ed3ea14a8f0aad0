"""Which types a variable, a result or a parameter of another type can take."""

from __future__ import annotations

from torch2cpp.hostir.ops import Operand, Value, WeightRef
from torch2cpp.hostir.types import (
    BOOL,
    FLOAT,
    INT,
    NEVER,
    NONE,
    STR,
    DictType,
    ListType,
    OptionalType,
    RecordType,
    ScalarType,
    SetType,
    TupleType,
    Type,
    UnionType,
    join,
    join_or_union,
)


def constant_type(value: object) -> Type:
    """The type of a constant operand; NONE for what only operators of tensors take (dtypes, ...).

    >>> str(constant_type(True)), str(constant_type(2))
    ('bool', 'int')
    """
    match value:
        case bool():
            return BOOL
        case int():
            return INT
        case float():
            return FLOAT
        case complex():
            return ScalarType("complex")
        case str():
            return STR
        case _:
            return NONE


def operand_type(tree: Operand) -> Type:
    """The type of an operand tree; dicts become records of the name `dict`."""
    match tree:
        case Value() | WeightRef():
            return tree.type
        case tuple():
            return TupleType(tuple(operand_type(x) for x in tree))
        case list():
            return TupleType(tuple(operand_type(x) for x in tree), "list")
        case dict():
            return RecordType("dict", "dict", tuple((str(k), operand_type(v)) for k, v in tree.items()))
        case _:
            return constant_type(tree)


def fits(given: Type, target: Type) -> bool:
    """Whether a variable of `target` can take a value of `given`.

    >>> from torch2cpp.hostir.types import TensorType
    >>> import torch
    >>> fits(TensorType(torch.int64, (3,)), TensorType(torch.int64, (None,)))
    True
    >>> fits(INT, FLOAT)
    False
    """
    if given in (target, NEVER) or join(target, given) == target:
        return True
    match given, target:
        case UnionType(), _:
            return all(fits(m, target) for m in given.members)
        case _, UnionType():
            return any(fits(given, m) for m in target.members)
        case OptionalType(), OptionalType() if given.absent == target.absent:
            return fits(given.elem, target.elem)
        case _, OptionalType():
            return (given == NONE and not target.absent) or fits(given, target.elem)
        case TupleType(), TupleType():
            return len(given.elems) == len(target.elems) and all(
                fits(g, t) for g, t in zip(given.elems, target.elems, strict=True)
            )
        case RecordType(), RecordType():
            return [k for k, _ in given.fields] == [k for k, _ in target.fields] and all(
                fits(g, t) for (_, g), (_, t) in zip(given.fields, target.fields, strict=True)
            )
        # Element types of references differ only in what is known of tensor sizes.
        case ListType() | SetType(), ListType() | SetType():
            return type(given) is type(target) and fits(given.elem, target.elem)
        case DictType(), DictType():
            return fits(given.key, target.key) and fits(given.value, target.value)
        case _:
            return False


def overlaps(given: Type, target: Type) -> bool:
    """Whether some value of `given` may fit `target`; weaker than `fits` for unions and optionals."""
    return fits(given, target) or fits(target, given) or not isinstance(join_or_union(given, target), UnionType)
