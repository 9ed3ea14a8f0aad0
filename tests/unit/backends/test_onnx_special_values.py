"""ONNX Runtime's operators on NaN and infinities, one by one and as it fuses them, against eager."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest
import torch
import torch.nn.functional as F
from onnx import TensorProto, helper
from torch import Tensor

from torch2cpp.backends.onnxruntime.special_values import EXACT, inputs_to_check

SPECIAL = (float("nan"), float("inf"), -float("inf"))
#: Below, at and above the lengths of vectors, and with a rest.
SHAPES = ((1,), (3,), (17,), (64,), (67,), (2, 9, 5, 7))
#: Images, kernels, groups: what dedicated kernels take and what they do not.
CONVOLUTIONS = (
    (3, 16, 1, 3),
    (16, 16, 1, 3),
    (16, 16, 16, 3),
    (16, 32, 1, 1),
    (32, 32, 4, 3),
    (3, 8, 1, 7),
    (5, 7, 1, 3),
)

Nodes = list[onnx.NodeProto]
Compute = Callable[..., Tensor]


def session(nodes: Nodes, inputs: list[Tensor], constants: dict[str, Tensor]) -> Callable[[list[Tensor]], Tensor]:
    """What a graph of `x0`, `x1`, ... computes for `y`."""
    model = onnx_model(nodes, inputs, constants)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.log_severity_level = 3
    made = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    return lambda xs: torch.from_numpy(np.array(made.run(None, {f"x{i}": x.numpy() for i, x in enumerate(xs)})[0]))


def onnx_model(nodes: Nodes, inputs: list[Tensor], constants: dict[str, Tensor]) -> bytes:
    def declared(name: str, x: Tensor) -> Any:
        return helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(x.numpy().dtype), list(x.shape))

    graph = helper.make_graph(
        nodes,
        "graph",
        [declared(f"x{i}", x) for i, x in enumerate(inputs)],
        [helper.make_empty_tensor_value_info("y")],
        [onnx.numpy_helper.from_array(value.numpy(), name) for name, value in constants.items()],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)])
    model.ir_version = 9
    data: bytes = model.SerializeToString()
    return data


def compare(nodes: Nodes, eager: Compute, inputs: list[Tensor], constants: dict[str, Tensor] | None = None) -> None:
    """For NaN and infinities at some elements of each input, and at all of them."""
    run = session(nodes, inputs, constants or {})
    for k, x in enumerate(inputs):
        if not x.is_floating_point():
            continue
        places = {0, x.numel() - 1, *np.random.RandomState(0).randint(0, x.numel(), 8).tolist()}
        for special in SPECIAL:
            for place in (slice(None), *sorted(places)):
                changed = x.clone()
                changed.view(-1)[place] = special
                given = [changed if i == k else each for i, each in enumerate(inputs)]
                want = eager(*given)
                got = run(given)
                message = f"{[n.op_type for n in nodes]} with {special} at {place} of input {k} {tuple(x.shape)}"
                assert got.dtype == want.dtype, message
                torch.testing.assert_close(
                    got.reshape(want.shape),
                    want,
                    rtol=1e-4,
                    atol=1e-5,
                    equal_nan=True,
                    msg=lambda text, message=message: f"{message}\n{text}",  # type: ignore[misc]
                )


def node(kind: str, *names: str, **attributes: Any) -> onnx.NodeProto:
    """The last name is the result's."""
    return helper.make_node(kind, names[:-1], [names[-1]], **attributes)


def random(*shape: int) -> Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(sum(shape)))


