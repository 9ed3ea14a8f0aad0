"""Region -> torch.fx.GraphModule."""

from __future__ import annotations

import operator
from collections.abc import Callable, Collection, Mapping
from typing import Any

import torch
from torch import fx

from torch2cpp.hostir.ops import HostOp, TensorOp, Value, WeightRef, map_leaves
from torch2cpp.hostir.program import Region

#: Host operations that a graph can hold, as the functions symbolic integers understand.
GRAPH_OPS: Mapping[str, Callable[..., Any]] = {
    "add": operator.add,
    "sub": operator.sub,
    "mul": operator.mul,
    "truediv": operator.truediv,
    "floordiv": operator.floordiv,
    "mod": operator.mod,
    "neg": operator.neg,
    "min": torch.sym_min,
    "max": torch.sym_max,
    "tensor.size": torch.ops.aten.sym_size.int,
    "tensor.numel": torch.ops.aten.sym_numel.default,
    "tuple.get": operator.getitem,
    "list.get": operator.getitem,
}


def slot_names(region: Region) -> dict[str, str]:
    """Weight name -> name of its buffer in the graph: `w0`, `w1`, ... in slot order."""
    return {weight.name: f"w{i}" for i, weight in enumerate(region.weights())}


def as_graph(
    region: Region,
    weights: Mapping[str, torch.Tensor],
    lifted: bool = False,
    functions: Mapping[Any, Callable[..., Any]] | None = None,
    contiguous: Collection[int] = (),
) -> fx.GraphModule:
    """The region as a graph module: parameters become placeholders, weights become buffers `w0`, `w1`, ...

    With `lifted` the weights are placeholders too, after the parameters. `functions` stand for operators. It returns a
    tuple with one item per result; those of `contiguous` are made so. Raises KeyError for a host operation that a graph
    cannot hold; the message is its name.
    """
    slots = slot_names(region)
    root = torch.nn.Module()
    for name, slot in slots.items():
        if not lifted:
            root.register_buffer(slot, weights[name])
    graph = fx.Graph()
    env: dict[Value, fx.Node] = {p: graph.placeholder(f"p{i}") for i, p in enumerate(region.params)}
    buffers = {name: graph.placeholder(slot) if lifted else graph.get_attr(slot) for name, slot in slots.items()}

    def leaf(x: Any) -> Any:
        if isinstance(x, Value):
            return env[x]
        return buffers[x.name] if isinstance(x, WeightRef) else x

    for op in region.body:
        if isinstance(op, HostOp):
            node = graph.call_function(GRAPH_OPS[op.name], tuple(map_leaves(a, leaf) for a in op.args))
            if op.result is not None:
                env[op.result] = node
            continue
        called = (functions or {}).get(op.overload, op.overload)
        node = graph.call_function(called, map_leaves(op.args, leaf), map_leaves(op.kwargs, leaf))
        _define(graph, env, op, node)
    results = [leaf(r) for r in region.results]
    for i in contiguous:
        results[i] = graph.call_function(
            torch.ops.aten.clone.default, (results[i],), {"memory_format": torch.contiguous_format}
        )
    graph.output(tuple(results))
    return fx.GraphModule(root, graph, class_name="".join(c for c in region.name if c.isalnum()) or "Region")


def _define(graph: fx.Graph, env: dict[Value, fx.Node], op: TensorOp, node: fx.Node) -> None:
    if len(op.overload._schema.returns) > 1:
        for i, result in enumerate(op.results):
            env[result] = graph.call_function(operator.getitem, (node, i))
    elif op.results:
        env[op.results[0]] = node
