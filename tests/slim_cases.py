"""Calls of operators that programs without libtorch have: PyTorch's overload, arguments."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch

aten = torch.ops.aten
Case = tuple[Any, tuple[Any, ...], dict[str, Any]]

_FLOAT = [
    "abs",
    "neg",
    "exp",
    "exp2",
    "expm1",
    "sin",
    "cos",
    "tan",
    "atan",
    "sinh",
    "cosh",
    "tanh",
    "erf",
    "sigmoid",
    "relu",
    "relu6",
    "silu",
    "mish",
    "selu",
    "hardswish",
    "hardsigmoid",
    "log_sigmoid",
    "floor",
    "ceil",
    "round",
    "trunc",
    "sign",
    "isnan",
    "isinf",
    "isfinite",
    "logical_not",
    "square",
    "gelu",
    "softplus",
    "leaky_relu",
    "elu",
    "hardtanh",
    "nan_to_num",
    "reciprocal",
]
_POSITIVE = ["log", "log2", "log10", "log1p", "sqrt", "rsqrt"]
_INTS = ["abs", "neg", "square", "sign", "logical_not", "bitwise_not", "exp", "sqrt", "sigmoid", "isfinite", "floor"]
_PAIRS = [
    "add.Tensor",
    "sub.Tensor",
    "rsub.Tensor",
    "mul.Tensor",
    "div.Tensor",
    "floor_divide",
    "remainder.Tensor",
    "fmod.Tensor",
    "atan2",
    "maximum",
    "minimum",
    "eq.Tensor",
    "ne.Tensor",
    "lt.Tensor",
    "le.Tensor",
    "gt.Tensor",
    "ge.Tensor",
    "logical_and",
    "logical_or",
    "logical_xor",
]
_BITS = ["bitwise_and", "bitwise_or", "bitwise_xor"]
_WITH_NUMBER = [
    "add.Scalar",
    "sub.Scalar",
    "rsub.Scalar",
    "mul.Scalar",
    "div.Scalar",
    "remainder.Scalar",
    "fmod.Scalar",
    "eq.Scalar",
    "ne.Scalar",
    "lt.Scalar",
    "le.Scalar",
    "gt.Scalar",
    "ge.Scalar",
    "floor_divide.Scalar",
]


def overload(name: str) -> Any:
    """`add.Tensor`, or `exp` for the default overload."""
    base, _, which = name.partition(".")
    return getattr(getattr(aten, base), which or "default")


def views(t: torch.Tensor) -> Iterator[torch.Tensor]:
    """The values of a matrix in several layouts."""
    yield t
    yield t.t().contiguous().t()
    wide = torch.zeros(t.shape[0] * 2, t.shape[1] * 3, dtype=t.dtype)
    wide[::2, 1::3] = t
    yield wide[::2, 1::3]


def elementwise() -> Iterator[Case]:
    """Operators of one, two and three elements, over dtypes and layouts."""
    torch.manual_seed(0)
    x = torch.randn(3, 5) * 2
    for dtype in (torch.float32, torch.float64, torch.bfloat16):
        for t in views(x.to(dtype)):
            yield from ((overload(n), (t,), {}) for n in _FLOAT)
            yield from ((overload(n), (t.abs() + 0.125,), {}) for n in _POSITIVE)
            yield from ((overload(n), ((t / 16).clamp(-1, 1),), {}) for n in ("asin", "acos"))
    for t in views(torch.randint(-9, 9, (3, 5))):
        yield from ((overload(n), (u,), {}) for n in _INTS for u in (t, t.to(torch.int16)))
    special = torch.tensor([float("nan"), float("inf"), -float("inf"), -0.0, 0.5, -2.5, 2.5])
    # Eager's gelu of infinity depends on the library behind it.
    yield from ((overload(n), (special,), {}) for n in _FLOAT if n != "gelu")
    yield from ((overload(n), (special, special.flip(0)), {}) for n in _PAIRS)
    yield aten.gelu.default, (x,), {"approximate": "tanh"}
    yield aten.clamp.default, (x, -1, 0.5), {}
    yield aten.clamp.default, (x.long(), None, 1), {}
    yield aten.clamp.default, (x.long(), 0.5), {}
    yield aten.clamp.Tensor, (x, x[:1] - 1, x[:, :1] + 1), {}
    yield aten.clamp_min.default, (x, 0), {}
    yield aten.logit.default, (x.sigmoid(),), {}
    yield aten.prelu.default, (x, torch.tensor([0.1, 0.2, 0.3, 0.4, 0.5])), {}
    yield from _pairs(x)


def _pairs(x: torch.Tensor) -> Iterator[Case]:
    kinds = (torch.float32, torch.int64, torch.uint8, torch.float64)
    for a in kinds:
        for b in kinds:
            left = (x.abs() * 4 + 1).to(a)
            y = x.abs() * 4 + 1
            for right in (y[:1].to(b), y[0, 0].to(b), y.t().contiguous().t().to(b)):
                yield from ((overload(n), (left, right), {}) for n in _PAIRS)
    ints = torch.randint(-9, 9, (4, 3))
    yield from ((overload(f"{n}.Tensor"), (ints, ints[:1]), {}) for n in _BITS)
    yield from ((overload(f"{n}.Tensor"), (ints > 0, ints[:1] > 1), {}) for n in _BITS)
    yield from ((overload(f"{n}.Scalar"), (ints, 5), {}) for n in _BITS)
    for t in (x, ints, x.double(), ints.to(torch.int32), ints > 0):
        for number in (3, 2.5, True):
            if t.dtype != torch.bool:
                yield from ((overload(n), (t, number), {}) for n in _WITH_NUMBER)
    yield aten.remainder.Tensor, (ints, torch.tensor([-3, 2, 5])), {}
    yield aten.floor_divide.default, (ints, torch.tensor([-3, 2, 5])), {}
    yield aten.div.Tensor_mode, (x, x[:1] + 3), {"rounding_mode": "floor"}
    yield aten.div.Tensor_mode, (ints, torch.tensor([-3, 2, 5])), {"rounding_mode": "trunc"}
    yield aten.add.Tensor, (x, x[:1]), {"alpha": 2}
    yield aten.sub.Tensor, (ints, ints[:1]), {"alpha": 3}
    yield aten.pow.Tensor_Scalar, (x, 2), {}
    yield aten.pow.Tensor_Scalar, (x.abs(), 0.5), {}
    yield aten.pow.Tensor_Scalar, (ints, 3), {}
    yield aten.pow.Tensor_Tensor, (x.abs(), x[:1]), {}
    yield aten.pow.Scalar, (2, x), {}
    yield aten.where.self, (x > 0, x, x[:1].double()), {}
    yield aten.where.ScalarOther, (x > 0, x, 0), {}
    yield aten.where.ScalarSelf, (x > 0, 1.5, x), {}
    yield aten.masked_fill.Scalar, (x, x[:1] > 0, 7), {}
    yield aten.lerp.Scalar, (x, x + 1, 0.25), {}
    yield aten.addcmul.default, (x, x[:1], x), {"value": 0.5}


def shapes() -> Iterator[Case]:
    """Making, viewing, joining, choosing."""
    torch.manual_seed(1)
    for x in views(torch.randn(4, 6)):
        i = torch.tensor([2, 0, 3])
        yield aten.flatten.using_ints, (x,), {}
        yield aten.reshape.default, (x, [3, -1]), {}
        yield aten.reshape.default, (x, [2, 2, 6, 1]), {}
        yield aten.permute.default, (x, [1, 0]), {}
        yield aten.diagonal.default, (x, 1), {}
        yield aten.unfold.default, (x, 1, 3, 2), {}
        yield aten.expand.default, (x[:1], [5, 6]), {}
        yield aten.split.Tensor, (x, 4, 1), {}
        yield aten.chunk.default, (x, 3, 1), {}
        yield aten.unbind.int, (x, 1), {}
        yield aten.cat.default, ([x, x[:1].double()],), {}
        yield aten.cat.default, ([x, torch.zeros(0), x], 1), {}
        yield aten.stack.default, ([x, x], 2), {}
        yield aten.repeat.default, (x, [2, 1, 3]), {}
        yield aten.repeat_interleave.self_int, (x, 2, 0), {}
        yield aten.repeat_interleave.self_Tensor, (x, torch.tensor([1, 0, 2, 1]), 0), {}
        yield aten.flip.default, (x, [0, 1]), {}
        yield aten.roll.default, (x, [1, -2], [0, 1]), {}
        yield aten.tril.default, (x, 1), {}
        yield aten.triu.default, (x, -1), {}
        yield aten.pad.default, (x, [1, 2, 0, 1]), {"value": 3.0}
        yield aten.pad.default, (x[None], [1, 2]), {"mode": "reflect"}
        yield aten.constant_pad_nd.default, (x, [-1, 2], 5), {}
        yield aten.index.Tensor, (x, [i]), {}
        yield aten.index.Tensor, (x, [None, i]), {}
        yield aten.index.Tensor, (x, [i, i - 4]), {}
        yield aten.index.Tensor, (x, [x > 0]), {}
        yield aten.index.Tensor, (x[None], [torch.tensor([0]), None, i]), {}
        yield aten.index_put.default, (x, [i], torch.ones(6)), {}
        yield aten.index_put.default, (x, [x > 0], torch.tensor(2.0)), {}
        yield aten.index_put.default, (x, [torch.tensor([1, 1])], torch.ones(2, 6), True), {}
        yield aten.index_select.default, (x, 1, i), {}
        yield aten.index_add.default, (x, 0, i, torch.ones(3, 6)), {"alpha": 2}
        yield aten.index_add.default, (x[:0], 0, i, torch.ones(3, 6)), {}
        yield aten.gather.default, (x, 1, torch.tensor([[0, 5], [1, 2]])), {}
        yield aten.scatter.src, (x, 1, torch.tensor([[0, 5], [1, 2]]), x * 2), {}
        yield aten.scatter.value, (x, 0, torch.tensor([[0, 3]]), 9), {}
        yield aten.scatter_add.default, (x, 0, torch.zeros(4, 6, dtype=torch.long), x), {}
        yield aten.masked_select.default, (x, x[:1] > 0), {}
        yield aten.nonzero.default, (x > 0,), {}
        yield aten.take.default, (x, i), {}
        yield aten.clone.default, (x,), {}
        yield aten.to.dtype, (x, torch.int32), {}
    for empty in (torch.zeros(0, 4), torch.zeros(3, 0), torch.zeros(2, 0, 3)):
        yield aten.flatten.using_ints, (empty,), {}
        yield aten.reshape.default, (empty, [0, 5]), {}
        yield aten.cat.default, ([empty, empty],), {}
        yield aten.nonzero.default, (empty > 0,), {}
        yield aten.index.Tensor, (empty, [empty > 0]), {}
        yield aten.linear.default, (empty, torch.randn(2, empty.shape[-1]), torch.randn(2)), {}
    yield aten.embedding.default, (torch.randn(5, 3), torch.tensor([[4, 0], [1, 1]])), {}
    yield aten.one_hot.default, (torch.tensor([0, 2]), -1), {}
    yield aten.bincount.default, (torch.tensor([0, 2, 2]), None, 5), {}
    yield aten.pixel_shuffle.default, (torch.randn(1, 8, 2, 3), 2), {}
    yield aten.arange.start_step, (1, 10, 3), {}
    yield aten.arange.start_step, (0.0, 1.0, 0.3), {}
    yield aten.arange.start_step, (5, 0, -2), {}
    yield aten.arange.default, (4,), {"dtype": torch.float32}
    yield aten.linspace.default, (-1, 2, 7), {}
    yield aten.full.default, ([2, 3], 1.5), {}
    yield aten.full.default, ([2], 3), {}
    yield aten.eye.default, (3,), {}
    yield aten.zeros.default, ([0, 3],), {"dtype": torch.int64}


def reductions() -> Iterator[Case]:
    """Reductions and orders, empty ones too."""
    torch.manual_seed(2)
    for x in views(torch.randn(4, 6)):
        for t in (x, x.double(), (x * 9).long(), x > 0):
            yield aten.sum.default, (t,), {}
            yield aten.sum.dim_IntList, (t, [0], True), {}
            yield aten.any.default, (t,), {}
            yield aten.any.dim, (t, 1), {}
            yield aten.all.dim, (t, 0), {}
            yield aten.cumsum.default, (t, 1), {}
            yield aten.count_nonzero.default, (t, 1), {}
        for t in (x, (x * 9).long()):
            yield aten.max.default, (t,), {}
            yield aten.max.dim, (t, 1), {}
            yield aten.min.dim, (t, 0, True), {}
            yield aten.amax.default, (t, [0, 1]), {}
            yield aten.argmax.default, (t,), {}
            yield aten.argmin.default, (t, 1), {}
            yield aten.prod.dim_int, (t, 1), {}
            yield aten.sort.default, (t, 1, True), {}
            yield aten.sort.stable, (t,), {"stable": True, "dim": 0}
            yield aten.argsort.default, (t,), {}
        yield aten.mean.default, (x,), {}
        yield aten.mean.dim, (x, [1]), {}
        yield aten.var.correction, (x, [0]), {"correction": 1}
        yield aten.std.dim, (x, [1], False), {}
        yield aten.norm.Scalar, (x,), {}
        yield aten.linalg_vector_norm.default, (x, 1, [0]), {}
        yield aten.linalg_vector_norm.default, (x, float("inf")), {}
        yield aten.logsumexp.default, (x, [1], True), {}
        yield aten.softmax.int, (x, 0), {}
        yield aten.log_softmax.int, (x, 1), {}
        yield aten.cumprod.default, (x, 0), {}
        yield aten.topk.default, (x, 3, 1), {}
        yield aten.topk.default, (x, 2, 0, False), {}
    nan = torch.tensor([3.0, float("nan"), -1.0, 3.0])
    for name in ("max", "min", "argmax", "argmin", "sort", "sum"):
        yield overload(name), (nan,), {}
    yield aten.sum.dim_IntList, (torch.zeros(0, 3), [0]), {}
    yield aten.softmax.int, (torch.zeros(0, 3), 1), {}
    yield aten.max.dim, (torch.zeros(0, 3), 1), {}


def products() -> Iterator[Case]:
    """Matrix products, attention and linear algebra."""
    torch.manual_seed(3)
    sizes = (
        (1, 1, 1),
        (3, 4, 5),
        (1, 64, 33),
        (70, 300, 50),
        (130, 17, 1),
        (2, 0, 3),
        (0, 3, 2),
        (5, 2100, 3),
        (9, 40, 70),
    )
    for m, k, n in sizes:
        for dtype in (torch.float32, torch.float64, torch.int64):
            a, b = torch.randint(-4, 5, (m, k)).to(dtype), torch.randint(-4, 5, (k, n)).to(dtype)
            for left in views(a):
                for right in views(b):
                    yield aten.mm.default, (left, right), {}
            yield aten.addmm.default, (torch.ones(n).to(dtype), a, b), {"beta": 2, "alpha": 3}
    x, y = torch.randn(2, 3, 4), torch.randn(2, 4, 5)
    yield aten.bmm.default, (x, y), {}
    yield aten.baddbmm.default, (torch.randn(3, 5), x, y), {"alpha": 0.5}
    row, matrix = x[0, 0], y[0]
    for left, right in ((x, y), (x, matrix), (x[0], y), (x[0], y[0, :, 0]), (row, matrix), (row, row), (x[:, None], y)):
        yield aten.matmul.default, (left, right), {}
    yield aten.matmul.default, (x, y[0, :, 0]), {}
    yield aten.linear.default, (x, torch.randn(6, 4), torch.randn(6)), {}
    yield aten.linear.default, (x[0, 0], torch.randn(6, 4)), {}
    yield aten.cdist.default, (x, x + 1, 2.0), {}
    # Beyond 25 points by a product, whose rounding shows where they are close.
    points = torch.randn(2, 40, 3)
    yield aten.cdist.default, (points, points[:, :7] + 1e-2, 2.0), {}
    yield aten.cdist.default, (points[0, :, :0], points[0, :3, :0], 2.0), {}
    q = torch.randn(2, 3, 5, 8)
    for extra in ({}, {"is_causal": True}, {"attn_mask": torch.ones(5, 5).tril() > 0}, {"scale": 0.5}):
        yield aten.scaled_dot_product_attention.default, (q, q * 0.5, q + 1), extra
    spd = torch.randn(3, 4, 4)
    spd = spd @ spd.mT + torch.eye(4)
    yield aten.linalg_cholesky.default, (spd,), {}
    yield aten.linalg_inv.default, (spd,), {}
    yield aten.linalg_solve.default, (spd, torch.randn(3, 4, 2)), {}
    yield aten.linalg_solve.default, (spd[0], torch.randn(4)), {}
    yield aten.linalg_solve_triangular.default, (spd.tril(), torch.randn(3, 4, 2)), {"upper": False}
    yield aten.cholesky_solve.default, (torch.randn(3, 4, 2), torch.linalg.cholesky(spd)), {}
    yield aten.linalg_slogdet.default, (-spd,), {}


def layers() -> Iterator[Case]:
    """Convolutions, pooling, normalisation, recurrent cells."""
    torch.manual_seed(4)
    x = torch.randn(2, 4, 7, 6)
    for image in (x, x.to(memory_format=torch.channels_last), x[:, :, ::2]):
        weight, bias = torch.randn(6, 4, 3, 3), torch.randn(6)
        yield aten.conv2d.default, (image, weight, bias, [2, 1], [1, 1]), {}
        yield aten.conv2d.default, (image, torch.randn(8, 2, 3, 2), None, [1], [1, 0], [1, 2], 2), {}
        yield aten.conv2d.default, (image, torch.randn(8, 1, 3, 3), torch.randn(8), [1], [1], [1], 4), {}
        yield aten.conv2d.default, (image, torch.randn(3, 4, 1, 1)), {}
        turned = weight.transpose(0, 1)
        yield aten.convolution.default, (image, turned, None, [2, 2], [1, 1], [1, 1], True, [1, 0], 1), {}
        yield aten.max_pool2d.default, (image, [3, 2], [2], [1, 0], [1], True), {}
        yield aten.avg_pool2d.default, (image, [2], [2], [1], False, False), {}
        yield aten.adaptive_avg_pool2d.default, (image, [2, 3]), {}
        yield aten.adaptive_max_pool2d.default, (image, [2, 3]), {}
        yield aten.upsample_nearest2d.default, (image, [9, 5]), {}
        yield aten.upsample_bilinear2d.default, (image, [9, 5], False), {}
        yield aten.upsample_bilinear2d.default, (image, [9, 5], True), {}
        statistics = (torch.rand(4), torch.rand(4), torch.rand(4), torch.rand(4) + 0.5)
        yield aten.batch_norm.default, (image, *statistics, False, 0.1, 1e-5, True), {}
        yield aten.group_norm.default, (image, 2, torch.rand(4), torch.rand(4)), {}
    line = torch.randn(2, 4, 9)
    yield aten.conv1d.default, (line, torch.randn(5, 4, 3), torch.randn(5), [2], [2], [2]), {}
    yield aten.conv1d.default, (line[0], torch.randn(5, 4, 3)), {}
    yield aten.conv_transpose1d.default, (line, torch.randn(4, 2, 4), None, [2], [1], [1], 2), {}
    yield aten.max_pool1d.default, (line, [2]), {}
    yield aten.avg_pool1d.default, (line, [3], [2], [1]), {}
    yield aten.layer_norm.default, (line, [4, 9], torch.randn(4, 9), torch.randn(4, 9)), {}
    yield aten.layer_norm.default, (line, [9]), {}
    cell = (torch.randn(9, 4), torch.randn(9, 3), torch.randn(9), torch.randn(9))
    yield aten.gru_cell.default, (line[:, :, 0], torch.randn(2, 3), *cell), {}
    cell = (torch.randn(12, 4), torch.randn(12, 3), torch.randn(12), torch.randn(12))
    yield aten.lstm_cell.default, (line[:, :, 0], [torch.randn(2, 3), torch.randn(2, 3)], *cell), {}
    steps = line.permute(2, 0, 1).contiguous()
    for gates, name in ((9, "gru"), (12, "lstm")):
        params = [torch.randn(gates, 4), torch.randn(gates, 3), torch.randn(gates), torch.randn(gates)] * 2
        hidden = torch.randn(2, 2, 3)
        state: Any = hidden if name == "gru" else [hidden, hidden * 2]
        yield getattr(aten, name).input, (steps, state, params, True, 1, 0.0, False, True, False), {}


def written() -> Iterator[Case]:
    """Operators that write into their first operand."""
    torch.manual_seed(5)
    for x in views(torch.randn(4, 6)):
        i = torch.tensor([2, 0])
        yield aten.add_.Tensor, (x.clone(), x[:1]), {"alpha": 2}
        yield aten.mul_.Scalar, (x, 2), {}
        yield aten.div_.Tensor, (x, x[:1] + 9), {}
        yield aten.relu_.default, (x,), {}
        yield aten.clamp_.default, (x, 0, 1), {}
        yield aten.copy_.default, (x, torch.arange(6)), {}
        yield aten.fill_.Scalar, (x, 2.5), {}
        yield aten.zero_.default, (x,), {}
        yield aten.masked_fill_.Scalar, (x, x > 0, 3), {}
        yield aten.index_put_.default, (x, [i, i], torch.tensor([1.0, 2.0])), {}
        yield aten.scatter_.value, (x, 1, torch.tensor([[0, 5]]), 4), {}
        yield aten.index_add_.default, (x, 0, i, torch.ones(2, 6)), {}


GROUPS = {
    "elementwise": elementwise,
    "shapes": shapes,
    "reductions": reductions,
    "products": products,
    "layers": layers,
    "written": written,
}
