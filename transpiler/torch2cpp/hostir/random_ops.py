"""Operators that draw random numbers."""

from __future__ import annotations

from collections.abc import Iterator

import torch

from torch2cpp.hostir.ops import HostOp, Op, TensorOp, walk
from torch2cpp.hostir.program import Program

#: Recurrent operators draw between their layers, while training.
_RECURRENT = ("lstm", "gru", "rnn_tanh", "rnn_relu")


def draws(op: TensorOp) -> bool:
    """Whether an operation draws from the default generator."""
    schema = op.overload._schema
    name = schema.name.removeprefix("aten::")
    given = dict(zip((a.name for a in schema.arguments), op.args)) | op.kwargs
    if name in _RECURRENT:
        return not (given.get("train") is False or given.get("dropout") == 0.0)
    if name == "scaled_dot_product_attention":
        return bool(given.get("dropout_p", 0.0) != 0.0)
    if given.get("train") is False or given.get("training") is False:
        return False
    return torch.Tag.nondeterministic_seeded in op.overload.tags


def is_random(program: Program) -> bool:
    """Whether anything in the program draws random numbers, so that its results depend on a seed."""
    return sets_random(program) or any(isinstance(op, TensorOp) and draws(op) for op in _ops(program))


def sets_random(program: Program) -> bool:
    """Whether the program seeds the default generator, or reads or writes its state."""
    return any(isinstance(op, HostOp) and op.name.startswith("random.") for op in _ops(program))


def _ops(program: Program) -> Iterator[Op]:
    for f in (*program.entries.values(), *program.functions.values()):
        yield from walk(f.body)
    for region in program.regions.values():
        yield from region.body
