"""Calls of torch builtins: overload resolution against ATen's schemas, metadata, one `TensorOp` each.

Python's argument parser and ATen's schemas agree but for a few spellings (`axis` for `dim`, sizes
given one by one), which are mended here.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import torch

from torch2cpp.binding.context import Context, Restart, tensor_type
from torch2cpp.binding.convert import describe, from_operand, resolve
from torch2cpp.binding.identity import note_new
from torch2cpp.binding.in_python import tensor_lists
from torch2cpp.binding.meta import OpFails, evaluate
from torch2cpp.binding.shadow import item_hints, shadow_of
from torch2cpp.binding.special_shapes import special_result
from torch2cpp.binding.values import AbsVal, Choice, Host, ListObj, Meta, Rt, StarRest, Static, Tensor, Tup
from torch2cpp.hostir.ops import Operand, TensorOp, Value, leaves, map_leaves
from torch2cpp.hostir.types import INT, NEVER, ListType, OptionalType, TensorType

#: Python's spelling of an argument -> ATen's.
ALIASES = {"axis": "dim", "keepdims": "keepdim", "input": "self", "x": "self", "axes": "dims"}

_TYPES = {
    "ScalarType": torch.dtype,
    "Layout": torch.layout,
    "MemoryFormat": torch.memory_format,
}


class NoOverload(Exception):
    """No overload of the operator takes these arguments."""


@cache
def overloads(name: str) -> tuple[torch._ops.OpOverload, ...]:
    """The functional and in-place overloads of `aten::name` that return tensors."""
    packet = getattr(torch.ops.aten, name, None)
    if packet is None or not isinstance(packet, torch._ops.OpOverloadPacket):
        return ()
    out = []
    for overload_name in packet.overloads():  # type: ignore[no-untyped-call]
        op = getattr(packet, overload_name)
        schema = op._schema
        if "hacked_twin" in overload_name or overload_name.startswith("prim_"):
            continue
        if any(a.is_out for a in schema.arguments):
            continue
        returns = [str(r.type) for r in schema.returns]
        writes = any(a.alias_info is not None and a.alias_info.is_write for a in schema.arguments)
        if not writes and not all(r in ("Tensor", "List[Tensor]") for r in returns):
            continue
        if any("Dimname" in str(a.real_type) for a in schema.arguments) or (not returns and not writes):
            continue
        if not any("Tensor" in str(a.type) for a in schema.arguments) and not returns:
            continue
        out.append(op)
    return tuple(out)


def has_op(name: str) -> bool:
    """Whether ATen has an operator of this name that works on tensors."""
    return bool(overloads(name))


def call_aten(
    cx: Context, name: str, args: list[AbsVal], kwargs: dict[str, AbsVal] | None = None, label: str = ""
) -> AbsVal:
    """Emits a call of `aten::name` on abstract values. Raises NoOverload if none fits."""
    kwargs = {ALIASES.get(k, k): v for k, v in (kwargs or {}).items() if k != "out" or not _is_none(v)}
    if "generator" in kwargs:
        from torch2cpp.binding.random_numbers import draw

        generator = kwargs.pop("generator")
        return draw(cx, generator, lambda: call_aten(cx, name, args, kwargs, label))
    if args and isinstance(args[-1], StarRest):
        args = [*args[:-1], args[-1].value]  # sizes given one by one are a list to ATen
    mixed = next((i for i, a in enumerate(args) if _holds_choice(cx, a)), None)
    if mixed is not None:
        return _with_choice(cx, name, args, kwargs, label, mixed)
    optional = next((v for v in [*args, *kwargs.values()] if _may_be_none(cx, v)), None)
    if optional is not None:
        return _with_optional(cx, name, args, kwargs, label, optional)
    for overload in overloads(name):
        bound = _bind(cx, overload, args, kwargs)
        if bound is not None:
            return emit_op(cx, overload, bound, label or name)
    read = _read_scalars(cx, name, args)
    if read is not None:
        return call_aten(cx, name, read, kwargs, label)
    raise NoOverload(f"aten::{name}({', '.join(describe(cx, a) for a in [*args, *kwargs.values()])})")


def _holds_choice(cx: Context, v: AbsVal) -> bool:
    return any(isinstance(e, Choice) for e in elements(cx, v) or ())


def _with_choice(cx: Context, name: str, args: list[AbsVal], kwargs: dict[str, AbsVal], label: str, at: int) -> AbsVal:
    """A sequence argument with an element of several kinds: one call for each kind."""
    from torch2cpp.binding.choices import distribute

    elems = elements(cx, args[at]) or []
    i = next(i for i, e in enumerate(elems) if isinstance(e, Choice))

    def one(v: AbsVal) -> AbsVal:
        swapped = Tup((*elems[:i], v, *elems[i + 1 :]))
        return call_aten(cx, name, [*args[:at], swapped, *args[at + 1 :]], kwargs, label)

    return distribute(cx, elems[i], one)


def _may_be_none(cx: Context, v: AbsVal) -> bool:
    return isinstance(v, Rt) and isinstance(v.type, OptionalType)


def _with_optional(
    cx: Context, name: str, args: list[AbsVal], kwargs: dict[str, AbsVal], label: str, optional: Rt
) -> AbsVal:
    """An argument that may be None: one call without it and one with it; Python's error if it must be there."""
    from torch2cpp.binding.control import branch
    from torch2cpp.binding.optional import held, is_none

    def with_value(v: AbsVal) -> AbsVal:
        swapped = [v if a is optional else a for a in args]
        return call_aten(cx, name, swapped, {k: v if a is optional else a for k, a in kwargs.items()}, label)

    def without() -> AbsVal:
        try:
            return with_value(Static(None))
        except NoOverload:
            cx.raise_(TypeError, f"{name}(): an argument must be a Tensor or number, not NoneType")

    missing = is_none(cx, optional)
    if isinstance(missing, Static):
        return without() if missing.value else with_value(held(cx, optional))
    return branch(cx, missing.operand, without, lambda: with_value(held(cx, optional)), label or name, cx.span)


