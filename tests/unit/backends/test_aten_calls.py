"""Operators as C++ text: readable where that is unambiguous, exact where it is not."""

from __future__ import annotations

import re
from typing import Any

import pytest
import torch
from torch import nn

from region_from_export import region_of
from torch2cpp.backends.aten.calls import call
from torch2cpp.backends.aten.expressions import Unspellable, float_literal, int_literal
from torch2cpp.backends.aten.write_region import write_region
from torch2cpp.hostir.ops import TensorOp, Value
from torch2cpp.hostir.types import FLOAT, INT, ListType, TensorType
from torch2cpp.regions.share import share
from torch2cpp.spans import NOWHERE

aten = torch.ops.aten
TENSOR = TensorType(torch.float32, (None, None))
X, Y = Value(1, TENSOR, "x", NOWHERE), Value(2, TENSOR, "y", NOWHERE)
N, F = Value(3, INT, "n", NOWHERE), Value(4, FLOAT, "f", NOWHERE)
PARTS = Value(5, ListType(TENSOR), "parts", NOWHERE)
INF = float("inf")


@pytest.mark.parametrize(
    ("overload", "args", "kwargs", "text"),
    [
        (aten.add.Tensor, (X, Y), {}, "at::add(x, y)"),
        (aten.add.Tensor, (X, 2), {}, "at::add(x, number(2))"),
        (aten.add.Tensor, (X, F), {"alpha": 3}, "at::add(x, number(f), 3)"),
        (aten.gt.Scalar, (X, 0.5), {}, "at::gt(x, 0.5)"),
        (aten.max.dim, (X, -1), {}, "at::max(x, -1)"),
        (aten.max.other, (X, Y), {}, "at::max(x, y)"),
        (aten.sum.dim_IntList, (X, [1]), {}, "at::sum(x, Ints({1}))"),
        (aten.squeeze.dim, (X, -1), {}, "at::squeeze(x, -1)"),
        (aten.squeeze.dims, (X, [0, 1]), {}, "at::squeeze(x, Ints({0, 1}))"),
        (aten.sum.dim_IntList, (X, None), {}, "at::sum(x, std::nullopt, false)"),
        (aten.view.default, (X, [N, 2, -1]), {}, "x.view(Ints({n, 2, -1}))"),
        (aten.cat.default, ([X, Y], 1), {}, "at::cat({x, y}, 1)"),
        (aten.cat.default, (PARTS,), {}, "at::cat(parts)"),
        (aten.index.Tensor, (X, [None, Y]), {}, "at::index(x, OptionalTensors({std::nullopt, y}))"),
        (aten.linear.default, (X, Y, None), {}, "at::linear(x, y)"),
        (aten.arange.default, (N,), {}, "at::arange(n)"),
        (aten.arange.start, (0, N), {"dtype": torch.int32}, "at::arange(0, n, at::kInt)"),
        (aten.zeros.default, ([N, 3],), {"dtype": torch.bool}, "at::zeros(Ints({n, 3}), at::kBool)"),
        (aten.zeros_like.default, (X,), {}, "at::zeros_like(x)"),
        (aten.to.dtype, (X, torch.float64), {}, "x.to(at::kDouble)"),
        (aten.clamp.default, (X, None, 1.0), {}, "at::clamp(x, std::nullopt, 1.0)"),
        (aten.masked_fill.Scalar, (X, Y, -INF), {}, "at::masked_fill(x, y, -std::numeric_limits<double>::infinity())"),
        (aten.max_pool2d.default, (X, [2]), {}, "at::max_pool2d(x, Ints({2}))"),
        (aten.copy_.default, (X, Y), {}, "x.copy_(y)"),
        (aten.einsum.default, ("ij,jk->ik", [X, Y]), {}, 'at::einsum("ij,jk->ik", {x, y})'),
        (aten.div.Tensor_mode, (X, Y), {"rounding_mode": "floor"}, 'at::div(x, y, "floor")'),
        (aten.add.out, (X, Y), {"out": X}, "at::_ops::add_out::call(x, y, 1, writable(x))"),
        # The other std with a dimension takes an optional number here, which is further from a bool.
        (aten.std.dim, (X, [1]), {}, "at::std(x, Ints({1}), true)"),
    ],
)
def test_calls(overload: Any, args: tuple[Any, ...], kwargs: dict[str, Any], text: str) -> None:
    assert call(TensorOp((), overload, args, kwargs, NOWHERE), lambda v: v.name).text == text


@pytest.mark.parametrize(
    ("overload", "args", "kwargs", "reason"),
    [
        (aten.zeros.default, ([2],), {"device": torch.device("cuda")}, "device cuda"),
        (aten.zeros.default, ([2],), {"layout": torch.sparse_coo}, "layout"),
        (torch.ops.prims.sin.default, (X,), {}, "is not an ATen operator"),
        (aten.add.Scalar, (X, 2**70), {}, "does not fit in 64 bits"),
    ],
)
def test_refusals_say_why(overload: Any, args: tuple[Any, ...], kwargs: dict[str, Any], reason: str) -> None:
    with pytest.raises(Unspellable, match=reason):
        call(TensorOp((), overload, args, kwargs, NOWHERE), lambda v: v.name)


@pytest.mark.parametrize("value", [0.1, -2.0, 1e-300, 3.4028234663852886e38, 5e-324, 1e22])
def test_floats_keep_every_bit(value: float) -> None:
    assert float(float_literal(value)) == value


def test_ints_at_the_ends() -> None:
    assert int_literal(2**63 - 1) == "int64_t{9223372036854775807}"
    assert int_literal(-(2**31)) == "int64_t{-2147483648}"


def test_a_region_reads_like_its_source() -> None:
    class Gate(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.fc = nn.Linear(4, 3)

        def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
            best, index = torch.relu_(self.fc(x)).view(x.shape[0], -1).max(-1)
            return best, index

    region, _ = region_of(Gate(), (torch.randn(2, 4),), [[0]], name="gate")
    _, text = write_region(share([region]).distinct[0], "demo")
    assert "const at::Tensor linear = at::linear(x, fc_weight, fc_bias);" in text
    assert "const at::Tensor relu_ = linear.relu_();" in text
    assert re.search(r"const int64_t \w+ = x.size\(0\);", text)
    assert "auto [max_1_0, max_1_1] = at::max(view, -1);" in text
    assert "return {own(max_1_0), own(max_1_1)};" in text
    assert "#include <ATen/ops/linear.h>" in text
