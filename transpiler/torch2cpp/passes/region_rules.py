"""Tables of region formation: which operators the host calls itself, which are worth a compiler."""

from __future__ import annotations

import torch

from torch2cpp.hostir.ops import Op, TensorOp

aten = torch.ops.aten
#: Views that cost no more than arithmetic on sizes: with run-time ints, or alone, the host makes them.
HOST_VIEWS = frozenset(
    {
        aten.select.int,
        aten.slice.Tensor,
        aten.narrow.default,
        aten.unsqueeze.default,
        aten.squeeze.dim,
    }
)
#: Operators over a list of run-time length that the host calls itself.
HOST_LIST_OPS = frozenset({aten.stack.default, aten.cat.default, aten.concat.default})
#: Operators worth a compiler: next to them a host scalar or an alias gets a region of its own.
_HEAVY = frozenset(
    {
        "linear", "mm", "bmm", "matmul", "addmm", "baddbmm", "einsum", "bilinear", "tensordot",
        "conv1d", "conv2d", "conv3d", "conv_transpose1d", "conv_transpose2d", "conv_transpose3d", "convolution",
        "gru", "lstm", "rnn_tanh", "rnn_relu", "gru_cell", "lstm_cell", "rnn_tanh_cell", "rnn_relu_cell",
        "scaled_dot_product_attention", "batch_norm", "layer_norm", "group_norm", "instance_norm",
        "max_pool2d", "avg_pool2d", "adaptive_avg_pool2d",
    }
)  # fmt: skip


def is_heavy(op: Op) -> bool:
    """Whether a compiler gains much on the operation."""
    return isinstance(op, TensorOp) and str(op.overload._schema.name).partition("::")[2] in _HEAVY
