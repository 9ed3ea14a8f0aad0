"""`t_`, `unsqueeze_` and their like: they change the sizes of the tensor itself, under all of its names.

The program has values of one rank each: the call becomes the view of that name, which shares the storage,
and every name of the tensor is given the view.
"""

from __future__ import annotations

import dataclasses
from typing import Any

from torch2cpp.binding.aten import call_aten
from torch2cpp.binding.context import Context
from torch2cpp.binding.values import STORED, AbsVal, DictObj, InstanceObj, ListObj, PartialDict, ScopeObj, Tensor, Tup
from torch2cpp.hostir.ops import TensorOp, Value

NAMES = ("t_", "transpose_", "swapaxes_", "swapdims_", "unsqueeze_", "squeeze_")


def reshape_in_place(cx: Context, name: str, t: Tensor, args: list[AbsVal], kwargs: dict[str, AbsVal]) -> AbsVal:
    """The tensor after the call, under all its names."""
    if not any(isinstance(op, TensorOp) and t.operand in op.results for op in cx.block.ops):
        cx.refuse("T2C197", f"tensor.{name} on a tensor made elsewhere", f"assign the result of {name.rstrip('_')}()")
    new = call_aten(cx, name.rstrip("_"), [t, *args], kwargs)
    for key, obj in list(cx.state.heap.items()):
        changed = _replaced(obj, t, new)
        if changed is not obj:
            cx.write(key, changed)
    return new


def _replaced(x: Any, old: Tensor, new: AbsVal) -> Any:
    """A heap object or value with one tensor instead of another; itself where nothing changes."""

    def sub(v: Any) -> Any:
        return _replaced(v, old, new)

    def mapping(items: dict[Any, Any]) -> dict[Any, Any]:
        made = {k: sub(v) for k, v in items.items()}
        return items if all(made[k] is items[k] for k in items) else made

    def sequence(items: tuple[Any, ...]) -> tuple[Any, ...]:
        made = tuple(map(sub, items))
        return items if all(a is b for a, b in zip(made, items)) else made

    if x is old:
        return new
    match x:
        case ScopeObj(names=had):
            names = mapping(had)
            return x if names is had else dataclasses.replace(x, names=names)
        case DictObj(items=had) | PartialDict(items=had):
            names = mapping(had)
            return x if names is had else dataclasses.replace(x, items=names)
        case InstanceObj(fields=had):
            names = mapping(had)
            return x if names is had else dataclasses.replace(x, fields=names)
        case ListObj(elems=elems):
            parts = sequence(elems)
            return x if parts is elems else dataclasses.replace(x, elems=parts)
        case Tup(elems=elems):
            parts = sequence(elems)
            return x if parts is elems else dataclasses.replace(x, elems=parts)
    return x


def is_state(cx: Context, t: Tensor) -> bool:
    """Whether the tensor belongs to the model: its sizes are kept in a cell."""
    return not isinstance(t.operand, Value) or bool(t.bases - {STORED}) or t.operand.id in cx.loaded
