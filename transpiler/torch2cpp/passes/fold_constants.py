"""Computes what is known before the program runs, and takes out the branches it decides.

Before:

    n: int = tensor.size(x, 1)            # x: float32[?, 4]
    big: bool = gt(n, 3)
    if big
      yield 1
    else
      yield 2
    -> k: int
    return k

After:

    return 1
"""

from __future__ import annotations

import math
from typing import Any, final

from torch2cpp.hostir.host_ops import TABLE
from torch2cpp.hostir.interpret import coerced, evaluate_host
from torch2cpp.hostir.ops import HostOp, If, Op, Operand, Value, WeightRef, Yield, leaves
from torch2cpp.hostir.program import Program
from torch2cpp.hostir.types import INT, ScalarType, TensorType
from torch2cpp.passes.rebuild import Rewriter, with_functions

#: `x op c` is x, for ints.
_NEUTRAL = {("add", 0), ("sub", 0), ("mul", 1), ("floordiv", 1)}


def fold_constants(program: Program) -> Program:
    """Host operations over constants computed, branches on constants taken."""
    return with_functions(program, lambda f: _Folder().function(f))


@final
class _Folder(Rewriter):
    def visit(self, op: Op) -> list[Op]:
        match op:
            case HostOp() if op.result is not None:
                found, value = _folded(op)
                if found:
                    self.known[op.result] = value
                    return []
            case If() if isinstance(op.cond, bool):
                arm = self.block(op.then if op.cond else op.orelse)
                last = arm.ops[-1]
                if isinstance(last, Yield):
                    self.replace_all(op.results, last.values)
                    return arm.ops[:-1]
                return arm.ops
            case _:
                pass
        return super().visit(op)


def _folded(op: HostOp) -> tuple[bool, Operand]:
    """Whether the result is known, and what it is."""
    if op.name in ("tensor.size", "tensor.numel"):
        return _size(op)
    if op.name == "select" and isinstance(op.args[0], bool):
        return True, op.args[1] if op.args[0] else op.args[2]
    if len(op.args) == 2 and isinstance(op.args[0], Value) and op.args[0].type == INT and type(op.args[1]) is int:
        if (op.name, op.args[1]) in _NEUTRAL:
            return True, op.args[0]
    assert op.result is not None
    known = not any(isinstance(x, Value | WeightRef) for x in leaves(op.args))
    if not known or TABLE[op.name].effect not in ("pure", "raises") or not isinstance(op.result.type, ScalarType):
        return False, None
    try:
        value = coerced(evaluate_host(op.name, op.args), op.result.type)
    except Exception:  # it raises when it runs, as in Python
        return False, None
    return _is_plain(value, op.result.type), value


def _size(op: HostOp) -> tuple[bool, Operand]:
    tensor = op.args[0]
    if not isinstance(tensor, Value | WeightRef) or not isinstance(tensor.type, TensorType):
        return False, None
    dims = tensor.type.dims
    if op.name == "tensor.numel":
        return (True, math.prod(d for d in dims if d is not None)) if None not in dims else (False, None)
    i = op.args[1]
    if type(i) is not int or not -len(dims) <= i < len(dims) or dims[i] is None:
        return False, None
    return True, dims[i]


def _is_plain(value: Any, type_: ScalarType) -> bool:
    """Whether a value can be written as a constant of its type."""
    if isinstance(value, float) and not math.isfinite(value):
        return False
    return type(value).__name__ == type_.kind
