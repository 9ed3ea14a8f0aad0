"""`torch.tensor(data)` and its like."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from torch2cpp.binding.aten import call_aten, elements
from torch2cpp.binding.context import Context, tensor_type
from torch2cpp.binding.convert import is_scalar, resolve, to_operand, type_of
from torch2cpp.binding.kept_objects import holds_state
from torch2cpp.binding.meta import fresh_sym
from torch2cpp.binding.optional import held_or_raise
from torch2cpp.binding.values import AbsVal, Dim, Host, ListObj, Meta, Rt, Static, Tensor, Tup
from torch2cpp.hostir.ops import HostOp
from torch2cpp.hostir.types import (
    BOOL,
    COMPLEX,
    FLOAT,
    INT,
    ListType,
    NeverType,
    OptionalType,
    ScalarType,
    TensorType,
    TupleType,
    Type,
    UnionType,
)

_DTYPES = {BOOL: torch.bool, INT: torch.int64, FLOAT: torch.float32, COMPLEX: torch.complex64}


def tensor_from_data(cx: Context, data: AbsVal, dtype: torch.dtype | None, has_items: bool = False) -> AbsVal | None:
    """A tensor from scalars or nested sequences; None if the data is of another kind.

    A run-time list without items is a case of its own, unless it surely `has_items`.
    """
    if isinstance(data, Static) and _plain(data.value) and not holds_state(cx, data.value):
        made = torch.tensor(data.value, dtype=dtype)
        if made.dim() == 0:
            out = call_aten(cx, "full", [Tup(()), Static(made.item())], {"dtype": Static(made.dtype)}, label="tensor")
            assert isinstance(out, Tensor)
            return out
        # A fresh copy each time, as in Python: the constant itself is never written.
        fresh = call_aten(cx, "clone", [cx.weight(_constant(cx, made))], label="tensor")
        assert isinstance(fresh, Tensor)
        return fresh
    obj = resolve(cx, data)
    if isinstance(obj, Tensor):
        if dtype is not None and dtype != obj.meta.dtype:
            return _tensor(call_aten(cx, "to", [obj, Static(dtype), Static(False), Static(True)]))
        return _tensor(call_aten(cx, "clone", [obj]))
    if isinstance(obj, Rt) and isinstance(obj.type, ListType) and isinstance(obj.type.elem, TensorType):
        return _of_scalars(cx, data, obj, obj.type.elem, dtype)
    if is_scalar(obj):
        assert isinstance(obj, Host)
        return _emit(cx, obj.operand, dtype or _DTYPES[obj.type], ())
    mixed = _is_mixed(obj.type) if isinstance(obj, Rt) else False
    if mixed:
        return _of_mixed(cx, data, dtype)
    data = _without_none(cx, data, dtype, (cx.site(None), "held"))
    found = _shape(cx, data)
    if found is None:
        return None
    dims, kind = found
    if isinstance(kind, torch.dtype):
        return _stacked(cx, data, dtype or kind)
    if dtype is None and isinstance(kind, ScalarType) and kind in (INT, BOOL) and isinstance(obj, Rt):
        _must_have_items(cx, obj, kind)
    target = dtype or _DTYPES.get(kind, torch.float32)
    want: Type = kind
    for _ in dims:
        want = ListType(want)
    may_be_empty = not has_items and (dtype is not None or kind not in (INT, BOOL))
    if len(dims) > 1 and may_be_empty and isinstance(obj, Rt) and isinstance(obj.type, ListType):
        return _or_flat(cx, obj, target, lambda: _emit(cx, _nested(cx, data, want), target, dims))
    return _emit(cx, _nested(cx, data, want), target, dims)


def _or_flat(cx: Context, rows: Rt, dtype: torch.dtype, some: Callable[[], AbsVal]) -> AbsVal:
    """A tensor of rows whose number is decided at run time: without rows it has one dimension, as in Python."""
    from torch2cpp.binding.control import branch

    def none() -> AbsVal:
        return call_aten(cx, "empty", [Tup((Static(0),))], {"dtype": Static(dtype)}, label="tensor")

    empty = cx.host("eq", cx.host("list.len", rows.operand), 0, label="is_empty")
    return branch(cx, empty, none, some, "tensor", cx.span)


def _is_mixed(t: Type) -> bool:
    """Whether it is a run-time list of numbers, or of lists of numbers, that are ints or floats as decided then."""
    if not isinstance(t, ListType):
        return False
    if isinstance(t.elem, UnionType):
        return all(m in (BOOL, INT, FLOAT) for m in t.elem.members)
    return _is_mixed(t.elem)


def _of_mixed(cx: Context, data: AbsVal, dtype: torch.dtype | None) -> AbsVal | None:
    """`torch.tensor` of ints and floats: of floats where there is one."""
    from torch2cpp.binding.calls import call_python
    from torch2cpp.binding.control import branch
    from torch2cpp.binding.in_python import tensor_lists as bodies

    tensor_lists: Any = bodies

    nested = isinstance(resolve(cx, data).type.elem, ListType)

    def converted(body: Any, kind: torch.dtype | None) -> AbsVal:
        made = tensor_from_data(cx, call_python(cx, body, [data], {}), kind)
        assert made is not None
        return made

    as_floats = tensor_lists.rows_of_floats if nested else tensor_lists.floats
    if dtype is not None and dtype.is_floating_point:
        return converted(as_floats, dtype)
    if dtype is not None:
        return None
    any_float = call_python(cx, tensor_lists.any_float_row if nested else tensor_lists.any_float, [data], {})
    assert isinstance(any_float, Host)
    as_ints = tensor_lists.rows_of_ints if nested else tensor_lists.ints
    floats, ints = (lambda: converted(as_floats, None)), (lambda: converted(as_ints, None))
    return branch(cx, any_float.operand, floats, ints, "tensor", cx.span)


def _must_have_items(cx: Context, obj: Rt, kind: ScalarType) -> None:
    """Raises where a run-time list is empty: the tensor would be of another dtype than otherwise."""
    name = str(_DTYPES[kind])
    text = f"torch.tensor() of an empty list is torch.float32 in Python and {name} here: give it dtype={name}"
    raise_where_empty(cx, obj, text)


def raise_where_empty(cx: Context, obj: Rt, text: str) -> None:
    """A RuntimeError of the program where a run-time list is empty."""
    from torch2cpp.binding.list_methods import raise_if

    raise_if(cx, cx.host("eq", cx.host("list.len", obj.operand), 0), RuntimeError, lambda: text)


def _of_scalars(cx: Context, data: AbsVal, obj: Rt, elem: TensorType, dtype: torch.dtype | None) -> AbsVal | None:
    """`torch.tensor` of a run-time list of tensors without dimensions; an empty one has the default type."""
    from torch2cpp.binding.control import branch

    if elem.dims:
        return None

    def none() -> AbsVal:
        return call_aten(cx, "empty", [Tup((Static(0),))], {"dtype": Static(dtype or torch.float32)}, label="tensor")

    def some() -> AbsVal:
        stacked = call_aten(cx, "stack", [data])
        return stacked if dtype in (None, elem.dtype) else call_aten(cx, "to", [stacked, Static(dtype)])

    empty = cx.host("eq", cx.host("list.len", obj.operand), 0, label="is_empty")
    return branch(cx, empty, none, some, "tensor", cx.span)


def _without_none(cx: Context, data: AbsVal, dtype: torch.dtype | None, site: Any) -> AbsVal:
    """Data in which nothing may be None; where something is, eager's error."""
    from torch2cpp.binding.comprehensions import consume
    from torch2cpp.binding.containers import new_list
    from torch2cpp.binding.list_methods import list_append

    o = resolve(cx, data)
    if dtype == torch.bool:
        return data
    if isinstance(o, Rt) and isinstance(o.type, OptionalType):
        if dtype is None:
            return held_or_raise(cx, o, RuntimeError, "Could not infer dtype of NoneType")
        whole = not dtype.is_floating_point and not dtype.is_complex
        text = "'NoneType' object cannot be interpreted as an integer" if whole else "must be real number, not NoneType"
        return held_or_raise(cx, o, TypeError, text)
    if isinstance(o, Tup | ListObj):
        parts = [_without_none(cx, e, dtype, (site, i)) for i, e in enumerate(o.elems)]
        return data if all(a is b for a, b in zip(parts, o.elems)) else Tup(tuple(parts))
    if isinstance(o, Rt) and isinstance(o.type, ListType) and isinstance(o.type.elem, OptionalType):
        out = new_list(cx, [], site)
        consume(cx, o, lambda x: list_append(cx, out, _without_none(cx, x, dtype, site)), site)
        return out
    return data