def _read_scalars(cx: Context, name: str, args: list[AbsVal]) -> list[AbsVal] | None:
    """Python lets a tensor of one element stand for a number where only numbers are taken: it is read."""
    if not any(isinstance(a, Tensor) and a.rank == 0 for a in args):
        return None
    first_is_self = bool(args) and isinstance(args[0], Tensor) and args[0].rank > 0
    out = [scalar_item(cx, a) if isinstance(a, Tensor) and a.rank == 0 else a for a in args]
    return out if first_is_self or not any(isinstance(a, Tensor) for a in out) else None


def _is_none(v: AbsVal) -> bool:
    return isinstance(v, Static) and v.value is None


def _bind(cx: Context, op: torch._ops.OpOverload, args: list[AbsVal], kwargs: dict[str, AbsVal]) -> Any:
    """Arguments by schema name, converted; None if they do not fit."""
    params = op._schema.arguments
    positional = [p for p in params if not p.kwarg_only]
    if _takes_varargs(positional, args):
        first = next(i for i, p in enumerate(positional) if str(p.real_type) == "List[int]")
        rest = args[first:]
        if len(rest) > 1 and all(_is_int(cx, a) for a in rest):
            args = [*args[:first], Tup(tuple(rest))]
    if len(args) > len(positional):
        return None
    bound: dict[str, Any] = {}
    for p, a in zip(positional, args):
        bound[p.name] = a
    by_name = {p.name: p for p in params}
    for k, v in kwargs.items():
        key = k if k in by_name else {"self": "input", "dim": "dims", "dims": "dim"}.get(k, k)
        if key not in by_name or key in bound:
            return None
        bound[key] = v
    out: dict[str, Any] = {}
    for p in params:
        if p.name not in bound:
            if not p.has_default_value() and not _defaults_to_none(p):
                return None
            continue
        converted = _fit(cx, str(p.real_type), p.N, bound[p.name])  # type: ignore[attr-defined]
        if converted is _NO:
            return None
        out[p.name] = converted
    return out


_NO = object()
#: Tensors with larger sides are not made just to see how an operator fails.
_SMALL = 1024


