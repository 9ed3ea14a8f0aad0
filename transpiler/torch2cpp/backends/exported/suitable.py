"""Which regions can go through torch.export, judged by their operations and types."""

from __future__ import annotations

from collections.abc import Callable

import torch

from torch2cpp.backends.protocol import Refusal
from torch2cpp.hostir.ops import HostOp, Operand, TensorOp, Value, leaves, operands, values_in
from torch2cpp.hostir.program import Region
from torch2cpp.hostir.types import TensorType, Type
from torch2cpp.regions.share import DistinctRegion

#: Computing operations from which on there is something to fuse.
WORTH_COMPILING = 2
#: Unrolled over time when decomposed: the ATen operator itself is smaller, faster and takes every length.
_RECURRENT = frozenset({"aten::gru", "aten::lstm", "aten::rnn_tanh", "aten::rnn_relu"})
#: Give places of elements, also of equal ones: which of those comes first is eager's own affair.
_ORDERING = frozenset({"aten::argsort", "aten::kthvalue", "aten::median", "aten::mode", "aten::nanmedian",
                       "aten::sort", "aten::topk"})  # fmt: skip
#: Take the pixel at a rounded place.
_NEAREST = frozenset({"aten::upsample_nearest1d", "aten::upsample_nearest2d", "aten::upsample_nearest3d"})
_EXACT_FACTORS = (1.0, 2.0, 4.0, 8.0, 16.0)
#: So many steps, where that is their number for good, are rather cells to be fused with what is around them.
MOST_STEPS = 4
#: How the name of a region's `aten` form ends.
TWIN = "_eager"
#: Dtypes of tensors at the border -> their names in the C ABI.
DTYPE_NAMES = {
    torch.bool: "bool",
    torch.uint8: "uint8",
    torch.int8: "int8",
    torch.int16: "int16",
    torch.int32: "int32",
    torch.int64: "int64",
    torch.float16: "float16",
    torch.bfloat16: "bfloat16",
    torch.float32: "float32",
    torch.float64: "float64",
}


def eager_twin(region: DistinctRegion) -> DistinctRegion:
    """The region under the name of its `aten` form."""
    return DistinctRegion(f"{region.name}{TWIN}", region.region, region.key)


def unsuitable(
    region: Region, worth: int = WORTH_COMPILING, beside: Callable[[TensorOp], str | None] = lambda op: None
) -> Refusal | None:
    """Why the backend should not have the region: its border, its operations, or fewer than `worth` of them.

    `beside` says why an operation that others take is none for this backend.
    """
    whole = _unsuitable_border(region)
    if whole is not None:
        return Refusal(whole, region.span)
    scalars = {p for p in region.params if not isinstance(p.type, TensorType)}
    culprits: dict[int, str] = {}
    for i, op in enumerate(region.body):
        reason = None if isinstance(op, HostOp) else _unsuitable_operation(op) or beside(op)
        if reason is None and not scalars.isdisjoint(values_in(operands(op))):
            reason = "it takes a number or a list decided at run time"
        if reason is not None:
            culprits[i] = reason
            # What is computed from such a number is one as well.
            if isinstance(op, HostOp) and op.result is not None:
                scalars.add(op.result)
    if culprits:
        first = min(culprits)
        return Refusal(culprits[first], region.body[first].span, frozenset(culprits))
    computing = computing_operations(region)
    if computing < worth:
        said = "a single operation, which the ATen operator runs as fast" if computing else "it computes nothing"
        return Refusal(said, region.span)
    return None


def unsuitable_results(region: Region, allow: Callable[[Type], bool]) -> str | None:
    """Why a result is not one that the backend computes: a constant, a weight, or of a type not allowed."""
    results: tuple[Operand, ...] = region.results
    for result in results:
        if not isinstance(result, Value):
            return f"a result is {result!r}, not a computed tensor"
        if not allow(result.type):
            return f"a result is {result.type}, not a tensor"
    if not results or not any(isinstance(op, TensorOp) for op in region.body):
        return "it computes no tensor"
    return None


def computing_operations(region: Region) -> int:
    """How many operations do more than make a view."""
    return sum(isinstance(op, TensorOp) and not _is_view(op) for op in region.body)


