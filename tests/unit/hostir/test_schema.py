"""Aliases, writes and randomness as the passes see them, against what operators really do."""

from __future__ import annotations

import pytest
import torch

from ir_builder import Builder, aten, tensor
from torch2cpp.hostir.ops import TensorOp, Value, leaves, map_leaves
from torch2cpp.hostir.schema import aliased_operands, bound_arguments, is_random, written_operands
from torch2cpp.hostir.types import ListType

X = torch.arange(1.0, 10.0).reshape(3, 3)

#: Calls that return an argument's storage, in every way operators do.
ALIASING = [
    (aten.view.default, (X, [9])),
    (aten.reshape.default, (X, [9])),
    (aten.contiguous.default, (X,)),
    (aten.select.int, (X, 0, 1)),
    (aten.expand_as.default, (X, X)),
    (aten.split.Tensor, (X, 2)),
    (aten.unbind.int, (X,)),
    (aten.chunk.default, (X, 2)),
    (aten.tensor_split.sections, (X, 2, 0)),
    (aten.unsafe_chunk.default, (X, 2)),
    (aten.unsafe_split.Tensor, (X, 2)),
    (aten.dropout.default, (X, 0.5, False)),
    (aten.feature_dropout.default, (X, 0.5, False)),
    (aten.alpha_dropout.default, (X, 0.5, False)),
    (aten.einsum.default, ("ij->ji", [X])),
    (aten.type_as.default, (X, X)),
    (aten.atleast_1d.default, (X,)),
    (aten.conj_physical.default, (X,)),
    (aten.sum_to_size.default, (X, [3, 3])),
    (aten.meshgrid.default, ([X[0], X[1]],)),
    (aten.broadcast_tensors.default, ([X, X],)),
    (aten.cartesian_prod.default, ([X[0]],)),
    (aten._cast_Float.default, (X, False)),
    (aten.to.dtype, (X, torch.float32)),
    (aten.to_dense.default, (X,)),
    (aten.detach.default, (X,)),
    (aten.relu_.default, (X,)),
    (aten.squeeze.default, (X,)),
    (aten.numpy_T.default, (X,)),
]
#: Composite calls that keep silent about aliases, rightly.
FRESH = [
    (aten.linear.default, (X, X)),
    (aten.matmul.default, (X, X)),
    (aten.softmax.int, (X, 0)),
    (aten.layer_norm.default, (X, [3])),
    (aten.group_norm.default, (X, 3)),
    (aten.pad.default, (X, [0, 0])),
    (aten.tile.default, (X, [1, 1])),
    (aten.linalg_matrix_power.default, (X, 1)),
    (aten.diff.default, (X, 0)),
    (aten.upsample_nearest2d.vec, (X[None, None], [3, 3], None)),
    (aten.avg_pool1d.default, (X, [1], [1])),
    (aten.max_pool2d.default, (X[None], [1, 1], [1, 1])),
    (aten.adaptive_avg_pool2d.default, (X[None], [3, 3])),
    (aten.hstack.default, ([X],)),
    (aten.concat.default, ([X],)),
    (aten.cat.default, ([X],)),
    (aten.stack.default, ([X],)),
    (aten.clip.default, (X, None, 100.0)),
    (aten.where.self, (X > 0, X, X)),
    (aten.repeat_interleave.self_int, (X, 1, 0)),
    (aten.take_along_dim.default, (X, torch.zeros(3, 3, dtype=torch.long), 0)),
    (aten.pad_sequence.default, ([X], True)),
    (aten.scaled_dot_product_attention.default, (X[None], X[None], X[None])),
    (aten.prelu.default, (X, torch.ones(1))),
    (aten.rrelu.default, (X,)),
    (aten.fliplr.default, (X,)),
    (aten.outer.default, (X[0], X[1])),
    (aten.max.other, (X, X)),
    (aten.kron.default, (X, torch.ones(1, 1))),
]


def as_op(overload, args) -> tuple[TensorOp, dict[Value, torch.Tensor]]:
    b = Builder()
    given: dict[Value, torch.Tensor] = {}

    def value(leaf):
        if not isinstance(leaf, torch.Tensor):
            return leaf
        v = b.value(tensor(*leaf.shape, dtype=leaf.dtype))
        given[v] = leaf
        return v

    count = len(overload._schema.returns)
    results = tuple(b.value(ListType(tensor(None))) for _ in range(count))
    return TensorOp(results, overload, map_leaves(tuple(args), value), {}, b.span()), given


def shared(overload, args) -> bool:
    """Whether a result shares storage with an argument."""
    with torch.no_grad():
        out = overload(*args)
    inputs = {t.untyped_storage().data_ptr() for t in leaves(tuple(args)) if isinstance(t, torch.Tensor)}
    return any(t.untyped_storage().data_ptr() in inputs for t in leaves(out) if isinstance(t, torch.Tensor))


@pytest.mark.parametrize(("overload", "args"), ALIASING, ids=lambda x: str(x) if hasattr(x, "_schema") else "")
def test_aliases_are_known(overload, args):
    assert shared(overload, args)
    op, given = as_op(overload, args)
    aliased = [v for i in range(len(op.results)) for t in aliased_operands(op, i) for v in leaves(t)]
    assert any(v in given for v in aliased if isinstance(v, Value))


@pytest.mark.parametrize(("overload", "args"), FRESH, ids=lambda x: str(x) if hasattr(x, "_schema") else "")
def test_fresh_results_are_known(overload, args):
    assert not shared(overload, args)
    op, _ = as_op(overload, args)
    assert all(aliased_operands(op, i) == [] for i in range(len(op.results)))


def test_writes():
    op, _ = as_op(aten.add_.Tensor, (X, X))
    assert written_operands(op) == [op.args[0]]
    op, _ = as_op(aten.add.Tensor, (X, X))
    assert written_operands(op) == []


@pytest.mark.parametrize("training", [True, False])
def test_batch_norm_writes_its_statistics_in_training(training):
    mean, var = torch.zeros(3), torch.ones(3)
    args = (X, None, None, mean, var, training, 0.1, 1e-5, False)
    before = mean.clone()
    aten.batch_norm.default(*args)
    assert torch.equal(mean, before) is not training
    op, _ = as_op(aten.batch_norm.default, args)
    assert written_operands(op) == ([op.args[3], op.args[4]] if training else [])


def test_randomness():
    assert is_random(as_op(aten.rand_like.default, (X,))[0])
    assert is_random(as_op(aten.dropout.default, (X, 0.5, True))[0])
    assert not is_random(as_op(aten.dropout.default, (X, 0.5, False))[0])
    assert not is_random(as_op(aten.scaled_dot_product_attention.default, (X, X, X))[0])
    assert is_random(as_op(aten.scaled_dot_product_attention.default, (X, X, X, None, 0.1))[0])
    assert not is_random(as_op(aten.relu.default, (X,))[0])


def test_operands_the_schema_has_no_parameter_for():
    op, _ = as_op(aten.relu.default, (X, X))
    with pytest.raises(ValueError, match="takes 1 positional"):
        bound_arguments(op)
    op.args, op.kwargs = op.args[:1], {"nope": 1}
    with pytest.raises(ValueError, match="no further parameter nope"):
        bound_arguments(op)
