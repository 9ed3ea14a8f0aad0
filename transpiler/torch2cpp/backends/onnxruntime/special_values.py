"""Where ONNX Runtime makes of NaN and the infinities what PyTorch does.

Its maxima over many elements, its pools and its sign pass NaN over, its GELU (also one made of `erf`, which it fuses)
has other infinities: found by comparing the operators with eager's one by one, alone and fused, in
tests/unit/backends/test_onnx_special_values.py. A program that asks for NaN would go
another way, so inputs of such graphs are looked through before each run. Most graphs have no such operator.
"""

from __future__ import annotations

from collections.abc import Sequence

import onnx

#: Operators whose results hold NaN and infinities where eager's do, for NaN and infinities in any operand.
EXACT = frozenset({
    "Abs", "Add", "And", "AveragePool", "BatchNormalization", "Clip", "Concat", "Conv", "Cos", "Div", "Elu", "Equal",
    "Exp", "Expand", "Flatten", "Floor", "Gather", "GatherElements", "Gemm", "GlobalAveragePool",
    "Greater", "GreaterOrEqual", "HardSigmoid", "HardSwish", "Identity", "LayerNormalization", "LeakyRelu", "Less",
    "LessOrEqual", "Log", "LogSoftmax", "MatMul", "Max", "Min", "Mul", "Neg", "Not", "Or", "Pad", "Pow",
    "Reciprocal", "ReduceMean", "ReduceSum", "Relu", "Reshape", "Shape", "Sigmoid", "Sin", "Slice",
    "Softmax", "Softplus", "Split", "Sqrt", "Squeeze", "Sub", "Tanh", "Transpose", "Unsqueeze", "Where",
})  # fmt: skip


def inputs_to_check(graph: bytes, inputs: Sequence[str]) -> list[bool]:
    """Which inputs of a serialized graph reach an operator that is not known to be exact."""
    model = onnx.load_from_string(graph)
    # Value -> the inputs it is computed from.
    origins = {name: frozenset({i}) for i, name in enumerate(inputs)}
    found: set[int] = set()
    for node in model.graph.node:
        reached = frozenset[int]().union(*(origins.get(name, frozenset()) for name in node.input))
        if node.domain or node.op_type not in EXACT:
            # A subgraph may use any value around it.
            inside = any(a.type in (onnx.AttributeProto.GRAPH, onnx.AttributeProto.GRAPHS) for a in node.attribute)
            found |= frozenset(range(len(inputs))) if inside else reached
        for name in node.output:
            origins[name] = reached
    return [i in found for i in range(len(inputs))]