def _unsuitable_border(region: Region) -> str | None:
    reason = unsuitable_results(region, lambda t: isinstance(t, TensorType))
    if reason is not None:
        return reason
    for value in region.params:
        if isinstance(value.type, TensorType) and value.type.dtype not in DTYPE_NAMES:
            return f"parameter {value.name} has dtype {value.type.dtype}"
    if region.aliasing:
        return "it writes to tensors that others see"
    used = {v for op in region.body for v in values_in(operands(op))}
    for value in region.params:
        if not isinstance(value.type, TensorType) and value not in used:
            return f"parameter {value.name} is {value.type}, not a tensor"
    return None


def orders_equals(op: TensorOp) -> str | None:
    """Says so where an operator gives places of equal elements, as sorting does: an engine takes others."""
    name = op.overload._schema.name
    # The median of all elements has no place.
    if name in _ORDERING and (name == "aten::argsort" or len(op.results) > 1):
        return f"{name} says where equal elements are, which must be as eager does"
    return None


def engines_differ(op: TensorOp) -> str | None:
    """Why an engine may give something else than eager, beyond rounding."""
    return orders_equals(op) or _picks_pixels(op)


def _picks_pixels(op: TensorOp) -> str | None:
    """Says so where an operator takes the pixel below a rounded place, which engines round otherwise at some sizes.

    At factors that are powers of two nothing is rounded; at sizes known for good, samples of these sizes are compared.
    """
    name = op.overload._schema.name
    if name not in _NEAREST:
        return None
    given = dict(zip((a.name for a in op.overload._schema.arguments), op.args)) | op.kwargs
    image, sizes = given.get("input", given.get("self")), given.get("output_size")
    factors = [f for n, each in given.items() if n.startswith("scale") for f in leaves(each) if f is not None]
    known = isinstance(image, Value) and isinstance(image.type, TensorType) and None not in image.type.dims[2:]
    if known and all(isinstance(n, int) for n in leaves(sizes) if n is not None):
        return None
    if factors and sizes is None and all(isinstance(f, float) and f in _EXACT_FACTORS for f in factors):
        return None
    return f"{name} to sizes that vary takes pixels that depend on the last bit"


def _unsuitable_operation(op: TensorOp) -> str | None:
    name = op.overload._schema.name
    if name in _RECURRENT and not _takes_few_steps(op):
        return f"{name} is a recurrent layer, which the ATen operator runs better"
    return draws_random_numbers(op)


def _takes_few_steps(op: TensorOp) -> bool:
    """Whether a recurrent layer over a padded batch always runs for the same few steps."""
    given = dict(zip((a.name for a in op.overload._schema.arguments), op.args)) | op.kwargs
    steps = given.get("input")
    if op.overload._overloadname != "input" or not isinstance(steps, Value) or not isinstance(steps.type, TensorType):
        return False
    dims = steps.type.dims
    count = dims[1 if given.get("batch_first") and len(dims) == 3 else 0] if len(dims) >= 2 else None
    return count is not None and 0 < count <= MOST_STEPS


def draws_random_numbers(op: TensorOp) -> str | None:
    """Says so where an operator does: its numbers must be eager's."""
    if torch.Tag.nondeterministic_seeded in op.overload.tags and not _draws_nothing(op):
        return f"{op.overload._schema.name} draws random numbers, which must be eager's"
    return None


def _is_view(op: TensorOp) -> bool:
    """Whether the operator may give a view of an operand, and so computes nothing."""
    returns = op.overload._schema.returns
    return bool(returns) and all(r.alias_info is not None and not r.alias_info.is_write for r in returns)


def _draws_nothing(op: TensorOp) -> bool:
    """Whether a random operator is switched off by its arguments: dropout in evaluation mode."""
    arguments = dict(zip((a.name for a in op.overload._schema.arguments), op.args)) | op.kwargs
    return arguments.get("train") is False or arguments.get("training") is False or (
        op.overload._schema.name == "aten::scaled_dot_product_attention" and arguments.get("dropout_p", 0.0) == 0.0
    )  # fmt: skip


def calls_of(region: Region, operators: frozenset[str]) -> frozenset[int]:
    """Where the region calls operators, given as `aten.bincount`; `prims.erf` stands for `aten.special_erf` too."""
    primitives = tuple(f"_{name.removeprefix('prims.')}" for name in operators if name.startswith("prims."))

    def at_fault(op: TensorOp) -> bool:
        name = op.overload._schema.name.replace("::", ".")
        return name in operators or f"_{name.removeprefix('aten.')}".endswith(primitives)

    return frozenset(i for i, op in enumerate(region.body) if isinstance(op, TensorOp) and at_fault(op))
