"""Which tensors are objects of their own: `query is not key` need not be asked at run time.

`nn.MultiheadAttention` takes another way for self-attention, and tells it so.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING

import torch

from torch2cpp.binding.values import Tensor
from torch2cpp.hostir.ops import Value

if TYPE_CHECKING:
    from torch2cpp.binding.context import Context

#: Operators made of others that always give a new tensor; some of them, such as dropout, may give back what they got.
_NEW = frozenset(
    f"aten::{name}"
    for name in (
        "linear", "matmul", "layer_norm", "group_norm", "batch_norm", "conv1d", "conv2d", "conv3d", "softmax",
        "log_softmax", "scaled_dot_product_attention", "max_pool2d", "embedding",
    )
)  # fmt: skip


@functools.cache
def gives_new_tensor(op: torch._ops.OpOverload) -> bool:
    """Whether the result is another tensor object than the arguments, be it a view of one."""
    if op._schema.name in _NEW:
        return True
    # Those with kernels of their own allocate, or make a view: `to` and `contiguous`, which may do neither, have none.
    composite = torch._C._dispatch_has_kernel_for_dispatch_key(op.name(), "CompositeImplicitAutograd")  # type: ignore[no-untyped-call]
    if op._schema.name in ("aten::lift", "aten::lift_fresh"):
        return False
    writes = any(a.alias_info is not None and a.alias_info.is_write for a in op._schema.arguments)
    return not composite and not writes


def note_new(cx: Context, op: torch._ops.OpOverload, values: list[Value]) -> None:
    """Remembers results that are objects of their own."""
    if gives_new_tensor(op):
        cx.new_tensors.update(v.id for v in values)


def are_two_objects(cx: Context, a: Tensor, b: Tensor) -> bool:
    """Whether `a is b` is known to be false.

    Two results of operators are two tensors, and neither is a weight, which was there before.
    """
    x, y = a.operand, b.operand
    if isinstance(x, Value) and isinstance(y, Value):
        return x.id != y.id and x.id in cx.new_tensors and y.id in cx.new_tensors
    new = [v for v in (x, y) if isinstance(v, Value) and v.id in cx.new_tensors]
    return len(new) == 1
