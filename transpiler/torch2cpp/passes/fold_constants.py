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
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, final

from torch2cpp.hostir.host_ops import TABLE
from torch2cpp.hostir.interpret import coerced, evaluate_host
from torch2cpp.hostir.ops import HostOp, If, Op, Operand, TensorOp, Value, WeightRef, Yield, leaves
from torch2cpp.hostir.program import Program
from torch2cpp.hostir.schema import changes_sizes
from torch2cpp.hostir.types import INT, ScalarType, TensorType
from torch2cpp.passes.rebuild import Rewriter, all_ops, with_functions

#: `x op c` is x, for ints.
_NEUTRAL = {("add", 0), ("sub", 0), ("mul", 1), ("floordiv", 1)}

#: Comparisons of an int with itself.
_OF_EQUALS = {"eq": True, "le": True, "ge": True, "ne": False, "lt": False, "gt": False}
#: Operators that make a tensor of given sizes, and which operand has them.
_SIZE_OPERAND = {
    "zeros": 0,
    "ones": 0,
    "empty": 0,
    "full": 0,
    "rand": 0,
    "randn": 0,
    "new_zeros": 1,
    "new_ones": 1,
    "new_empty": 1,
    "new_full": 1,
    "view": 1,
    "reshape": 1,
}


def fold_constants(program: Program) -> Program:
    """Host operations over constants computed, branches on constants taken."""
    resizes = any(isinstance(op, TensorOp) and changes_sizes(op) for op in all_ops(program))
    return with_functions(program, lambda f: _Folder(resizes).function(f))


@final
class _Folder(Rewriter):
    def __init__(self, resizes: bool) -> None:
        super().__init__()
        #: Whether sizes may change in place; then those given when a tensor is made do not last.
        self.resizes = resizes
        #: For a value that is one of two constants: the condition, and the constant of each arm.
        self.choices: dict[Value, tuple[Value, Operand, Operand]] = {}
        #: The sizes a tensor was made with.
        self.sizes: dict[Value, Sequence[Operand]] = {}

    def visit(self, op: Op) -> list[Op]:
        match op:
            case TensorOp():
                self.note_sizes(op)
            case HostOp() if op.result is not None:
                found, value = self.given_size(op) or self.chosen(op) or _folded(op)
                if isinstance(value, HostOp):
                    return [value]
                if found:
                    self.known[op.result] = value
                    return []
            case If() if isinstance(op.cond, Value):
                return self.choice(op)
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

    def choice(self, op: If) -> list[Op]:
        """A branch; where it chooses between the two truth values, the condition itself stands for the result."""
        then, orelse = self.block(op.then), self.block(op.orelse)
        made = replace(op, then=then, orelse=orelse)
        yes, no = then.ops[-1], orelse.ops[-1]
        if isinstance(yes, Yield) and isinstance(no, Yield):
            for result, a, b in zip(op.results, yes.values, no.values, strict=True):
                if type(a) is type(b) and type(a) in (bool, int):
                    self.choices[result] = (op.cond, a, b)
                    if (a, b) == (True, False) and type(a) is bool:
                        self.known[result] = op.cond
        return [made]

    def chosen(self, op: HostOp) -> tuple[bool, Operand] | None:
        """A test of which arm's constant a value is: the condition, or its negation as an operation."""
        if op.name == "not" and isinstance(op.args[0], Value) and op.args[0] in self.choices:
            cond, a, b = self.choices[op.args[0]]
            given: Operand = False
        elif op.name == "eq" and isinstance(op.args[0], Value) and op.args[0] in self.choices:
            cond, a, b = self.choices[op.args[0]]
            given = op.args[1]
        else:
            return None
        if type(given) is not type(a):
            return None
        match a == given, b == given:
            case True, False:
                return True, cond
            case False, True:
                return False, replace(op, name="not", args=(cond,))
            case both, _:
                return True, both

    def note_sizes(self, op: TensorOp) -> None:
        """Remembers the sizes that a tensor is made with."""
        at = _SIZE_OPERAND.get(str(op.overload._schema.name).partition("::")[2])
        if at is not None and len(op.args) > at and len(op.results) == 1 and not self.resizes:
            sizes = op.args[at]
            if isinstance(sizes, list | tuple):
                self.sizes[op.results[0]] = sizes

    def given_size(self, op: HostOp) -> tuple[bool, Operand] | None:
        """A size of a tensor that was made with it."""
        if op.name != "tensor.size" or not isinstance(op.args[0], Value) or type(op.args[1]) is not int:
            return None
        sizes, i = self.sizes.get(op.args[0], ()), op.args[1]
        if not -len(sizes) <= i < len(sizes):
            return None
        size = sizes[i]
        known = (isinstance(size, Value) and size.type == INT) or (type(size) is int and size >= 0)
        return (True, size) if known else None


def _folded(op: HostOp) -> tuple[bool, Operand]:
    """Whether the result is known, and what it is."""
    if op.name in ("tensor.size", "tensor.numel"):
        return _size(op)
    if op.name == "select" and isinstance(op.args[0], bool):
        return True, op.args[1] if op.args[0] else op.args[2]
    if op.name in _OF_EQUALS and isinstance(op.args[0], Value) and op.args[0] is op.args[1] and op.args[0].type == INT:
        return True, _OF_EQUALS[op.name]
    if len(op.args) == 2 and isinstance(op.args[0], Value) and op.args[0].type == INT and type(op.args[1]) is int:
        if (op.name, op.args[1]) in _NEUTRAL:
            return True, op.args[0]
    assert op.result is not None
    known = not any(isinstance(x, Value | WeightRef) for x in leaves(op.args))
    if not known or TABLE[op.name].effect not in ("pure", "raises") or not isinstance(op.result.type, ScalarType):
        return False, None
    if op.result.type.of:
        return False, None  # a member of an enum: a constant has no such type
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