def _defaults_to_none(p: Any) -> bool:
    # `requires_grad` and the like are not in schemas; optional tensor options always default to None
    return p.kwarg_only and str(p.real_type).startswith("Optional")


def _takes_varargs(positional: list[Any], args: list[AbsVal]) -> bool:
    lists = [i for i, p in enumerate(positional) if str(p.real_type) == "List[int]"]
    # `roll(1, 0)` gives one number for each of two lists
    return bool(lists) and len(args) > 1 and lists[0] + 1 not in lists


def _is_int(cx: Context, v: AbsVal) -> bool:
    if isinstance(v, Host):
        return v.type == INT
    if isinstance(v, Tensor):
        return v.rank == 0 and not v.meta.dtype.is_floating_point and v.meta.dtype is not torch.bool
    return isinstance(v, Static) and isinstance(v.value, int) and not isinstance(v.value, bool)


def elements(cx: Context, v: AbsVal) -> list[AbsVal] | None:
    """The elements of a sequence of known length."""
    v = resolve(cx, v)
    if isinstance(v, Tup | ListObj):
        return list(v.elems)
    if isinstance(v, Static) and isinstance(v.value, tuple | list):
        return [Static(x) for x in v.value]
    if isinstance(v, Rt) and isinstance(v.type, ListType) and v.type.elem == NEVER:
        return []  # nothing was put in on any path
    return None


def _fit(cx: Context, kind: str, n: int | None, v: AbsVal) -> Any:
    """The argument as the schema wants it, or _NO."""
    if kind.startswith("Optional["):
        if _is_none(v):
            return None
        return _fit(cx, kind[9:-1], n, v)
    obj = resolve(cx, v)
    if kind == "Tensor":
        return _tensor(cx, obj)
    if kind == "number":
        return _number(obj)
    if kind == "int":
        return _int(cx, obj)
    if kind == "float":
        return float(obj.value) if isinstance(obj, Static) and isinstance(obj.value, bool) else _number(obj)
    if kind == "bool":
        if isinstance(obj, Static):
            return obj.value if isinstance(obj.value, bool) else _NO
        return obj if isinstance(obj, Host) and obj.type.kind == "bool" else _NO
    if kind in _TYPES or kind == "str":
        want = str if kind == "str" else _TYPES[kind]
        return obj.value if isinstance(obj, Static) and isinstance(obj.value, want) else _NO
    if kind == "Device":
        if isinstance(obj, Static) and isinstance(obj.value, str | torch.device):
            return torch.device(obj.value)
        return _NO
    if kind == "Generator":
        return _NO
    if kind.startswith("List["):
        return _list(cx, kind[5:-1], n, v)
    return _NO


def _tensor(cx: Context, obj: AbsVal) -> Any:
    if isinstance(obj, Tensor):
        return obj
    if isinstance(obj, Rt) and isinstance(obj.type, OptionalType) and isinstance(obj.type.elem, TensorType):
        from torch2cpp.binding.optional import held_or_raise

        return held_or_raise(cx, obj, TypeError, "a Tensor is needed, not NoneType")
    if isinstance(obj, Static) and isinstance(obj.value, torch.Tensor):
        return cx.weight(obj.value)
    return _NO


def _number(obj: AbsVal) -> Any:
    if isinstance(obj, Static):
        return obj.value if isinstance(obj.value, bool | int | float | complex) else _NO
    return obj if isinstance(obj, Host) and obj.type.kind != "str" else _NO


def _int(cx: Context, obj: AbsVal) -> Any:
    if isinstance(obj, Static):
        return int(obj.value) if isinstance(obj.value, int) and not isinstance(obj.value, bool) else _NO
    if isinstance(obj, Host):
        return obj if obj.type == INT else _NO
    if isinstance(obj, Tensor) and _is_int(cx, obj):
        return scalar_item(cx, obj)
    return _NO


def _without_none(cx: Context, v: AbsVal) -> AbsVal:
    """A run-time list whose elements may be None, as one of the elements themselves; None raises."""
    from torch2cpp.binding.calls import call

    return call(cx, Static(tensor_lists.without_none), [v], {})


