"""Analysis: which tensor operations cannot fail, whatever the run-time values.

Sizes that types give are checked where tensors come in, so an operation over such sizes alone went
through its checks while the program was read; what is checked only by the kernels themselves (empty
tensors, dtypes) is judged here. A dimension that varies is followed through operations
that keep it: `bn(conv(x))` has the batch of `x`, and the two add up without fail.

Everything is taken to raise that is not known here: what looks at data (`index`, `embedding`,
`cholesky`), at strides (`view`), at the largest of nothing (`max`).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, final

import torch

from torch2cpp.hostir.ops import Op, Operand, TensorOp, Value, WeightRef, leaves, results
from torch2cpp.hostir.schema import bound_arguments, is_random, written_operands
from torch2cpp.hostir.types import TensorType

#: Element by element over operands that are broadcast together.
_POINTWISE = frozenset(
    {
        "abs", "add", "alias", "ceil", "clamp", "clone", "contiguous", "cos", "detach", "div", "elu", "eq", "erf",
        "exp", "expm1", "floor", "ge", "gelu", "gt", "hardsigmoid", "hardswish", "hardtanh", "isnan", "le",
        "leaky_relu", "log", "log1p", "logical_and", "logical_not", "logical_or", "lt", "maximum", "minimum", "mul",
        "ne", "neg", "ones_like", "reciprocal", "relu", "relu6", "round", "rsqrt", "rsub", "sigmoid", "sign", "silu",
        "sin", "softplus", "sqrt", "square", "sub", "tanh", "where", "zeros_like",
    }
)  # fmt: skip
#: Defined for integers and bools too; the others may lack a kernel, which is found out only when they run.
_ANY_DTYPE = frozenset(
    {
        "add", "alias", "clone", "contiguous", "detach", "eq", "flatten", "ge", "gt", "le", "logical_and",
        "logical_not", "logical_or", "lt", "maximum", "minimum", "mul", "narrow", "ne", "ones_like", "permute",
        "select", "slice", "squeeze", "sum", "to", "transpose", "unsqueeze", "where", "zeros_like",
    }
)  # fmt: skip
#: The same shape out as in, over dimensions named by constants.
_SAME_SHAPE = frozenset({"log_softmax", "softmax", "dropout"})
#: Whatever the sizes: reductions that are defined over nothing, and views over constant dimensions.
_ANY_SIZE = frozenset({"flatten", "mean", "permute", "slice", "squeeze", "sum", "transpose", "unsqueeze"})
#: The first dimension of the first operand, of so many, may vary; all else must be known.
_BATCHED = {
    "conv1d": 3, "conv2d": 4, "batch_norm": 2, "avg_pool2d": 4, "max_pool2d": 4, "adaptive_avg_pool2d": 4,
    "adaptive_max_pool2d": 4, "group_norm": 3,
}  # fmt: skip
#: The last dimension of the first operand must be known; the others may vary.
_OVER_LAST = frozenset({"linear"})
#: Over known sizes alone.
_STATIC = frozenset(
    {
        "addmm", "amax", "amin", "argmax", "argmin", "bmm", "expand", "full", "gru_cell", "layer_norm", "lstm_cell",
        "matmul", "max", "min", "mm", "ones", "reshape", "split", "t", "zeros",
    }
)  # fmt: skip
_DTYPES = frozenset({torch.float32, torch.float64, torch.int64, torch.bool})
#: Beyond these a constant may not fit the dtype it meets.
_LARGEST_FLOAT, _LARGEST_INT = 1e38, 2**53

#: A size, or what stands for one that varies.
Dim = Any


@final
@dataclass(slots=True)
class Raising:
    """What is known about the tensor operations of one function."""

    #: The operation that defines each value.
    definition: dict[Value, Op]
    _dims: dict[Value, tuple[Dim, ...]] = field(default_factory=dict)

    @staticmethod
    def of(ops: Iterable[Op]) -> Raising:
        """Prepares the analysis of a function from all its operations."""
        return Raising({v: op for op in ops for v in results(op)})

    def may_raise(self, op: TensorOp) -> bool:
        """Whether the operation may raise an error that Python would raise there too."""
        return not self._is_sure(op)

    def _is_sure(self, op: TensorOp) -> bool:
        tensors = _tensors((op.args, op.kwargs))
        if tensors is None or op.indexed is not None or written_operands(op) or is_random(op) or not _is_tame(op):
            return False
        name = _name(op)
        if any(t.type.dtype not in _DTYPES for t in (*tensors, *op.results) if isinstance(t.type, TensorType)):
            return False
        dtypes = [t.type.dtype for t in tensors if isinstance(t.type, TensorType)]
        if name not in _ANY_DTYPE and not all(d.is_floating_point for d in dtypes):
            return False
        if name == "where" and dtypes[0] != torch.bool:
            return False
        shapes = [self.dims(t) for t in tensors]
        known = all(type(d) is int for shape in shapes for d in shape)
        if name in _POINTWISE:
            return _broadcast(shapes) is not None
        if name in _SAME_SHAPE or name in _ANY_SIZE:
            return True
        if name == "to":
            return str(op.overload) == "aten.to.dtype"
        if name in ("select", "narrow"):
            dim = _dimension(op)
            return dim is not None and type(shapes[0][dim]) is int
        if name in ("cat", "stack"):
            return known or _joins(name, shapes, _dimension(op))
        # Of these some refuse empty tensors and unlike dtypes only when they run.
        if len(set(dtypes)) > 1 or any(d == 0 and type(d) is int for shape in shapes for d in shape):
            return False
        others = [d for shape in shapes[1:] for d in shape]
        if name in _BATCHED:
            first = shapes[0][1:] if len(shapes[0]) >= _BATCHED[name] else shapes[0]
            return all(type(d) is int for d in (*first, *others))
        if name in _OVER_LAST:
            return all(type(d) is int for d in (shapes[0][-1], *others))
        return known and name in _STATIC

    # -- sizes ---------------------------------------------------------------------------------

    def dims(self, tensor: Value | WeightRef) -> tuple[Dim, ...]:
        """The sizes; for one that varies, a token that equal sizes share."""
        assert isinstance(tensor.type, TensorType)
        own = tensor.type.dims
        if isinstance(tensor, WeightRef) or None not in own:
            return own
        if tensor not in self._dims:
            # First, so that what leads back to itself ends.
            fresh = tuple(d if d is not None else (tensor, i) for i, d in enumerate(own))
            self._dims[tensor] = fresh
            op = self.definition.get(tensor)
            taken = self._followed(op) if isinstance(op, TensorOp) and op.results == (tensor,) else None
            if taken is not None and len(taken) == len(own):
                merged = [d if d is not None else f if t is None else t for d, t, f in zip(own, taken, fresh)]
                self._dims[tensor] = tuple(merged)
        return self._dims[tensor]

    def _followed(self, op: TensorOp) -> tuple[Dim, ...] | None:
        """The sizes of a result as its operands have them; None within for what is not known."""
        tensors = _tensors((op.args, op.kwargs))
        if not tensors:
            return None
        name, first = _name(op), self.dims(tensors[0])
        if name in _POINTWISE:
            return _broadcast([self.dims(t) for t in tensors])
        if name in _SAME_SHAPE or name in ("to", "batch_norm", "layer_norm", "group_norm"):
            return first
        if name in _BATCHED:
            return (first[0], *(None for _ in first[1:]))
        if name in _OVER_LAST:
            return (*first[:-1], None)
        if name == "cat" and (dim := _dimension(op)) is not None:
            dim %= len(first)
            return tuple(None if i == dim else d for i, d in enumerate(first))
        return None


def _name(op: TensorOp) -> str:
    return str(op.overload._schema.name).partition("::")[2]


def _tensors(tree: Operand) -> list[Value | WeightRef] | None:
    """The tensors among the operands; None where there are other run-time values."""
    found: list[Value | WeightRef] = []
    for leaf in leaves(tree):
        if isinstance(leaf, Value | WeightRef):
            if not isinstance(leaf.type, TensorType):
                return None
            found.append(leaf)
    return found


def _is_tame(op: TensorOp) -> bool:
    """Whether all numbers among the operands fit any dtype they may meet."""
    for leaf in leaves((op.args, op.kwargs)):
        if isinstance(leaf, bool) or leaf is None:
            continue
        if isinstance(leaf, int) and abs(leaf) > _LARGEST_INT:
            return False
        if isinstance(leaf, float) and not abs(leaf) <= _LARGEST_FLOAT and leaf not in (float("inf"), -float("inf")):
            return False
        if isinstance(leaf, complex):
            return False
    return True


def _dimension(op: TensorOp) -> int | None:
    """The constant `dim` of an operation that has one."""
    given = {arg.name: operand for arg, operand in bound_arguments(op)}.get("dim", 0)
    return given if type(given) is int else None


def _broadcast(shapes: Sequence[tuple[Dim, ...]]) -> tuple[Dim, ...] | None:
    """The common shape, or None where it is not sure that there is one."""
    rank = max((len(s) for s in shapes), default=0)
    out: list[Dim] = [1] * rank
    for shape in shapes:
        for at, dim in enumerate(shape, rank - len(shape)):
            if out[at] == 1 and type(out[at]) is int:
                out[at] = dim
            elif not (dim == 1 and type(dim) is int) and out[at] != dim:
                return None
    return tuple(out)


def _joins(name: str, shapes: Sequence[tuple[Dim, ...]], dim: int | None) -> bool:
    """Whether tensors have the sizes that a cat or stack asks for."""
    first = shapes[0]
    if dim is None or any(len(s) != len(first) for s in shapes):
        return False
    free = dim % len(first) if name == "cat" and first else None
    return all(s[i] == first[i] for s in shapes for i in range(len(first)) if i != free)
