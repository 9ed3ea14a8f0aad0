"""Which tensor operations are known not to fail: against what ATen does on small and empty sizes."""

from __future__ import annotations

import itertools

import pytest
import torch

from ir_builder import Builder, aten, tensor
from torch2cpp.hostir.ops import TensorOp, Value
from torch2cpp.passes.raising import Raising

VARYING = ((None, 3, 4, 4), (None, 3, 4, 4))


def op(overload: torch._ops.OpOverload, args: list[object], dims: tuple[int | None, ...]) -> tuple[TensorOp, Raising]:
    b = Builder()
    made = TensorOp((b.value(tensor(*dims), "y"),), overload, tuple(args), {}, b.span())
    return made, Raising(dict.fromkeys(made.results, made))


def x(*dims: int | None) -> Value:
    return Builder().param("x", tensor(*dims))


@pytest.mark.parametrize(
    ("overload", "rest"),
    [
        (aten.relu.default, ()),
        (aten.avg_pool2d.default, ([2, 2],)),
        (aten.max_pool2d.default, ([2, 2],)),
        (aten.sum.default, ()),
        (aten.mean.dim, ([1],)),
        (aten.softmax.int, (0,)),
        (aten.mul.Scalar, (2,)),
        (aten.flatten.using_ints, (1,)),
        (aten.unsqueeze.default, (0,)),
        (aten.contiguous.default, ()),
        (aten.slice.Tensor, (0, 2, 4)),
        (aten.select.int, (1, -1)),
    ],
)
def test_what_is_sure_works_on_any_batch(overload: torch._ops.OpOverload, rest: tuple[object, ...]) -> None:
    made, raising = op(overload, [x(None, 3, 4, 4), *rest], (None,))
    assert not raising.may_raise(made)
    for batch in (0, 1, 5):
        overload(torch.zeros(batch, 3, 4, 4), *rest)


@pytest.mark.parametrize(
    ("overload", "args"),
    [
        (aten.max.default, [x(None, 3)]),
        (aten.max.default, [x(0, 3)]),
        (aten.relu.default, [Builder().param("x", tensor(2, dtype=torch.bool))]),
        (aten.mean.default, [Builder().param("x", tensor(2, dtype=torch.int64))]),
        (aten.linear.default, [x(2, 4), Builder().param("w", tensor(3, 4, dtype=torch.float64))]),
        (aten.view.default, [x(2, 3), [6]]),
        (aten.add.Tensor, [x(None, 3), x(None, 3)]),
        (aten.add.Tensor, [x(None, 3), x(2, 3)]),
        (aten.embedding.default, [x(4, 3), x(2)]),
        (aten.relu_.default, [x(2, 3)]),
        (aten.avg_pool2d.default, [x(None, 4, 4), [2, 2]]),
        (aten.full.default, [[2], 1e300]),
        (aten.linear.default, [x(2, None), x(3, 4)]),
        (aten.select.int, [x(None, 3), 0, 0]),
        (aten.rand.default, [[2]]),
        (aten.linalg_cholesky.default, [x(2, 2)]),
    ],
)
def test_what_is_not_sure(overload: torch._ops.OpOverload, args: list[object]) -> None:
    made, raising = op(overload, args, (2,))
    assert raising.may_raise(made)


def test_a_dimension_is_followed_through_what_keeps_it() -> None:
    b = Builder()
    start = b.param("x", tensor(None, 3, 8, 8))
    half = TensorOp((b.value(tensor(None, 3, 4, 4), "h"),), aten.avg_pool2d.default, (start, [2, 2]), {}, b.span())
    zero = TensorOp((b.value(tensor(None, 3, 4, 4), "z"),), aten.mul.Scalar, (half.results[0], 0), {}, b.span())
    both = TensorOp((b.value(tensor(None, 6, 4, 4), "c"),), aten.cat.default, ([*half.results, *zero.results], 1), {},
                    b.span())  # fmt: skip
    added = TensorOp((b.value(tensor(None, 3, 4, 4), "a"),), aten.add.Tensor, (*half.results, *zero.results), {},
                     b.span())  # fmt: skip
    raising = Raising.of([half, zero, both, added])
    assert not any(raising.may_raise(each) for each in (half, zero, both, added))


def test_broadcasting_is_judged_as_aten_does() -> None:
    for a, b in itertools.product([(), (1,), (3,), (2, 3), (1, 3), (2, 1)], repeat=2):
        made, raising = op(aten.mul.Tensor, [x(*a), x(*b)], (3,))
        try:
            torch.zeros(a) * torch.zeros(b)
            works = True
        except RuntimeError:
            works = False
        assert raising.may_raise(made) == (not works)