def _list(cx: Context, kind: str, n: int | None, v: AbsVal) -> Any:
    obj = resolve(cx, v)
    if isinstance(obj, Rt) and isinstance(obj.type, ListType):
        if kind == "Tensor" and isinstance(obj.type.elem, OptionalType):
            return _fit(cx, "List[Tensor]", n, _without_none(cx, v))
        elem = obj.type.elem
        fits = isinstance(elem, TensorType) == (kind == "Tensor") and kind in ("Tensor", "int")
        return obj if fits else _NO
    elems = elements(cx, v)
    if elems is None:
        if kind in ("int", "float"):
            # a single number stands for a list of it
            one = _fit(cx, kind, None, v)
            return _NO if one is _NO else [one] * max(1, n or 1)
        return _NO
    out = [_fit(cx, kind, None, e) for e in elems]
    return _NO if any(x is _NO for x in out) else out


# Emission ----------------------------------------------------------------------------------------


def emit_op(cx: Context, op: torch._ops.OpOverload, bound: dict[str, Any], label: str) -> AbsVal:
    """Emits one operator call with arguments by schema name."""
    args, kwargs = _arrange(op, bound)
    try:
        out = special_result(cx, op, args, kwargs)
        if out is None:
            out = evaluate(cx, op, args, kwargs, op.name())  # type: ignore[no-untyped-call]
    except OpFails as error:
        anyhow = error.anyhow or _error_of_known(op, args, kwargs) if cx.inside_options else None
        if anyhow is not None:
            cx.raise_(type(anyhow), str(anyhow))
        if cx.inside_options and any(isinstance(x, Tensor) and 0 in x.meta.dims for x in leaves((args, kwargs))):
            # A tensor made of no rows: the program may never meet it.
            name = op._schema.name.removeprefix("aten::")
            cx.raise_(RuntimeError, f"{name} of a tensor without elements fails for every size that was tried")
        cx.refuse(
            "T2C140",
            f"{op._schema.name.removeprefix('aten::')} fails for every sample size: {error}",
            "check the shapes that reach this line; give an example input that takes this path",
        )
    cx.mark("tensor")
    return _results(cx, op, args, kwargs, out, label)


def _error_of_known(op: torch._ops.OpOverload, args: list[Any], kwargs: dict[str, Any]) -> Exception | None:
    """What an operator raises on tensors whose sizes are all known; None where one is not."""

    def real(x: Any) -> Any:
        if isinstance(x, Tensor):
            return torch.zeros([d for d in x.meta.dims if isinstance(d, int)], dtype=x.meta.dtype)
        return x.value if isinstance(x, Static) else x

    for x in leaves((args, kwargs)):
        sized = isinstance(x, Tensor) and all(isinstance(d, int) and d <= _SMALL for d in x.meta.dims)
        if isinstance(x, Host | Rt | Choice | Value) or (isinstance(x, Tensor) and not sized):
            return None
    try:
        op(*map_leaves(args, real), **map_leaves(kwargs, real))
    except (RuntimeError, IndexError, TypeError, ValueError) as error:
        return error
    return None


def _arrange(op: torch._ops.OpOverload, bound: dict[str, Any]) -> tuple[list[Any], dict[str, Any]]:
    params = op._schema.arguments
    positional = [p for p in params if not p.kwarg_only]
    last = max((i for i, p in enumerate(positional) if p.name in bound), default=-1)
    args = [bound[p.name] if p.name in bound else _default(p) for p in positional[: last + 1]]
    kwargs = {p.name: bound[p.name] for p in params if p.kwarg_only and p.name in bound}
    return args, kwargs


def _default(p: Any) -> Any:
    value = p.default_value
    return list(value) if isinstance(value, list | tuple) else value


def _operand(leaf: Any) -> Operand:
    return leaf.operand if isinstance(leaf, Tensor | Host | Rt) else leaf