UNARY: dict[str, tuple[Compute, dict[str, Any]]] = {
    "Abs": (torch.abs, {}),
    "Cos": (torch.cos, {}),
    "Elu": (F.elu, {}),
    "Exp": (torch.exp, {}),
    "Flatten": (lambda x: x, {"axis": 0}),
    "Floor": (torch.floor, {}),
    "HardSigmoid": (F.hardsigmoid, {"alpha": 1 / 6}),
    "HardSwish": (F.hardswish, {}),
    "Identity": (lambda x: x, {}),
    "LeakyRelu": (F.leaky_relu, {}),
    "Log": (torch.log, {}),
    "LogSoftmax": (lambda x: F.log_softmax(x, -1), {"axis": -1}),
    "Neg": (torch.neg, {}),
    "Reciprocal": (torch.reciprocal, {}),
    "ReduceMean": (torch.mean, {"keepdims": 0}),
    "ReduceSum": (torch.sum, {"keepdims": 0}),
    "Relu": (F.relu, {}),
    "Sigmoid": (torch.sigmoid, {}),
    "Sin": (torch.sin, {}),
    "Softmax": (lambda x: F.softmax(x, -1), {"axis": -1}),
    "Softplus": (F.softplus, {}),
    "Sqrt": (torch.sqrt, {}),
    "Tanh": (torch.tanh, {}),
}
BINARY: dict[str, Compute] = {
    "Add": torch.add,
    "Div": torch.div,
    "Equal": torch.eq,
    "Greater": torch.gt,
    "GreaterOrEqual": torch.ge,
    "Less": torch.lt,
    "LessOrEqual": torch.le,
    "Max": torch.maximum,
    "Min": torch.minimum,
    "Mul": torch.mul,
    "Pow": torch.pow,
    "Sub": torch.sub,
}


@pytest.mark.parametrize("kind", UNARY)
def test_of_one_operand(kind: str) -> None:
    eager, attributes = UNARY[kind]
    for shape in SHAPES:
        compare([node(kind, "x0", "y", **attributes)], eager, [random(*shape)])


@pytest.mark.parametrize("kind", BINARY)
def test_of_two_operands(kind: str) -> None:
    for shape in SHAPES:
        compare([node(kind, "x0", "x1", "y")], BINARY[kind], [random(*shape), random(*shape).flip(0)])
        compare([node(kind, "x0", "x1", "y")], BINARY[kind], [random(*shape), random(1)[0]])


@pytest.mark.parametrize("kind", ["Max", "Min", "Clip"])
def test_bounds_that_are_constants(kind: str) -> None:
    constants = {"low": torch.tensor(-0.5), "high": torch.tensor(0.5)}
    names, eager = {
        "Max": (("x0", "low", "y"), lambda x: torch.clamp(x, min=-0.5)),
        "Min": (("x0", "high", "y"), lambda x: torch.clamp(x, max=0.5)),
        "Clip": (("x0", "low", "high", "y"), lambda x: torch.clamp(x, -0.5, 0.5)),
    }[kind]
    for shape in SHAPES:
        compare([node(kind, *names)], eager, [random(*shape)], constants)


MOVES: dict[str, tuple[Nodes, dict[str, Tensor], Compute]] = {
    "Concat": ([node("Concat", "x0", "x0", "y", axis=1)], {}, lambda x: torch.cat([x, x], 1)),
    "Expand": ([node("Expand", "x0", "to", "y")], {"to": torch.tensor([2, 4, 6])}, lambda x: x.expand(2, 4, 6)),
    "Gather": ([node("Gather", "x0", "at", "y", axis=1)], {"at": torch.tensor([3, 0])}, lambda x: x[:, [3, 0]]),
    "GatherElements": (
        [node("GatherElements", "x0", "at", "y", axis=1)],
        {"at": torch.tensor([[3, 0], [1, 1], [2, 0], [0, 3]])},
        lambda x: x.gather(1, torch.tensor([[3, 0], [1, 1], [2, 0], [0, 3]])),
    ),
    "Pad": ([node("Pad", "x0", "by", "y")], {"by": torch.tensor([0, 1, 0, 2])}, lambda x: F.pad(x, (1, 2))),
    "Reshape": ([node("Reshape", "x0", "to", "y")], {"to": torch.tensor([3, 8])}, lambda x: x.reshape(3, 8)),
    "Shape": ([node("Shape", "x0", "y")], {}, lambda x: torch.tensor(x.shape)),
    "Slice": (
        [node("Slice", "x0", "from", "to", "y")],
        {"from": torch.tensor([1, 2]), "to": torch.tensor([3, 5])},
        lambda x: x[1:3, 2:5],
    ),
    "Split": ([helper.make_node("Split", ["x0"], ["y", "rest"], axis=1, num_outputs=2)], {}, lambda x: x[:, :3]),
    "Transpose": ([node("Transpose", "x0", "y")], {}, lambda x: x.T),
    "Unsqueeze": ([node("Unsqueeze", "x0", "at", "y")], {"at": torch.tensor([1])}, lambda x: x.unsqueeze(1)),
    "Where": (
        [node("Where", "mask", "x0", "other", "y")],
        {"mask": random(4, 6) > 0, "other": torch.zeros(4, 6)},
        lambda x: torch.where(random(4, 6) > 0, x, torch.zeros(4, 6)),
    ),
    "Squeeze": (
        [node("Unsqueeze", "x0", "at", "more"), node("Squeeze", "more", "at", "y")],
        {"at": torch.tensor([1])},
        lambda x: x,
    ),
}


