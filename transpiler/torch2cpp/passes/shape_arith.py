"""Analysis: which host ints a region can compute for itself from the sizes of tensors it gets.

`b = x.size(0)`, `h = b * 4` and `y.view(b, h)` need no split and no scalar parameter: the region
takes `x` and repeats the arithmetic.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import final

from torch2cpp.hostir.ops import HostOp, Op, TensorOp, Value, WeightRef, operands, results, values_in
from torch2cpp.hostir.types import INT, ListType, TensorType

_SIZES = frozenset({"tensor.size", "tensor.numel"})
_ARITHMETIC = frozenset({"add", "sub", "mul", "floordiv", "mod", "neg", "min", "max"})


@final
@dataclass(slots=True)
class ShapeArithmetic:
    """What is derivable in one function; see the module's docstring."""

    #: The operation that defines each value.
    definition: dict[Value, Op]
    #: Every operation that uses a value directly.
    uses: dict[Value, list[Op]]
    #: Whether something changes a tensor's sizes in place: then they must be read where Python does.
    is_resized: Callable[[Value], bool]
    _bases: dict[Value, frozenset[Value] | None] = field(default_factory=dict)

    def bases(self, value: Value) -> frozenset[Value] | None:
        """The tensors whose sizes decide an int, or None when it is not such an int."""
        if value not in self._bases:
            self._bases[value] = self._find_bases(value)
        return self._bases[value]

    def _find_bases(self, value: Value) -> frozenset[Value] | None:
        op = self.definition.get(value)
        if not isinstance(op, HostOp) or value.type != INT:
            return None
        if op.name in _SIZES:
            tensor = op.args[0]
            if isinstance(tensor, Value) and isinstance(tensor.type, TensorType):
                return None if self.is_resized(tensor) else frozenset({tensor})
            return frozenset() if isinstance(tensor, WeightRef) else None
        if op.name not in _ARITHMETIC:
            return None
        found: frozenset[Value] = frozenset()
        for arg in op.args:
            if isinstance(arg, Value):
                inner = self.bases(arg)
                if inner is None:
                    return None
                found |= inner
            elif type(arg) is not int:
                return None
        return found

    def needed(self, operand_values: Iterable[Value]) -> set[Value]:
        """What a region's operation with these operands needs: the bases in the place of derivable ints."""
        needed: set[Value] = set()
        for value in operand_values:
            bases = self.bases(value)
            needed |= {value} if bases is None else bases
        return needed

    def is_projection(self, op: Op) -> bool:
        """Whether it takes a constant element of a list that a tensor operation made and nothing changes."""
        if not isinstance(op, HostOp) or op.name != "list.get" or type(op.args[1]) is not int:
            return False
        return isinstance(op.args[0], Value) and self.is_fixed_list(op.args[0])

    def is_fixed_list(self, value: Value) -> bool:
        """Whether a value is a list of tensors made by a tensor operation, only ever looked into."""
        if not isinstance(value.type, ListType) or not isinstance(self.definition.get(value), TensorOp):
            return False
        return all(
            isinstance(use, TensorOp) or (isinstance(use, HostOp) and use.name in ("list.get", "list.len"))
            for use in self.uses.get(value, ())
        )


def find_shape_arithmetic(ops: Sequence[Op], is_resized: Callable[[Value], bool]) -> ShapeArithmetic:
    """Prepares the analysis of one function from all its operations."""
    uses: dict[Value, list[Op]] = {}
    for op in ops:
        for tree in operands(op):
            for value in values_in(tree):
                uses.setdefault(value, []).append(op)
    return ShapeArithmetic({v: op for op in ops for v in results(op)}, uses, is_resized)
