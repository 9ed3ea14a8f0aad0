"""`t[...]` and `t[...] = v` on tensors, step by step as eager does them.

Integers and slices are views (`select`, `slice`, `unsqueeze`); what tensors index afterwards is one
`index`. The order is that of eager's `applySlicing`, so aliasing and errors are the same.
"""

from __future__ import annotations

from typing import Any

import torch

from torch2cpp.binding.aten import call_aten, elements, from_item
from torch2cpp.binding.context import Context
from torch2cpp.binding.convert import describe, is_scalar, resolve
from torch2cpp.binding.meta import fresh_sym
from torch2cpp.binding.optional import held_or_raise
from torch2cpp.binding.shadow import shadow_of
from torch2cpp.binding.values import WORLDS, AbsVal, Host, ListObj, Meta, Rt, SliceVal, Static, Sym, Tensor, Tup
from torch2cpp.hostir.ops import TensorOp
from torch2cpp.hostir.types import INT, ListType, OptionalType, TensorType

_FULL = (None, None, None)


def get_item(cx: Context, t: Tensor, index: AbsVal) -> AbsVal:
    """`t[index]`"""
    view, indices = _apply_slicing(cx, t, index)
    if not any(i is not None for i in indices):
        return view
    return call_aten(cx, "index", [view, _index_list(indices)], label="index")


def set_item(cx: Context, t: Tensor, index: AbsVal, value: AbsVal) -> None:
    """`t[index] = value`"""
    view, indices = _apply_slicing(cx, t, index)
    value = _as_value(cx, view, value)
    if any(i is not None for i in indices):
        if is_scalar(value):
            value = _scalar_tensor(cx, view, value)
        assert isinstance(value, Tensor)
        call_aten(cx, "index_put_", [view, _index_list(indices), value])
    elif is_scalar(value):
        call_aten(cx, "fill_", [view, value])
    else:
        call_aten(cx, "copy_", [view, _strip_ones(cx, view, value)])


def is_basic(cx: Context, index: AbsVal) -> bool:
    """Whether an index makes a view: no tensor or list in it."""
    parts = _parts(cx, index)
    for p in parts:
        o = resolve(cx, p)
        if isinstance(o, Tensor) and o.rank > 0:
            return False
        if _is_bool(o) or elements(cx, p) is not None or (isinstance(o, Rt) and isinstance(o.type, ListType)):
            return False
    return True


def _index_list(indices: list[Tensor | None]) -> AbsVal:
    return Tup(tuple(Static(None) if i is None else i for i in indices))


def _as_value(cx: Context, view: Tensor, value: AbsVal) -> AbsVal:
    obj = resolve(cx, value)
    if is_scalar(obj):
        return obj
    if isinstance(obj, Static) and isinstance(obj.value, torch.Tensor):
        return cx.weight(obj.value)
    if isinstance(obj, Tensor):
        return obj
    cx.refuse("T2C142", f"{describe(cx, value)} is written into a tensor", "write a tensor or a number")


def _scalar_tensor(cx: Context, view: Tensor, value: AbsVal) -> Tensor:
    out = call_aten(cx, "full", [Tup(()), value], {"dtype": Static(view.meta.dtype)}, label="fill")
    assert isinstance(out, Tensor)
    return out


def _strip_ones(cx: Context, view: Tensor, value: AbsVal) -> AbsVal:
    """Eager drops leading dimensions of size 1 of the value when it has more than the target."""
    assert isinstance(value, Tensor)
    while value.rank > view.rank:
        out = call_aten(cx, "squeeze", [value, Static(0)])
        assert isinstance(out, Tensor)
        value = out
    return value


def _parts(cx: Context, index: AbsVal) -> list[AbsVal]:
    return [_present(cx, p) for p in _raw_parts(cx, index)]


def _present(cx: Context, part: AbsVal) -> AbsVal:
    """An index that may be unassigned or None where Python would fail."""
    if isinstance(part, Rt) and isinstance(part.type, OptionalType):
        return held_or_raise(cx, part, TypeError, "an index is None")
    return part


