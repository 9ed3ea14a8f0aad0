"""A region as the TorchScript definition of `forward`, with its weights as `self.w0`, `self.w1`, ..."""

from __future__ import annotations

import json
import keyword
import math
import re
from collections.abc import Mapping
from typing import Any, final

import torch

from torch2cpp.backends.sample_file import DTYPE_CODES
from torch2cpp.hostir.ops import HostOp, Operand, TensorOp, Value, WeightRef
from torch2cpp.hostir.program import Region
from torch2cpp.hostir.types import ListType, ScalarType, TensorType, Type
from torch2cpp.regions.as_graph import slot_names
from torch2cpp.spans import Span

#: Operators as libtorch's own resolver knows them; in Python they are found as `torch.ops.aten`.
LIBTORCH = "torch"
_INFIX: Mapping[str, str] = {"add": "+", "sub": "-", "mul": "*", "truediv": "/", "floordiv": "//", "mod": "%"}
_MEMORY_FORMATS = {
    torch.contiguous_format: 0,
    torch.preserve_format: 1,
    torch.channels_last: 2,
    torch.channels_last_3d: 3,
}
_SCALARS = {"int": "int", "float": "float", "bool": "bool", "str": "str"}
#: Names the text uses itself.
_TAKEN = frozenset({"self", "torch", "annotate", "float", "int", "bool", "min", "max", "List", "Tensor", "Optional"})


@final
class Unwritable(Exception):
    """TorchScript has no spelling for something in the region."""

    def __init__(self, reason: str, span: Span) -> None:
        super().__init__(reason)
        self.span = span


def write_script(region: Region, operators: str = LIBTORCH) -> str:
    """The definition; raises Unwritable. `operators` is what operators are attributes of."""
    return _Writer(region, operators).text()


def annotation(t: Type) -> str | None:
    """A parameter's type, None for those that the backend does not pass."""
    match t:
        case TensorType():
            return "Tensor"
        case ScalarType(kind=kind):
            return _SCALARS.get(kind)
        case ListType(elem=TensorType() | ScalarType("int") | ScalarType("float") | ScalarType("bool")):
            return f"List[{annotation(t.elem)}]"
        case _:
            return None


@final
class _Writer:
    def __init__(self, region: Region, operators: str) -> None:
        self.region = region
        self.operators = operators
        self.slots = slot_names(region)
        self.names: dict[Value, str] = {}
        self.taken = set(_TAKEN)
        self.span = region.span
        self.lines: list[str] = []

    def text(self) -> str:
        params = ", ".join(f"{self._define(p)}: {annotation(p.type)}" for p in self.region.params)
        for op in self.region.body:
            self.span = op.span
            self.lines.append(self._tensor_op(op) if isinstance(op, TensorOp) else self._host_op(op))
        results = [self._leaf(r) for r in self.region.results]
        self.lines.append(f"return {results[0] if len(results) == 1 else '(' + ', '.join(results) + ')'}")
        body = "".join(f"    {line}\n" for line in self.lines)
        return f"def forward(self{', ' if params else ''}{params}):\n{body}"

    def _define(self, value: Value) -> str:
        self.names[value] = self._fresh(value.name)
        return self.names[value]

    def _fresh(self, wanted: str) -> str:
        base = re.sub(r"\W", "_", wanted).strip("_") or "t"
        base = f"t_{base}" if base[0].isdigit() or keyword.iskeyword(base) else base
        name, n = base, 1
        while name in self.taken:
            n += 1
            name = f"{base}_{n}"
        self.taken.add(name)
        return name

    def _tensor_op(self, op: TensorOp) -> str:
        schema = op.overload._schema
        namespace, name = schema.name.split("::")
        if namespace != "aten":
            raise Unwritable(f"{schema.name} is not an operator of ATen", op.span)
        arguments = {a.name: a for a in schema.arguments}
        texts = [self._argument(a, arg.type) for a, arg in zip(op.args, schema.arguments)]
        texts += [f"{k}={self._argument(v, arguments[k].type)}" for k, v in op.kwargs.items()]
        call = f"{self.operators}.{name}({', '.join(texts)})"
        # A result may be the written operand itself, which has its name.
        if not op.results or op.results[0] in self.names:
            return call
        return f"{', '.join(self._define(r) for r in op.results)} = {call}"

    def _host_op(self, op: HostOp) -> str:
        args = [self._leaf(a) for a in op.args]
        if op.name in _INFIX:
            text = f"{args[0]} {_INFIX[op.name]} {args[1]}"
        elif op.name == "neg":
            text = f"-{args[0]}"
        elif op.name in ("min", "max") and len(args) == 2:
            text = f"{op.name}({args[0]}, {args[1]})"
        elif op.name == "tensor.size":
            text = f"{self.operators}.size({args[0]}, {args[1]})"
        elif op.name == "tensor.numel":
            text = f"{self.operators}.numel({args[0]})"
        elif op.name in ("tuple.get", "list.get"):
            text = f"{args[0]}[{args[1]}]"
        else:
            raise Unwritable(f"host operation {op.name}", op.span)
        assert op.result is not None
        return f"{self._define(op.result)} = {text}"

    def _argument(self, operand: Operand, kind: Any) -> str:
        """An operand where the schema wants `kind`: no int becomes a float by itself, and no list's type is guessed."""
        kind = kind.getElementType() if str(kind).startswith("Optional[") else kind
        if isinstance(operand, list | tuple):
            element = kind.getElementType()
            text = f"[{', '.join(self._argument(x, element) for x in operand)}]"
            known = str(element) in ("Tensor", "int", "bool", "float") and len(operand) > 0
            return text if known else self._declared(f"List[{element}]", text)
        if str(kind) == "float":
            if isinstance(operand, int) and not isinstance(operand, bool):
                return self._leaf(float(operand))
            if isinstance(operand, Value) and operand.type == ScalarType("int"):
                return f"float({self.names[operand]})"
        return self._leaf(operand)

    def _declared(self, kind: str, text: str) -> str:
        """A variable of a type that the literal alone would not have."""
        name = self._fresh("items")
        self.lines.append(f"{name}: {kind} = {text}")
        return name

    def _leaf(self, x: Operand) -> str:
        match x:
            case Value():
                return self.names[x]
            case WeightRef():
                return f"self.{self.slots[x.name]}"
            case None | bool() | int():
                return repr(x)
            case float():
                return repr(x) if math.isfinite(x) else f"float('{x}')"
            case str():
                return json.dumps(x)
            case torch.dtype() if x in DTYPE_CODES:
                return str(DTYPE_CODES[x])
            case torch.memory_format():
                return str(_MEMORY_FORMATS[x])
            case torch.device(type="cpu"):
                return 'torch.device("cpu")'
            case torch.layout() if x == torch.strided:
                return "0"
        raise Unwritable(f"{x!r} as an argument", self.span)
