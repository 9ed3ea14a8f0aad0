"""A region run operation by operation in Python, exactly as eager would."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch

from torch2cpp.hostir.host_ops import TABLE
from torch2cpp.hostir.ops import HostOp, TensorOp, Value, WeightRef, map_leaves
from torch2cpp.hostir.program import Region
from torch2cpp.regions.defined import check_defined, check_order

#: Operators that allocate and leave what is there.
_UNWRITTEN = {"empty", "empty_like", "empty_permuted", "empty_strided", "new_empty", "new_empty_strided"}


def run_region(
    region: Region,
    args: Sequence[Any],
    weights: Mapping[str, torch.Tensor],
    before: Callable[[TensorOp | HostOp], None] | None = None,
    fill: int | None = None,
    ordered: bool = False,
    after: Callable[[TensorOp, tuple[Any, ...]], None] | None = None,
) -> tuple[Any, ...]:
    """The region's results for `args` (one per parameter), under `torch.no_grad`.

    Writes to the storage of `args` where an operation of the region does. `before` is called with
    each operation before it runs, `after` with each operator and what it returned, which it may write to.
    Memory that operators such as `empty` leave as it is holds `fill`, if that is given. Raises whatever eager raises,
    and RuntimeError where its result is undefined, or with `ordered` one of several.
    """
    env: dict[Value, Any] = dict(zip(region.params, args, strict=True))

    def leaf(x: Any) -> Any:
        if isinstance(x, Value):
            return env[x]
        return weights[x.name] if isinstance(x, WeightRef) else x

    with torch.no_grad():
        for op in region.body:
            if before is not None:
                before(op)
            if isinstance(op, HostOp):
                value = TABLE[op.name].evaluate(*(map_leaves(a, leaf) for a in op.args))
                if op.result is not None:
                    env[op.result] = value
                continue
            op_args = map_leaves(op.args, leaf)
            check_defined(op.overload, op_args)
            op_kwargs = map_leaves(op.kwargs, leaf)
            if ordered:
                check_order(op.overload, op_args, op_kwargs)
            value = op.overload(*op_args, **op_kwargs)
            if fill is not None and leaves_memory(op):
                value.fill_(fill)
            results = returned(op, value)
            if after is not None:
                after(op, results)
            env.update(zip(op.results, results))
        return tuple(leaf(r) for r in region.results)


def leaves_memory(op: TensorOp | HostOp) -> bool:
    """Whether the operator makes a tensor without writing to it."""
    return isinstance(op, TensorOp) and op.overload.overloadpacket.__name__ in _UNWRITTEN


def returned(op: TensorOp, value: Any) -> tuple[Any, ...]:
    """What an operator returned, as one item per return of its schema."""
    n = len(op.overload._schema.returns)
    return tuple(value) if n > 1 else () if n == 0 else (value,)