def _raw_parts(cx: Context, index: AbsVal) -> list[AbsVal]:
    obj = resolve(cx, index)
    if isinstance(obj, Tup):
        return list(obj.elems)
    if isinstance(obj, Static) and isinstance(obj.value, tuple):
        return [Static(x) for x in obj.value]
    if isinstance(obj, ListObj) and _is_like_tuple(cx, list(obj.elems)):
        return list(obj.elems)
    if isinstance(obj, Static) and isinstance(obj.value, list) and _is_like_tuple(cx, list(map(Static, obj.value))):
        return [Static(x) for x in obj.value]
    return [index]


def _is_like_tuple(cx: Context, elems: list[AbsVal]) -> bool:
    """Whether PyTorch takes a list for a tuple of indices: a short one with an element that is no number."""
    return len(elems) < 32 and not all(is_scalar(resolve(cx, e)) for e in elems)


def _consumes(cx: Context, part: AbsVal) -> int:
    o = resolve(cx, part)
    if _is_bool(o) or (isinstance(o, Static) and (o.value is None or o.value is Ellipsis)):
        return 0
    if isinstance(o, Static) and isinstance(o.value, torch.Tensor):
        o = cx.weight(o.value)
    if isinstance(o, Tensor) and o.meta.dtype in (torch.bool, torch.uint8):
        return o.rank
    return 1


def _apply_slicing(cx: Context, t: Tensor, index: AbsVal) -> tuple[Tensor, list[Tensor | None]]:
    parts = _parts(cx, index)
    used = sum(_consumes(cx, p) for p in parts)
    if used > t.rank:
        cx.raise_(IndexError, f"too many indices for tensor of dimension {t.rank}")
    dim = 0
    indices: list[Tensor | None] = []
    for part in parts:
        obj = resolve(cx, part)
        if isinstance(obj, Static) and isinstance(obj.value, torch.Tensor):
            obj = cx.weight(obj.value)
        if isinstance(obj, Static) and obj.value is Ellipsis:
            dim += t.rank - dim - (used - _used_before(cx, parts, part))
            continue
        if isinstance(obj, Static) and obj.value is None:
            t = _one(call_aten(cx, "unsqueeze", [t, Static(dim)]))
            dim += 1
            continue
        # Dimensions that ints took away count in messages, those that None brought too.
        shown = dim + sum(1 for p in parts[: _position(parts, part)] if _is_int(cx, p))
        t, dim = _one_index(cx, t, dim, obj, part, indices, shown)
    return t, indices


def _position(parts: list[AbsVal], part: AbsVal) -> int:
    return next(i for i, p in enumerate(parts) if p is part)


def _is_int(cx: Context, part: AbsVal) -> bool:
    """Whether an index takes its dimension away."""
    o = resolve(cx, part)
    if isinstance(o, Static) and isinstance(o.value, torch.Tensor):
        o = cx.weight(o.value)
    if isinstance(o, Tensor):
        return o.rank == 0 and o.meta.dtype not in (torch.bool, torch.uint8)
    return not _is_bool(o) and (isinstance(o, Host) or (isinstance(o, Static) and isinstance(o.value, int)))


def _used_before(cx: Context, parts: list[AbsVal], part: AbsVal) -> int:
    """Dimensions consumed by the parts before this one, in all."""
    n = 0
    for p in parts:
        if p is part:
            break
        n += _consumes(cx, p)
    return n


def _one(v: AbsVal) -> Tensor:
    assert isinstance(v, Tensor)
    return v


