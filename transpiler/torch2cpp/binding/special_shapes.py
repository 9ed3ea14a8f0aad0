"""Operators whose result sizes are decided by data, which meta tensors cannot tell."""

from __future__ import annotations

from typing import Any

import torch

from torch2cpp.binding.context import Context
from torch2cpp.binding.meta import DEFAULT_HINTS, distinct, evaluate, fresh_sym, merge_dims, size_in
from torch2cpp.binding.shadow import count_hints
from torch2cpp.binding.values import WORLDS, Dim, Meta, Rt, Sym, Tensor
from torch2cpp.hostir.types import ListType

LONG = torch.int64


def special_result(cx: Context, op: torch._ops.OpOverload, args: list[Any], kwargs: dict[str, Any]) -> Any:
    """The output tree of `Meta`, or None when meta tensors know."""
    name = op._schema.name.removeprefix("aten::")
    if any(isinstance(a, Rt) for a in args):
        return _run_time_list(cx, name, op, args, kwargs)
    rule = _RULES.get(name)
    return rule(cx, op, args, kwargs) if rule else None  # type: ignore[no-untyped-call]


def _count(cx: Context, *bounds: Dim) -> Sym:
    """A number of elements decided by data, plausible for a dimension of the given sizes."""
    hints = []
    for w in range(WORLDS):
        n = DEFAULT_HINTS[w]
        for b in bounds:
            n = min(n, max(size_in(b, w), 0))
        hints.append(n)
    if len(set(hints)) == 1:
        hints = [hints[0], hints[0] + 1, hints[0] + 2]
    return fresh_sym(cx, ("count", cx.site(None), len(bounds)), tuple(hints))


def _nonzero(cx: Context, op: Any, args: list[Any], kwargs: dict[str, Any]) -> Any:
    known = count_hints(args[0])
    n = Sym(distinct(known)) if known else _count(cx, *args[0].meta.dims[:1])
    return Meta(LONG, (n, args[0].rank))


def _where(cx: Context, op: Any, args: list[Any], kwargs: dict[str, Any]) -> Any:
    if op._overloadname != "default":
        return None
    n = _count(cx, *args[0].meta.dims[:1])
    return [Meta(LONG, (n,)) for _ in range(max(1, args[0].rank))]


def _nonzero_numpy(cx: Context, op: Any, args: list[Any], kwargs: dict[str, Any]) -> Any:
    n = _count(cx, *args[0].meta.dims[:1])
    return [Meta(LONG, (n,)) for _ in range(max(1, args[0].rank))]


def _masked_select(cx: Context, op: Any, args: list[Any], kwargs: dict[str, Any]) -> Any:
    return Meta(args[0].meta.dtype, (_count(cx),))


def _index(cx: Context, op: Any, args: list[Any], kwargs: dict[str, Any]) -> Any:
    """Boolean masks select a number of elements decided by data; all other sizes follow."""
    indices = args[1]
    if not any(isinstance(i, Tensor) and i.meta.dtype in (torch.bool, torch.uint8) for i in indices):
        return None
    n: Sym | None = None
    flat: list[Any] = []
    for i in indices:
        if isinstance(i, Tensor) and i.meta.dtype in (torch.bool, torch.uint8):
            n = n or _count(cx, *i.meta.dims[:1])
            flat += [Tensor(i.operand, Meta(LONG, (n,))) for _ in range(i.rank)]
        else:
            flat.append(i)
    return evaluate(cx, op, [args[0], flat, *args[2:]], kwargs, op.name())


def _unique(cx: Context, op: Any, args: list[Any], kwargs: dict[str, Any]) -> Any:
    name = op._schema.name
    x = args[0]
    n = _count(cx)
    if "dim" in name:
        dim = args[1] % max(1, x.rank)
        values: tuple[Dim, ...] = tuple(n if i == dim else d for i, d in enumerate(x.meta.dims))
        inverse: tuple[Dim, ...] = (x.meta.dims[dim],)
    else:
        values, inverse = (n,), x.meta.dims
    inverse_flag, counts_flag = _flags(op, args, kwargs)
    if name == "aten::unique_dim":
        inverse_flag = counts_flag = True  # both are computed, whether asked for or not
    return [
        Meta(x.meta.dtype, values),
        Meta(LONG, inverse if inverse_flag else (0,)),
        Meta(LONG, (n,) if counts_flag else (0,)),
    ][: len(op._schema.returns)]