def _plain(value: Any) -> bool:
    if isinstance(value, list | tuple):
        return all(map(_plain, value))
    return isinstance(value, bool | int | float | complex) or type(value).__module__ == "numpy"


def _constant(cx: Context, made: torch.Tensor) -> torch.Tensor:
    """The same constant at one place of the program is one weight in every round."""
    for name, t in cx.weights.items():
        if name.startswith("constants.") and t.dtype == made.dtype and t.shape == made.shape and torch.equal(t, made):
            return next(x for x in cx.keep if isinstance(x, torch.Tensor) and cx.weight_names.get(id(x)) == name)
    cx.keep.append(made)
    return made


def _tensor(v: AbsVal) -> Tensor:
    assert isinstance(v, Tensor)
    return v


def _emit(cx: Context, operand: Any, dtype: torch.dtype, dims: tuple[Dim, ...]) -> Tensor:
    meta = Meta(dtype, dims)
    v = cx.value(tensor_type(meta), "tensor")
    cx.emit(HostOp(v, "tensor.make", (operand, dtype), cx.span))
    cx.mark("host")
    return Tensor(v, meta)


def _shape(cx: Context, data: AbsVal) -> tuple[tuple[Dim, ...], Any] | None:
    """Sizes of nested sequences and the scalar type inside (a dtype if tensors are inside)."""
    obj = resolve(cx, data)
    if isinstance(obj, Tensor):
        return (obj.meta.dims, obj.meta.dtype)
    if is_scalar(obj):
        t = type_of(cx, obj)
        return ((), t) if isinstance(t, ScalarType) and t.kind != "str" else None
    if isinstance(obj, Rt):
        found = _rt_shape(cx, obj.type, 0)
        known = cx.lengths.get(obj.operand.id)
        if found is not None and known is not None and found[0]:
            size = fresh_sym(cx, ("list", 0, cx.site(None)), known)
            return ((size, *found[0][1:]), found[1])
        return found
    elems = elements(cx, data)
    if elems is None:
        return None
    inner = [_shape(cx, e) for e in elems]
    if not inner:
        return ((0,), FLOAT)
    if any(i is None for i in inner):
        return None
    shapes = [i for i in inner if i is not None]
    kinds = [k for _, k in shapes]
    kind = next((k for k in kinds if isinstance(k, torch.dtype)), None) or _widest(kinds)
    return ((len(elems), *shapes[0][0]), kind)