def _one_index(
    cx: Context, t: Tensor, dim: int, obj: AbsVal, part: AbsVal, indices: list[Tensor | None], shown: int
) -> tuple[Tensor, int]:
    """Applies one index that is not None nor an ellipsis; gives the view and the next dimension.

    `shown` is the dimension as error messages count it.
    """
    if _is_bool(obj):
        # a new dimension, of which one element is taken or none
        t = _one(call_aten(cx, "unsqueeze", [t, Static(dim)]))
        count = Static(int(obj.value)) if isinstance(obj, Static) else cx.scalar("int", obj.operand, label="count")
        chosen = call_aten(cx, "zeros", [Tup((count,))], {"dtype": Static(torch.int64)}, label="chosen")
        indices += [None] * (dim - len(indices))
        indices.append(_one(chosen))
        return t, dim + 1
    if isinstance(obj, Static) and isinstance(obj.value, int):
        return _select(cx, t, dim, obj, shown), dim
    if isinstance(obj, Host) and obj.type == INT:
        return _select(cx, t, dim, obj, shown), dim
    if isinstance(obj, Tensor) and obj.rank == 0 and obj.meta.dtype not in (torch.bool, torch.uint8):
        return _select(cx, t, dim, from_item(cx, obj, "tensor.item"), shown), dim
    if isinstance(obj, SliceVal) or (isinstance(obj, Static) and isinstance(obj.value, slice)):
        s = obj.value if isinstance(obj, Static) else obj
        bounds = [x if not isinstance(obj, Static) else Static(x) for x in (s.start, s.stop, s.step)]
        return slice_dim(cx, t, dim, bounds), dim + 1
    tensor = obj if isinstance(obj, Tensor) else index_tensor(cx, part)
    if tensor.rank == 0:  # a mask of no dimension brings one
        t = _one(call_aten(cx, "unsqueeze", [t, Static(dim)]))
        tensor = _one(call_aten(cx, "unsqueeze", [tensor, Static(0)]))
    while len(indices) < dim:
        indices.append(None)
    indices.append(tensor)
    for _ in range(tensor.rank - 1 if tensor.meta.dtype in (torch.bool, torch.uint8) else 0):
        dim += 1
    return t, dim + 1


def _is_bool(obj: AbsVal) -> bool:
    return (isinstance(obj, Static) and isinstance(obj.value, bool)) or (
        isinstance(obj, Host) and obj.type.kind == "bool"
    )


def index_tensor(cx: Context, part: AbsVal) -> Tensor:
    """A list of ints (or a range) used as an index, as a tensor."""
    from torch2cpp.binding.make_tensor import tensor_from_data

    obj = resolve(cx, part)
    if isinstance(obj, Static) and isinstance(obj.value, range):
        part = Static(list(obj.value))
    # Python takes a list of tensors for a tuple of indices.
    of_tensors = isinstance(obj, Rt) and isinstance(obj.type, ListType) and isinstance(obj.type.elem, TensorType)
    made = None if of_tensors else tensor_from_data(cx, part, None)
    if not isinstance(made, Tensor):
        cx.refuse("T2C144", f"a tensor is indexed with {describe(cx, part)}", "index with ints, slices or tensors")
    if made.rank == 1 and made.meta.dims == (0,):
        made = _one(call_aten(cx, "to", [made, Static(torch.int64)]))
    return made


def _select(cx: Context, t: Tensor, dim: int, index: AbsVal, shown: int | None = None) -> Tensor:
    """`aten.select.int`; the result's sizes are known, so out-of-range samples do no harm.

    `shown` is the dimension an IndexError names; None where the index is surely in range.
    """
    size = t.meta.dims[dim]
    operand: Any = index.value if isinstance(index, Static) else index
    if isinstance(index, Static) and isinstance(size, int) and not -size <= index.value < size:
        cx.raise_(IndexError, f"index {index.value} is out of bounds for dimension {shown} with size {size}")
    if isinstance(index, Static) and isinstance(size, int):
        shown = None
    meta = Meta(t.meta.dtype, tuple(d for i, d in enumerate(t.meta.dims) if i != dim))
    if isinstance(index, Host) and index.hints and t.shadow is not None:
        # a loop's sample indices may be out of range of the samples
        sizes = [max(1, s.shape[dim]) for s in t.shadow]
        operand = Host(index.type, index.operand, tuple(h % n for h, n in zip(index.hints, sizes)), index.loops)
    return _view(cx, torch.ops.aten.select.int, t, (dim, operand), meta, "item", shown)