def _flags(op: Any, args: list[Any], kwargs: dict[str, Any]) -> tuple[bool, bool]:
    given = {p.name: a for p, a in zip(op._schema.arguments, args)} | kwargs
    return bool(given.get("return_inverse", False)), bool(given.get("return_counts", False))


def _repeat_interleave(cx: Context, op: Any, args: list[Any], kwargs: dict[str, Any]) -> Any:
    if op._overloadname == "Tensor":
        return Meta(LONG, (_count(cx),))
    if op._overloadname != "self_Tensor":
        return None
    x = args[0]
    dim = args[2] if len(args) > 2 else kwargs.get("dim")
    if dim is None:
        return Meta(x.meta.dtype, (_count(cx),))
    return Meta(x.meta.dtype, tuple(_count(cx) if i == dim % x.rank else d for i, d in enumerate(x.meta.dims)))


def _bincount(cx: Context, op: Any, args: list[Any], kwargs: dict[str, Any]) -> Any:
    weights = args[1] if len(args) > 1 else None
    dtype = LONG if weights is None else torch.float64
    return Meta(dtype, (_count(cx),))


def _pack(cx: Context, op: Any, args: list[Any], kwargs: dict[str, Any]) -> Any:
    x, _, batch_first = args
    steps = fresh_sym(cx, ("steps", cx.site(None)), x.meta.dims[1 if batch_first else 0].hints
                      if isinstance(x.meta.dims[1 if batch_first else 0], Sym) else DEFAULT_HINTS)  # fmt: skip
    return [Meta(x.meta.dtype, (_count(cx), *x.meta.dims[2:])), Meta(LONG, (steps,))]


def _pad_packed(cx: Context, op: Any, args: list[Any], kwargs: dict[str, Any]) -> Any:
    data, batch_sizes, batch_first = args[0], args[1], args[2]
    batch = fresh_sym(cx, ("batch", cx.site(None)))
    steps = batch_sizes.meta.dims[0]
    lead: tuple[Dim, ...] = (batch, steps) if batch_first else (steps, batch)
    return [Meta(data.meta.dtype, (*lead, *data.meta.dims[1:])), Meta(LONG, (batch,))]


def _lstm(cx: Context, op: Any, args: list[Any], kwargs: dict[str, Any]) -> Any:
    """Recurrent operators are composites that meta tensors would unroll step by step."""
    gates = op._schema.name.removeprefix("aten::")
    packed = op._overloadname == "data"
    given = {p.name: a for p, a in zip(op._schema.arguments, args)}
    x = given["data"] if packed else given["input"]
    hx = given["hx"]
    h = hx[0] if isinstance(hx, list) else hx
    hidden = h.meta.dims[-1]
    directions = 2 if given["bidirectional"] else 1
    width = hidden * directions if isinstance(hidden, int) else hidden
    if gates == "lstm" and isinstance(hx, list) and isinstance(hx[1].meta.dims[-1], int):
        width = hidden * directions if isinstance(hidden, int) else hidden
    out = Meta(x.meta.dtype, (*x.meta.dims[:-1], width))
    states = hx if isinstance(hx, list) else [h]
    return [out, *(Meta(s.meta.dtype, s.meta.dims) for s in states)]


def _item_list(cx: Context, op: Any, args: list[Any], kwargs: dict[str, Any]) -> Any:
    """split/chunk/unbind: a list whose common element is known."""
    x = args[0]
    name = op._schema.name.removeprefix("aten::")
    given = {p.name: a for p, a in zip(op._schema.arguments, args)} | kwargs
    dim = given.get("dim", 0)
    dim = dim % x.rank if isinstance(dim, int) and x.rank else 0
    if name == "unbind":
        return [Meta(x.meta.dtype, tuple(d for i, d in enumerate(x.meta.dims) if i != dim))]
    piece: Dim = fresh_sym(cx, ("piece", cx.site(None)))
    return [Meta(x.meta.dtype, tuple(piece if i == dim else d for i, d in enumerate(x.meta.dims)))]