def _results(
    cx: Context, op: torch._ops.OpOverload, args: list[Any], kwargs: dict[str, Any], out: Any, label: str
) -> AbsVal:
    from torch2cpp.hostir.ops import map_leaves

    plain_args = tuple(map_leaves(list(args), _operand))
    plain_kwargs = map_leaves(kwargs, _operand)
    written = [a for a, p in zip(args, op._schema.arguments) if p.alias_info is not None and p.alias_info.is_write]
    returns = op._schema.returns
    if written and all(r.alias_info is not None and r.alias_info.is_write for r in returns):
        cx.emit(TensorOp((), op, plain_args, plain_kwargs, cx.span))
        note_write(cx, written[0])
        return _rewritten(cx, op, args, written[0], out)
    metas = out if len(returns) > 1 else [out]
    values: list[Value] = []
    abstract: list[AbsVal] = []
    for r, meta in zip(returns, metas):
        name = r.name if r.name and len(returns) > 1 else label
        if str(r.type) == "List[Tensor]":
            for arg in args:
                cx.note_stored(arg.bases if isinstance(arg, Tensor) else frozenset())
            v, a = _list_result(cx, meta, name)
        else:
            v = cx.value(tensor_type(meta), name)
            known = shadow_of(op, args, kwargs, meta) if len(returns) == 1 and not written else None
            a = Tensor(v, meta, known, _bases(op, args, r))
        values.append(v)
        abstract.append(a)
    cx.emit(TensorOp(tuple(values), op, plain_args, plain_kwargs, cx.span))
    note_new(cx, op, values)
    if len(returns) == 1:
        return abstract[0]
    names = tuple(r.name for r in returns) if all(r.name for r in returns) else ()
    cls = getattr(torch.return_types, op._schema.name.removeprefix("aten::"), None)
    return Tup(tuple(abstract), cls if names else None, names)


def _bases(op: torch._ops.OpOverload, args: list[Any], returned: Any) -> frozenset[str]:
    """The weights a result may be a view of, by the schema's alias sets."""
    if returned.alias_info is None:
        return frozenset()
    sets = returned.alias_info.before_set
    out: frozenset[str] = frozenset()
    for a, p in zip(args, op._schema.arguments):
        if p.alias_info is not None and p.alias_info.before_set & sets and isinstance(a, Tensor):
            out |= a.bases
    return out


def _rewritten(cx: Context, op: torch._ops.OpOverload, args: list[Any], target: Any, out: Any) -> AbsVal:
    """What an in-place operator returns: its target, with a new size after `resize_` and its like."""
    if isinstance(target, Tensor):
        target.shadow = None
        if isinstance(out, Meta) and op._schema.name in RESIZING:
            name = cx.loaded.get(target.operand.id) if isinstance(target.operand, Value) else None
            if name is not None and name not in cx.facts.resized_weights:
                cx.facts.resized_weights.add(name)
                raise Restart
            return Tensor(target.operand, out)
    return target


#: In-place operators that change their target's size.
RESIZING = ("aten::resize_", "aten::resize_as_", "aten::squeeze_", "aten::unsqueeze_", "aten::t_", "aten::transpose_")


def _list_result(cx: Context, metas: Any, name: str) -> tuple[Value, AbsVal]:
    """A list of tensors: of run-time length when `metas` is a single Meta (the common element)."""
    if isinstance(metas, Meta):
        v = cx.value(ListType(tensor_type(metas), "tuple"), name)
        return v, Rt(v, v.type, example=Tensor(v, metas))
    elem = metas[0] if metas else Meta(torch.float32, ())
    from torch2cpp.binding.meta import merge_meta

    for m in metas[1:]:
        elem = merge_meta(elem, m) or elem
    v = cx.value(ListType(tensor_type(elem), "tuple"), name)
    return v, Rt(v, v.type, example=Tensor(v, elem))


def note_write(cx: Context, target: AbsVal) -> None:
    """A write to a tensor of the model, or to a view of one, makes it state."""
    if isinstance(target, Tensor):
        cx.note_written(target.bases)


def scalar_item(cx: Context, t: Tensor) -> Host:
    """`t.item()`"""
    return from_item(cx, t, "tensor.item")


def from_item(cx: Context, t: Tensor, name: str) -> Host:
    """A host scalar read from a tensor."""
    v = cx.host(name, t.operand, label="item")
    out = from_operand(cx, v)
    assert isinstance(out, Host)
    if out.type.kind == "int":
        out.hints = item_hints(t) or out.hints
    return out
