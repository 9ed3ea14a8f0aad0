"""Analysis: what an operation may raise, read and write, to know which must keep their order.

Resources are storage classes (`Storages`), cells, `"output"` and `"random"`.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import final

from torch2cpp.hostir.host_ops import SET_MERGERS, TABLE
from torch2cpp.hostir.ops import (
    Call,
    Cell,
    HostOp,
    Load,
    Op,
    Operand,
    Raise,
    RegionCall,
    Store,
    TensorOp,
    Value,
    WeightRef,
    blocks,
    leaves,
    walk,
)
from torch2cpp.hostir.schema import is_random
from torch2cpp.hostir.types import BOOL, FLOAT, INT, ScalarType, TensorType
from torch2cpp.passes.storages import Storages, holds_storage

#: A storage class, a cell, "output", "random", or in a segment `("made", node)` for storage made there.
Resource = int | Cell | str | tuple[str, int]

#: Raise only on 64-bit overflow, which Python never does: nothing depends on when.
OVERFLOW_ONLY = frozenset({"add", "sub", "mul", "neg", "abs"})
#: Take hold of elements without looking at them.
_HANDLES = frozenset(
    {
        "list.get",
        "list.item",
        "list.len",
        "list.slice",
        "list.copy",
        "list.concat",
        "list.repeat",
        "list.reversed",
        "dict.get",
        "dict.len",
        "dict.find",
        "dict.copy",
        "dict.keys",
        "dict.values",
        "dict.items",
        "dict.contains",
        "set.len",
        "set.contains",
        "struct.get",
        "list.append",
        "list.appendleft",
        "list.insert",
        "list.set",
        "list.pop",
        "list.clear",
        "list.delete",
        "list.delete_slice",
        "list.reverse",
        "dict.set",
        "dict.pop",
        "dict.delete",
        "dict.clear",
        "set.add",
        "set.discard",
        "struct.set",
    }
)
#: Take over the elements of their second operand.
_BY_ELEMENT = frozenset({"list.extend", "list.set_slice", "dict.update", "list.concat"})
_NEVER_RAISE = frozenset(
    {
        "list.len",
        "list.copy",
        "list.concat",
        "list.reversed",
        "list.contains",
        "list.count",
        "list.any",
        "list.all",
        "list.append",
        "list.appendleft",
        "list.extend",
        "list.insert",
        "list.clear",
        "list.reverse",
        "dict.len",
        "dict.contains",
        "dict.find",
        "dict.copy",
        "dict.keys",
        "dict.values",
        "dict.items",
        "dict.set",
        "dict.update",
        "dict.clear",
        "set.len",
        "set.contains",
        "set.add",
        "set.discard",
        *SET_MERGERS,
        "set.clear",
        "struct.get",
        "struct.set",
        "equal",
        "str",
        "repr",
        "str.join",
        "tensor.tolist",
        "random.seed",
        "random.state",
        "print",
    }
)
_NEW = frozenset({"list.new", "dict.new", "set.new", "struct.new"})


@final
@dataclass(frozen=True, slots=True)
class Effects:
    """What one operation, with all that is inside, may do."""

    raises: bool = False
    reads: frozenset[Resource] = frozenset()
    writes: frozenset[Resource] = frozenset()

    def __or__(self, other: Effects) -> Effects:
        return Effects(self.raises or other.raises, self.reads | other.reads, self.writes | other.writes)


@final
@dataclass(frozen=True, slots=True)
class PublicWrites:
    """The writes of tensor operations that others than their own region may see."""

    ops: frozenset[Op]
    #: The storage classes they write.
    classes: frozenset[int]

    @staticmethod
    def of(ops: Iterable[Op], storages: Storages) -> PublicWrites:
        """The writes of these operations."""
        found = frozenset(ops)
        classes = {c for op in found if isinstance(op, TensorOp) for c in storages.written_by(op)}
        return PublicWrites(found, frozenset(classes))


def effects_of(op: Op, storages: Storages, public: PublicWrites) -> Effects:
    """The effects of an operation and of the blocks inside it.

    The errors of tensor operations are not counted in `raises`: whether they keep their order
    against the host's is the caller's choice.
    """
    match op:
        case HostOp():
            return _host_effects(op, storages)
        case TensorOp():
            reads = _reached((op.args, op.kwargs), storages) & public.classes
            writes: frozenset[Resource] = storages.written_by(op) if op in public.ops else frozenset()
            lists = _containers((op.args, op.kwargs), storages)
            return Effects(False, reads | lists, writes | ({"random"} if is_random(op) else frozenset()))
        case RegionCall():
            touched = _reached((op.args, op.results), storages) & storages.written
            return Effects(True, touched, touched | {"random"})
        case Load():
            return Effects(False, frozenset({op.cell}))
        case Store():
            return Effects(False, frozenset(), frozenset({op.cell}))
        case Call():
            return Effects(True, frozenset(), frozenset({"random", "output"}))
        case Raise():
            return Effects(True)
    found = Effects()
    for block in blocks(op):
        for inner in walk(block):
            if not blocks(inner):
                found |= effects_of(inner, storages, public)
    return found


def visible_outside(effects: Effects, storages: Storages) -> bool:
    """Whether what it writes can still be seen after an exception ended the call."""
    return any(
        r == "output" or (isinstance(r, Cell) and r.scope == "state") or r in storages.outside for r in effects.writes
    )


def _host_effects(op: HostOp, storages: Storages) -> Effects:
    effect = TABLE[op.name].effect
    raises = may_raise(op)
    if op.name in ("tensor.size", "tensor.numel"):
        return Effects(False, _reached(op.args[:1], storages) & storages.resized)
    if op.name == "print":
        return Effects(False, frozenset(), frozenset({"output"}))
    if op.name.startswith("random."):
        return Effects(raises, _reached(op.args, storages), frozenset({"random"}))
    if op.name in _NEW or effect == "pure":
        return Effects(raises)
    reads = _containers(op.args[:1], storages) if op.name in _HANDLES else _reached(op.args, storages)
    if op.name in _BY_ELEMENT:
        reads |= _containers(op.args, storages)
    return Effects(raises, reads, _containers(op.args[:1], storages) if effect == "writes" else frozenset())


def may_raise(op: HostOp) -> bool:
    """Whether a host operation may raise an error that Python has too."""
    if TABLE[op.name].effect == "pure" or op.name in OVERFLOW_ONLY | _NEVER_RAISE | _NEW:
        return False
    types = [a.type if isinstance(a, Value | WeightRef) else None for a in op.args]
    match op.name:
        case "floordiv" | "mod" | "truediv":
            return isinstance(op.args[1], Value) or not op.args[1]
        case "lshift" | "rshift":
            return isinstance(op.args[1], Value) or op.args[1] < 0
        case "tensor.item" | "tensor.truth":
            return not (isinstance(types[0], TensorType) and all(d == 1 for d in types[0].dims))
        case "int":
            return types[0] not in (INT, BOOL)
        case "float":
            return types[0] not in (INT, BOOL, FLOAT)
        case "list.slice" | "list.range":
            return isinstance(op.args[3 if op.name == "list.slice" else 2], Value)
        case "str.format":
            return not all(isinstance(t, ScalarType) for t in types if t is not None)
        case _:
            return True


def _reached(tree: Operand, storages: Storages) -> frozenset[Resource]:
    found: set[Resource] = set()
    for leaf in leaves(tree):
        if isinstance(leaf, WeightRef) or (isinstance(leaf, Value) and holds_storage(leaf.type)):
            found |= storages.reached(leaf)
    return frozenset(found)


def _containers(tree: Operand, storages: Storages) -> frozenset[Resource]:
    """The containers themselves among the operands, without what is in them."""
    return frozenset(
        storages.of(leaf)
        for leaf in leaves(tree)
        if isinstance(leaf, Value) and holds_storage(leaf.type) and not isinstance(leaf.type, TensorType)
    )