def _run_time_list(cx: Context, name: str, op: Any, args: list[Any], kwargs: dict[str, Any]) -> Any:
    """Operators over a list of run-time length: its common element stands for all."""
    lists = [a for a in args if isinstance(a, Rt)]
    assert isinstance(lists[0].type, ListType)
    example = lists[0].example
    from torch2cpp.binding.convert import meta_from
    from torch2cpp.hostir.types import TensorType

    elem_type = lists[0].type.elem
    if not isinstance(elem_type, TensorType):
        return _sizes_list(cx, name, op, args, kwargs)
    meta = meta_from(cx, elem_type, example, ("element", cx.site(None)))
    given = {p.name: a for p, a in zip(op._schema.arguments, args)} | kwargs
    dim = given.get("dim", 0)
    if name == "stack":
        rank = len(meta.dims) + 1
        dims: list[Dim] = list(meta.dims)
        dims.insert(dim % rank, _count(cx))
        return Meta(meta.dtype, tuple(dims))
    if name in ("cat", "concat", "concatenate"):
        out = list(meta.dims)
        if out:
            out[dim % len(out)] = _count(cx)
        return Meta(meta.dtype, tuple(out))
    one = Tensor(lists[0].operand, meta)
    two = Tensor(lists[0].operand, meta)
    swapped = [[one, two] if isinstance(a, Rt) else a for a in args]
    tree = evaluate(cx, op, swapped, kwargs, (op.name(), "list"))

    def widen(m: Any) -> Any:
        if isinstance(m, Meta):
            return Meta(m.dtype, tuple(_count(cx) if isinstance(d, int) else merge_dims(d, d) for d in m.dims))
        return [widen(x) for x in m] if isinstance(m, list) else m

    return widen(tree)


def _sizes_list(cx: Context, name: str, op: Any, args: list[Any], kwargs: dict[str, Any]) -> Any:
    if name.startswith("split"):
        return _item_list(cx, op, args, kwargs)
    cx.refuse(
        "T2C141",
        f"{name} with sizes from a list whose length is decided at run time: the rank of the result is unknown",
        "give the sizes one by one",
    )


def _embedding_bag(cx: Context, op: Any, args: list[Any], kwargs: dict[str, Any]) -> Any:
    """The CPU kernel gives its helper results other sizes than meta tensors say."""
    out = evaluate(cx, op, args, kwargs, op.name())
    helpers = [Meta(m.dtype, tuple(_count(cx) for _ in m.dims)) for m in out[1:]]
    return [out[0], *helpers]


def _one_hot(cx: Context, op: Any, args: list[Any], kwargs: dict[str, Any]) -> Any:
    classes = args[1]
    last = classes if isinstance(classes, int) else _count(cx)
    return Meta(LONG, (*args[0].meta.dims, last))


def _lstsq(cx: Context, op: Any, args: list[Any], kwargs: dict[str, Any]) -> Any:
    """With the driver that is taken by default, there are neither residuals nor singular values."""
    a, b = args[0], args[1]
    if kwargs.get("driver") is not None or a.rank != b.rank or a.rank < 2:
        return None
    batch = a.meta.dims[:-2]
    if any(x is not y and x != y for x, y in zip(batch, b.meta.dims)):
        return None
    none = Meta(a.meta.dtype, (0,))
    solution = Meta(a.meta.dtype, (*batch, a.meta.dims[-1], b.meta.dims[-1]))
    return [solution, none, Meta(LONG, batch), none]


_RULES = {
    "linalg_lstsq": _lstsq,
    "one_hot": _one_hot,
    "embedding_bag": _embedding_bag,
    "nonzero": _nonzero,
    "argwhere": _nonzero,
    "nonzero_numpy": _nonzero_numpy,
    "where": _where,
    "masked_select": _masked_select,
    "index": _index,
    "_unique2": _unique,
    "unique_dim": _unique,
    "_unique": _unique,
    "unique_consecutive": _unique,
    "unique_dim_consecutive": _unique,
    "repeat_interleave": _repeat_interleave,
    "bincount": _bincount,
    "_pack_padded_sequence": _pack,
    "_pad_packed_sequence": _pad_packed,
    "lstm": _lstm,
    "gru": _lstm,
    "rnn_tanh": _lstm,
    "rnn_relu": _lstm,
    "split": _item_list,
    "split_with_sizes": _item_list,
    "chunk": _item_list,
    "unbind": _item_list,
    "tensor_split": _item_list,
    "index_put_": lambda cx, op, args, kwargs: args[0].meta,
    "index_put": lambda cx, op, args, kwargs: args[0].meta,
}