def _view(
    cx: Context, op: Any, t: Tensor, args: tuple[Any, ...], meta: Meta, name: str, indexed: int | None = None
) -> Tensor:
    from torch2cpp.binding.context import tensor_type

    v = cx.value(tensor_type(meta), name)
    operands = (t.operand, *(a.operand if isinstance(a, Host) else a for a in args))
    cx.emit(TensorOp((v,), op, operands, {}, cx.span, indexed))
    cx.mark("tensor")
    return Tensor(v, meta, shadow_of(op, [t, *args], {}, meta), t.bases)


def slice_dim(cx: Context, t: Tensor, dim: int, bounds: list[AbsVal]) -> Tensor:
    """`aten.slice.Tensor` on one dimension; sizes follow Python's rules in every sample world."""
    start, stop, step = (_bound(cx, b, absent) for b, absent in zip(bounds, (0, 2**63 - 1, 1)))
    if (start, stop, step) == _FULL:
        return t
    if isinstance(step, int) and step <= 0:
        cx.raise_(ValueError, "step must be greater than zero")
    size = t.meta.dims[dim]
    run_time = any(isinstance(b, Host) for b in (start, stop, step))
    if not run_time and isinstance(size, int):
        new: Any = len(range(*slice(start, stop, step).indices(size)))
        if new == size and step in (None, 1):
            pass
    else:
        new = _sliced(cx, size, start, stop, step)
    dims = tuple(new if i == dim else d for i, d in enumerate(t.meta.dims))
    bounds_and_step = (dim, start, stop, 1 if step is None else step)
    return _view(cx, torch.ops.aten.slice.Tensor, t, bounds_and_step, Meta(t.meta.dtype, dims), "part")


def _bound(cx: Context, b: AbsVal, absent: int) -> Any:
    """A bound as a number, None or a run-time int; `absent` is what None stands for where that depends."""
    if b is None or (isinstance(b, Static) and b.value is None):
        return None
    if isinstance(b, Static):
        if isinstance(b.value, torch.Tensor):
            return int(b.value)
        return int(b.value)
    if isinstance(b, Host):
        return b
    if isinstance(b, Tensor) and b.rank == 0:
        return from_item(cx, b, "tensor.item")
    if isinstance(b, Rt) and isinstance(b.type, OptionalType) and b.type.elem == INT:
        from torch2cpp.binding.control import branch
        from torch2cpp.binding.optional import held, is_none

        missing = is_none(cx, b)
        if isinstance(missing, Static):
            return None if missing.value else held(cx, b)
        return branch(cx, missing.operand, lambda: Static(absent), lambda: held(cx, b), "bound", cx.span)
    cx.refuse("T2C145", f"a slice bound is {describe(cx, b)}", "use an int")


def _sliced(cx: Context, size: Any, start: Any, stop: Any, step: Any) -> Sym:
    from torch2cpp.binding.meta import DEFAULT_HINTS, size_in

    hints = []
    for w in range(WORLDS):

        def at(b: Any, w: int = w) -> Any:
            if isinstance(b, Host):
                return (b.hints or DEFAULT_HINTS)[w]
            return b

        n = size_in(size, w)
        hints.append(len(range(*slice(at(start), at(stop), at(step) or None).indices(n))))
    run_time = any(isinstance(b, Host) for b in (start, stop))
    if run_time and hints[0] == 0:
        # an empty sample tells little of what follows
        hints = [min(size_in(size, w), DEFAULT_HINTS[w]) for w in range(WORLDS)]
    # A slice that covers the whole dimension in every sample is still a size of its own.
    return fresh_sym(cx, ("slice", cx.site(None)), tuple(hints), free=run_time)