@pytest.mark.parametrize("kind", MOVES)
def test_moves(kind: str) -> None:
    nodes, constants, eager = MOVES[kind]
    compare(nodes, eager, [random(4, 6)], constants)


@pytest.mark.parametrize("kind", ["And", "Or", "Not"])
def test_logic_of_comparisons(kind: str) -> None:
    nodes = [node("Greater", "x0", "x1", "more"), node("Less", "x0", "x1", "less")]
    nodes.append(node(kind, "more", "y") if kind == "Not" else node(kind, "more", "less", "y"))
    eager = {
        "And": lambda a, b: (a > b) & (a < b),
        "Or": lambda a, b: (a > b) | (a < b),
        "Not": lambda a, b: ~(a > b),
    }[kind]
    for shape in SHAPES:
        compare(nodes, eager, [random(*shape), random(*shape).flip(0)])


@pytest.mark.parametrize("after", ["", "Relu", "Sigmoid", "Tanh"])
@pytest.mark.parametrize("sizes", [(1, 6, 5), (6, 4, 1), (17, 33, 16), (3, 64, 64), (1, 128, 10)])
def test_products(sizes: tuple[int, int, int], after: str) -> None:
    rows, inner, columns = sizes
    eager = UNARY[after][0] if after else lambda x: x
    tail = [node(after, "h", "y")] if after else []
    result = "h" if after else "y"
    weight, bias = random(inner, columns), random(columns)
    constants = {"w": weight, "b": bias}
    gemm = [node("Gemm", "x0", "w", "b", result), *tail]
    compare(gemm, lambda x: eager(x @ weight + bias), [random(rows, inner)], constants)
    product = [node("MatMul", "x0", "w", "p"), node("Add", "p", "b", result), *tail]
    compare(product, lambda x: eager(x @ weight + bias), [random(2, rows, inner)], constants)
    both = [node("MatMul", "x0", "x1", result), *tail]
    compare(both, lambda a, b: eager(a @ b), [random(2, rows, inner), random(2, inner, columns)])


