"""What an operation does to the order of things: which two may be evaluated in either order."""

from __future__ import annotations

from enum import Flag, auto

from torch2cpp.hostir.host_ops import TABLE
from torch2cpp.hostir.ops import (
    Break,
    Call,
    Continue,
    HostOp,
    If,
    Leave,
    Load,
    Loop,
    Op,
    Raise,
    RegionCall,
    Return,
    Scope,
    Store,
    TensorOp,
    Try,
    Value,
    Yield,
    blocks,
)
from torch2cpp.hostir.program import Region
from torch2cpp.hostir.types import BOOL, FLOAT, INT, TensorType


class Effect(Flag):
    """A set of effects; no effect at all is pure."""

    PURE = 0
    #: Reads something that may be written, and never raises.
    QUIET_READ = auto()
    #: Integer arithmetic out of 64 bits: all such raise alike, so their order among themselves is free.
    OVERFLOW = auto()
    #: May raise, or reads and may raise.
    ORDERED = auto()
    #: Writes, prints, draws random numbers, calls what does.
    WRITE = auto()


_LATER = Effect.OVERFLOW | Effect.ORDERED | Effect.WRITE
_CONFLICTS = {
    Effect.QUIET_READ: Effect.WRITE,
    Effect.OVERFLOW: Effect.ORDERED | Effect.WRITE,
    Effect.ORDERED: _LATER,
    Effect.WRITE: _LATER | Effect.QUIET_READ,
}

_QUIET = frozenset({"list.len", "dict.len", "set.len", "struct.get", "set.contains", "dict.contains"})
_OVERFLOWING = frozenset({"add", "sub", "mul", "neg", "abs"})


def conflict(a: Effect, b: Effect) -> bool:
    """Whether evaluating `a` after `b` instead of before it could be seen.

    >>> conflict(Effect.QUIET_READ, Effect.ORDERED), conflict(Effect.QUIET_READ, Effect.WRITE)
    (False, True)
    """
    return any(one in a and bool(others & b) for one, others in _CONFLICTS.items())


def effect_of(op: Op, regions: dict[str, Region]) -> Effect:
    """The effect of an operation itself, its operands aside; of all that is inside for control flow."""
    match op:
        case HostOp():
            return _host_effect(op)
        case TensorOp():
            return Effect.WRITE if op.overload._schema.is_mutable else Effect.ORDERED
        case RegionCall():
            return Effect.WRITE if regions[op.region].aliasing else Effect.ORDERED
        case Load():
            return Effect.QUIET_READ
        case Call() | Store() | Raise() | Loop() | Try() | Scope():
            return Effect.WRITE
        case If():
            out = Effect.PURE
            for block in blocks(op):
                for inner in block.ops:
                    out |= effect_of(inner, regions)
            return out
        case Yield():
            return Effect.PURE
        case Continue() | Break() | Leave() | Return():
            return Effect.WRITE


def _host_effect(op: HostOp) -> Effect:
    info = TABLE[op.name]
    if info.effect == "pure":
        return Effect.PURE
    if info.effect == "writes":
        # A fresh container is nobody else's: making it cannot be seen.
        return Effect.QUIET_READ if op.name in ("list.new", "dict.new", "set.new", "struct.new") else Effect.WRITE
    if info.effect == "reads":
        single = op.args and isinstance(op.args[0], Value) and isinstance(op.args[0].type, TensorType)
        if op.name in ("tensor.item", "tensor.truth") and single and all(d == 1 for d in op.args[0].type.dims):
            return Effect.QUIET_READ
        return Effect.QUIET_READ if op.name in _QUIET else Effect.ORDERED
    return _arithmetic_effect(op)


def _arithmetic_effect(op: HostOp) -> Effect:
    kinds = [a.type if isinstance(a, Value) else _constant_kind(a) for a in op.args]
    if op.name in _OVERFLOWING:
        return Effect.PURE if FLOAT in kinds else Effect.OVERFLOW
    if op.name in ("floordiv", "mod", "truediv") and len(op.args) == 2:
        divisor = op.args[1]
        if not isinstance(divisor, Value) and divisor not in (0, -1):
            return Effect.PURE
    if op.name == "float" and kinds[0] in (INT, BOOL, FLOAT):
        return Effect.PURE
    if op.name == "int" and kinds[0] in (INT, BOOL):
        return Effect.PURE
    return Effect.ORDERED


def _constant_kind(x: object) -> object:
    return BOOL if isinstance(x, bool) else INT if isinstance(x, int) else FLOAT if isinstance(x, float) else None