def _rt_shape(cx: Context, t: Type, depth: int) -> tuple[tuple[Dim, ...], Any] | None:
    if isinstance(t, ScalarType):
        return ((), t)
    if isinstance(t, NeverType):
        return ((), FLOAT)
    if isinstance(t, ListType):
        inner = _rt_shape(cx, t.elem, depth + 1)
        return None if inner is None else ((fresh_sym(cx, ("list", depth, cx.site(None))), *inner[0]), inner[1])
    if isinstance(t, TupleType) and t.elems:
        parts = [_rt_shape(cx, e, depth + 1) for e in t.elems]
        known = [p for p in parts if p is not None]
        if len(known) < len(parts):
            return None
        return ((len(t.elems), *known[0][0]), _widest([kind for _, kind in known]))
    return None


def _widest(kinds: list[Any]) -> Any:
    """The type of a tensor of numbers of several types."""
    return next(k for k in (COMPLEX, FLOAT, INT, BOOL, kinds[0]) if k in kinds)


def _nested(cx: Context, data: AbsVal, want: Type) -> Any:
    """The data as nested run-time lists."""
    obj = resolve(cx, data)
    if isinstance(obj, Rt):
        return obj.operand
    if is_scalar(obj) or not isinstance(want, ListType):
        return to_operand(cx, obj, want)
    elems = elements(cx, data) or []
    return cx.host("list.new", *(_nested(cx, e, want.elem) for e in elems), type_=want, label="data")


def _stacked(cx: Context, data: AbsVal, dtype: torch.dtype | None) -> AbsVal | None:
    """torch.tensor over 0-d tensors: reads each one, as eager does."""
    elems = elements(cx, data)
    if elems is None:
        return None
    parts: list[AbsVal] = []
    for e in elems:
        o = resolve(cx, e)
        if isinstance(o, Tensor):
            if o.rank != 0:
                return None
            from torch2cpp.binding.aten import scalar_item

            parts.append(scalar_item(cx, o))
        else:
            parts.append(o)
    return tensor_from_data(cx, Tup(tuple(parts)), dtype)