@pytest.mark.parametrize(
    "after", ["", "Relu", "Sigmoid", "Tanh", "HardSigmoid", "Clip", "AveragePool", "GlobalAveragePool"]
)
@pytest.mark.parametrize("sizes", CONVOLUTIONS)
def test_convolutions(sizes: tuple[int, int, int, int], after: str) -> None:
    channels, filters, groups, kernel = sizes
    image, bias = random(1, channels, 9, 9), random(filters)
    weight = random(filters, channels // groups, kernel, kernel) / 4
    constants = {"w": weight, "b": bias, "low": torch.tensor(-0.5), "high": torch.tensor(0.5)}
    tail, act = {
        "": ([node("Identity", "h", "y")], lambda x: x),
        "Clip": ([node("Clip", "h", "low", "high", "y")], lambda x: x.clamp(-0.5, 0.5)),
        "AveragePool": (
            [node("AveragePool", "h", "y", kernel_shape=[2, 2], strides=[2, 2])],
            lambda x: F.avg_pool2d(x, 2),
        ),
        "GlobalAveragePool": ([node("GlobalAveragePool", "h", "y")], lambda x: x.mean((2, 3), keepdim=True)),
    }.get(after) or ([node(after, "h", "y", **UNARY[after][1])], UNARY[after][0])
    shape = {"pads": [kernel // 2] * 4, "group": groups, "kernel_shape": [kernel, kernel]}

    def eager(x: Tensor) -> Tensor:
        return F.conv2d(x, weight, bias, padding=kernel // 2, groups=groups)

    compare([node("Conv", "x0", "w", "b", "h", **shape), *tail], lambda x: act(eager(x)), [image], constants)
    mean, var = random(filters), random(filters).abs() + 0.1
    norm = [node("BatchNormalization", "c", "b", "b", "m", "v", "h", epsilon=1e-5)]
    compare(
        [node("Conv", "x0", "w", "b", "c", **shape), *norm, *tail],
        lambda x: act(F.batch_norm(eager(x), mean, var, bias, bias)),
        [image],
        constants | {"m": mean, "v": var},
    )
    if channels == filters:
        residual = [node("Conv", "x0", "w", "b", "c", **shape), node("Add", "c", "x0", "h"), *tail]
        compare(residual, lambda x: act(eager(x) + x), [image], constants)


@pytest.mark.parametrize("shape", [(2, 16), (3, 67)])
def test_layer_norm(shape: tuple[int, int]) -> None:
    weight, bias = random(shape[1]), random(shape[1]).flip(0)
    layer = node("LayerNormalization", "h", "w", "b", "y", axis=-1, epsilon=1e-5)
    constants = {"w": weight, "b": bias}

    def eager(x: Tensor) -> Tensor:
        return F.layer_norm(x, shape[1:], weight, bias)

    compare([node("Identity", "x0", "h"), layer], eager, [random(*shape)], constants)
    after_sum = [node("Add", "x0", "x1", "h"), layer]
    compare(after_sum, lambda a, b: eager(a + b), [random(*shape), random(*shape)], constants)


def test_batch_norm() -> None:
    scale, var = random(5), random(5).abs() + 0.1
    compare(
        [node("BatchNormalization", "x0", "s", "s", "s", "v", "y", epsilon=1e-5)],
        lambda x: F.batch_norm(x, scale, var, scale, scale),
        [random(2, 5, 4, 3)],
        {"s": scale, "v": var},
    )


def test_fused_activations() -> None:
    """ONNX Runtime knows these by their parts."""
    constants = {"half": torch.tensor(0.5), "one": torch.tensor(1.0), "three": torch.tensor(3.0)}
    constants |= {"cubic": torch.tensor(0.044715), "root": torch.tensor(0.7978846), "quick": torch.tensor(1.702)}
    fast = [
        node("Pow", "x0", "three", "x3"),
        node("Mul", "cubic", "x3", "c"),
        node("Add", "x0", "c", "s"),
        node("Mul", "root", "s", "r"),
        node("Tanh", "r", "t"),
        node("Add", "one", "t", "u"),
        node("Mul", "half", "x0", "h"),
        node("Mul", "h", "u", "y"),
    ]
    silu = [node("Sigmoid", "x0", "s"), node("Mul", "x0", "s", "y")]
    quick = [node("Mul", "x0", "quick", "q"), node("Sigmoid", "q", "s"), node("Mul", "x0", "s", "y")]

    def by_parts(x: Tensor) -> Tensor:
        return 0.5 * x * (1 + torch.tanh(0.7978846 * (x + 0.044715 * x**3)))

    for shape in SHAPES:
        x = random(*shape)
        compare(silu, lambda x: x * torch.sigmoid(x), [x], constants)
        compare(quick, lambda x: x * torch.sigmoid(1.702 * x), [x], constants)
        compare(fast, by_parts, [x], constants)


def test_attention() -> None:
    nodes = [
        node("MatMul", "x0", "x1", "scores"),
        node("Mul", "scores", "scale", "scaled"),
        node("Add", "scaled", "x2", "masked"),
        node("Softmax", "masked", "weights", axis=-1),
        node("MatMul", "weights", "x3", "y"),
    ]
    inputs = [random(1, 2, 5, 8), random(1, 2, 8, 6), random(1, 1, 5, 6), random(1, 2, 6, 8)]
    compare(
        nodes,
        lambda q, k, mask, v: torch.softmax(q @ k * 0.25 + mask, -1) @ v,
        inputs,
        {"scale": torch.tensor(0.25)},
    )


def test_norm_by_parts() -> None:
    constants = {"eps": torch.tensor(1e-5), "two": torch.tensor(2.0), "w": random(67), "b": random(67).flip(0)}
    mean = {"axes": torch.tensor([-1])}
    nodes = [
        node("ReduceMean", "x0", "axes", "mean", keepdims=1),
        node("Sub", "x0", "mean", "d"),
        node("Pow", "d", "two", "d2"),
        node("ReduceMean", "d2", "axes", "var", keepdims=1),
        node("Add", "var", "eps", "v"),
        node("Sqrt", "v", "std"),
        node("Div", "d", "std", "n"),
        node("Mul", "n", "w", "nw"),
        node("Add", "nw", "b", "y"),
    ]
    compare(
        nodes,
        lambda x: F.layer_norm(x, (67,), constants["w"], constants["b"]),
        [random(3, 67)],
        constants | mean,
    )


def test_every_exact_operator_has_been_compared() -> None:
    elsewhere = {"And", "AveragePool", "BatchNormalization", "Clip", "Conv", "Gemm", "GlobalAveragePool",
                 "LayerNormalization", "MatMul", "Not", "Or"}  # fmt: skip
    assert {*UNARY, *BINARY, *MOVES, *elsewhere} == EXACT


@pytest.mark.parametrize("kind", ["ReduceMax", "MaxPool", "Sign", "Gelu"])
def test_others_are_not_eagers(kind: str) -> None:
    """Were they, inputs would be looked through in vain."""
    eager, attributes = {
        "ReduceMax": (torch.amax, {"keepdims": 0}),
        "MaxPool": (lambda x: F.max_pool2d(x, 2), {"kernel_shape": [2, 2], "strides": [2, 2]}),
        "Sign": (torch.sign, {}),
        "Gelu": (F.gelu, {}),
    }[kind]
    with pytest.raises(AssertionError):
        compare([node(kind, "x0", "y", **attributes)], eager, [random(2, 9, 5, 7)])


def test_inputs_on_the_way_to_such_operators_are_found() -> None:
    image, row = random(1, 2, 4, 4), random(1, 4)
    nodes = [
        node("Relu", "x0", "a"),
        node("MaxPool", "a", "p", kernel_shape=[2, 2]),
        node("Softmax", "x1", "s"),
        node("Add", "p", "s", "y"),
    ]
    assert inputs_to_check(onnx_model(nodes, [image, row], {}), ["x0", "x1"]) == [True, False]
    assert inputs_to_check(onnx_model(nodes[2:3], [image, row], {}), ["x0", "x1"]) == [False, False]


def test_subgraphs_may_use_everything() -> None:
    yes = helper.make_graph([node("MaxPool", "x0", "t", kernel_shape=[2, 2])], "yes", [],
                            [helper.make_tensor_value_info("t", TensorProto.FLOAT, None)])  # fmt: skip
    no = helper.make_graph([node("Identity", "x0", "f")], "no", [],
                           [helper.make_tensor_value_info("f", TensorProto.FLOAT, None)])  # fmt: skip
    nodes = [helper.make_node("If", ["which"], ["y"], then_branch=yes, else_branch=no)]
    data = onnx_model(nodes, [random(1, 2, 4, 4)], {"which": torch.tensor(True)})
    assert inputs_to_check(data, ["x0"]) == [True]
