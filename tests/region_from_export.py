"""A Region out of any exportable module, so that region and backend tests need no binding.

`region_of(module, args, dynamic)` exports the module (ATen calls as eager makes them, in-place ones
included) and turns each node into a TensorOp or HostOp.
"""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any

import torch

from torch2cpp.hostir.ops import HostOp, TensorOp, Value, WeightRef, operands, values_in
from torch2cpp.hostir.program import Region
from torch2cpp.hostir.types import BOOL, FLOAT, INT, ListType, TensorType, TupleType, Type
from torch2cpp.spans import Span

_HOST_OPS = {
    operator.add: "add",
    operator.sub: "sub",
    operator.mul: "mul",
    operator.floordiv: "floordiv",
    operator.mod: "mod",
    operator.lt: "lt",
    operator.le: "le",
    operator.gt: "gt",
    operator.ge: "ge",
    operator.eq: "eq",
    operator.ne: "ne",
    torch.sym_max: "max",
    torch.sym_min: "min",
}


class _Converter:
    def __init__(self, program: torch.export.ExportedProgram) -> None:
        self.program = program
        self.count = 0
        self.env: dict[torch.fx.Node, Any] = {}
        self.body: list[TensorOp | HostOp] = []

    def value(self, type_: Type, name: str) -> Value:
        self.count += 1
        return Value(self.count, type_, name, self.span())

    def span(self) -> Span:
        return Span("model.py", self.count, 1, self.count, 10)

    def operand(self, x: Any) -> Any:
        if isinstance(x, torch.fx.Node):
            return self.env[x]
        if isinstance(x, list | tuple):
            return type(x)(self.operand(i) for i in x)
        return x

    def call(self, node: torch.fx.Node) -> None:
        args = tuple(self.operand(a) for a in node.args)
        kwargs = {k: self.operand(v) for k, v in node.kwargs.items()}
        if node.target is operator.getitem:
            source, index = node.args
            outer = self.env[source]
            if isinstance(outer, tuple):
                self.env[node] = outer[index]
            else:
                self.host(node, "tuple.get", args)
        elif node.target is torch.ops.aten.sym_size.int:
            self.host(node, "tensor.size", args)
        elif node.target in _HOST_OPS:
            self.host(node, _HOST_OPS[node.target], args)
        elif isinstance(node.target, torch._ops.OpOverload):
            self.tensor(node, node.target, args, kwargs)
        else:
            raise NotImplementedError(str(node.target))

    def host(self, node: torch.fx.Node, name: str, args: tuple[Any, ...]) -> None:
        self.env[node] = self.value(type_of(node.meta["val"]), node.name)
        self.body.append(HostOp(self.env[node], name, args, self.span()))

    def tensor(self, node: torch.fx.Node, overload: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        if "_assert" in overload.name() or "sym_constrain" in overload.name():
            return
        returns = overload._schema.returns
        if len(returns) > 1:
            results = tuple(self.value(type_of(v), f"{node.name}_{i}") for i, v in enumerate(node.meta["val"]))
            self.env[node] = results
        elif returns:
            results = (self.value(type_of(node.meta["val"]), node.name),)
            self.env[node] = results[0]
        else:
            results = ()
        self.body.append(TensorOp(results, overload, args, kwargs, self.span()))


def type_of(val: Any) -> Type:
    """The IR type of a node's fake value; symbolic sizes vary."""
    if isinstance(val, torch.Tensor):
        return TensorType(val.dtype, tuple(d if isinstance(d, int) else None for d in val.shape))
    if isinstance(val, bool | torch.SymBool):
        return BOOL
    if isinstance(val, int | torch.SymInt):
        return INT
    if isinstance(val, float | torch.SymFloat):
        return FLOAT
    if isinstance(val, list | tuple):
        elems = tuple(type_of(v) for v in val)
        return TupleType(elems, "list") if elems else ListType(TensorType(torch.float32, ()))
    raise NotImplementedError(str(type(val)))


def region_of(
    module: torch.nn.Module,
    args: Sequence[torch.Tensor],
    dynamic: Sequence[Sequence[int]] = (),
    name: str = "forward",
) -> tuple[Region, dict[str, torch.Tensor]]:
    """The module's forward as a region, with its weights; `dynamic` lists the varying dimensions per argument."""
    shapes = tuple(dict.fromkeys(dims, torch.export.Dim.DYNAMIC) for dims in dynamic) or tuple({} for _ in args)
    with torch.no_grad():
        program = torch.export.export(module.eval(), tuple(args), dynamic_shapes=shapes, strict=False)
    signature = program.graph_signature
    weights = {k: v.detach() for k, v in program.state_dict.items()} | dict(program.constants)
    names = signature.inputs_to_parameters | signature.inputs_to_buffers | signature.inputs_to_lifted_tensor_constants
    converter = _Converter(program)
    params: list[Value] = []
    results: tuple[Any, ...] = ()
    for node in program.graph.nodes:
        if node.op == "placeholder" and node.name in names:
            weight = weights[names[node.name]]
            converter.env[node] = WeightRef(names[node.name], TensorType(weight.dtype, tuple(weight.shape)))
        elif node.op == "placeholder":
            converter.env[node] = converter.value(type_of(node.meta["val"]), node.name)
            params.append(converter.env[node])
        elif node.op == "call_function":
            converter.call(node)
        elif node.op == "output":
            results = tuple(converter.operand(node.args[0]))
    span = Span("model.py", 1, 1, converter.count, 10)
    return Region(name, tuple(params), _live(converter.body, results), results, span), weights


def _live(body: list[TensorOp | HostOp], results: tuple[Any, ...]) -> tuple[TensorOp | HostOp, ...]:
    """The body without host operations that only the exporter's assertions used."""
    used = set(values_in(results))
    kept: list[TensorOp | HostOp] = []
    for op in reversed(body):
        if isinstance(op, TensorOp) or op.result in used:
            used.update(values_in(operands(op)))
            kept.append(op)
    return tuple(reversed(kept))
