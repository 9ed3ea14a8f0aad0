"""Attributes and methods of tensors that are not one ATen operator of the same name."""

from __future__ import annotations

import types
from collections.abc import Callable
from itertools import pairwise

import torch

from torch2cpp.binding import operators
from torch2cpp.binding.aten import NoOverload, call_aten, elements, has_op, scalar_item
from torch2cpp.binding.context import Context
from torch2cpp.binding.convert import describe, from_operand, resolve
from torch2cpp.binding.values import NONE, AbsVal, Host, Native, Static, Sym, Tensor, Tup

CPU = torch.device("cpu")

_DTYPES = {
    "float": torch.float32, "double": torch.float64, "half": torch.float16, "bfloat16": torch.bfloat16,
    "int": torch.int32, "long": torch.int64, "short": torch.int16, "char": torch.int8, "byte": torch.uint8,
    "bool": torch.bool, "cfloat": torch.complex64, "cdouble": torch.complex128,
}  # fmt: skip

Method = Callable[[Context, Tensor, list[AbsVal], dict[str, AbsVal]], AbsVal]


def size_of(cx: Context, t: Tensor, dim: int) -> AbsVal:
    """`t.shape[dim]`: static where the size never varies."""
    from torch2cpp.binding.iteration import size_host

    d = t.meta.dims[dim]
    return size_host(cx, t, dim % t.rank) if isinstance(d, Sym) else Static(d)


def shape_of(cx: Context, t: Tensor) -> AbsVal:
    """`t.shape`"""
    if all(isinstance(d, int) for d in t.meta.dims):
        return Static(torch.Size(t.meta.dims))  # type: ignore[arg-type]
    return Tup(tuple(size_of(cx, t, i) for i in range(t.rank)), torch.Size)


def tensor_attribute(cx: Context, t: Tensor, name: str) -> AbsVal:
    """`t.name`. Raises Missing."""
    from torch2cpp.binding.attributes import Missing

    found = _property(cx, t, name)
    if found is not None:
        return found
    method = _METHODS.get(name)
    if method is not None:
        return Native(name, lambda c, a, k: method(c, t, a, k))
    if name in _REFUSED:
        cx.refuse("T2C197", f"tensor.{name}", _REFUSED[name])
    member = getattr(torch.Tensor, name, None)
    if isinstance(member, types.FunctionType) and not _wraps_builtin(name):
        from torch2cpp.binding.calls import call_python

        return Native(name, lambda c, a, k: call_python(c, member, [t, *a], k))
    if has_op(name):
        return Native(name, lambda c, a, k: aten_method(c, name, t, a, k))
    if member is None:
        raise Missing(f"'Tensor' object has no attribute '{name}'")
    cx.refuse("T2C197", f"tensor.{name} has no ATen operator", "use another tensor operation")


def _wraps_builtin(name: str) -> bool:
    return name.startswith("__")


def aten_method(cx: Context, name: str, t: Tensor, args: list[AbsVal], kwargs: dict[str, AbsVal]) -> AbsVal:
    """`t.name(...)` where that is an ATen operator."""
    from torch2cpp.binding import reshaped_in_place

    if name in reshaped_in_place.NAMES and not reshaped_in_place.is_state(cx, t):
        return reshaped_in_place.reshape_in_place(cx, name, t, args, kwargs)
    fixed = [_sequence(cx, a) for a in args]
    try:
        return call_aten(cx, name, [t, *fixed], kwargs)
    except NoOverload as error:
        cx.refuse("T2C151", f"no overload fits {error}", "check the arguments' types")


def _sequence(cx: Context, a: AbsVal) -> AbsVal:
    o = resolve(cx, a)
    return Static(list(o.value)) if isinstance(o, Static) and isinstance(o.value, range) else a


_REFUSED = {
    "backward": "deployed code computes no gradients",
    "numpy_": "use tolist() or tensor operations",
    "register_hook": "deployed code has no hooks",
    "data_ptr": "addresses differ from run to run",
    "apply_": "use tensor operations",
    "map_": "use tensor operations",
    "storage": "use views instead of the storage",
    "untyped_storage": "use views instead of the storage",
    "set_": "use copy_",
}


def _property(cx: Context, t: Tensor, name: str) -> AbsVal | None:
    match name:
        case "shape":
            return shape_of(cx, t)
        case "ndim":
            return Static(t.rank)
        case "dtype":
            return Static(t.meta.dtype)
        case "device":
            return Static(CPU)
        case "layout":
            return Static(torch.strided)
        case "itemsize":
            return Static(torch.empty(0, dtype=t.meta.dtype).element_size())
        case "T":
            return call_aten(cx, "numpy_T", [t])
        case "mT" | "mH" | "H":
            return call_aten(cx, {"mT": "mT", "mH": "mH", "H": "matrix_H"}[name], [t])
        case "data":
            return call_aten(cx, "detach", [t])
        case "real" | "imag":
            return call_aten(cx, name, [t]) if t.meta.dtype.is_complex or name == "imag" else t
        case "grad" | "grad_fn" | "names":
            return NONE
        case "requires_grad":
            return Static(False)
        case "is_leaf":
            return Static(True)
        case (
            "is_cuda"
            | "is_quantized"
            | "is_sparse"
            | "is_mps"
            | "is_meta"
            | "is_nested"
            | "is_xpu"
            | "is_mkldnn"
            | "is_sparse_csr"
        ):
            return Static(False)
        case "is_cpu":
            return Static(True)
    return None


# Methods -----------------------------------------------------------------------------------------


def _size(cx: Context, t: Tensor, args: list[AbsVal], kwargs: dict[str, AbsVal]) -> AbsVal:
    given = args[0] if args else kwargs.get("dim")
    if given is None:
        return shape_of(cx, t)
    if isinstance(given, Static):
        if not -t.rank <= given.value < t.rank:
            cx.raise_(
                IndexError,
                f"Dimension out of range (expected to be in range of [{-t.rank}, {t.rank - 1}], but got {given.value})",
            )
        return size_of(cx, t, given.value)
    from torch2cpp.binding.items import get_item

    return get_item(cx, shape_of(cx, t), given)


def numel(cx: Context, t: Tensor, args: list[AbsVal], kwargs: dict[str, AbsVal]) -> AbsVal:
    """`t.numel()`"""
    from torch2cpp.binding.values import WORLDS

    if all(isinstance(d, int) for d in t.meta.dims):
        return Static(torch.Size(t.meta.dims).numel())  # type: ignore[arg-type]
    out = cx.scalar("tensor.numel", t.operand)
    hints = [1] * WORLDS
    for d in t.meta.dims:
        for w in range(WORLDS):
            hints[w] *= d if isinstance(d, int) else d.hints[w]
    out.hints = tuple(hints)
    return out


def _to_dtype(dtype: torch.dtype) -> Method:
    def convert(cx: Context, t: Tensor, args: list[AbsVal], kwargs: dict[str, AbsVal]) -> AbsVal:
        return t if t.meta.dtype == dtype else call_aten(cx, "to", [t, Static(dtype)])

    return convert


def _to(cx: Context, t: Tensor, args: list[AbsVal], kwargs: dict[str, AbsVal]) -> AbsVal:
    """`t.to(...)`: the dtype counts; there is one device."""
    dtype: torch.dtype | None = None
    copy = False
    named = {k: v for k, v in kwargs.items() if k in ("dtype", "other", "copy")}
    for v in [*args, *named.values()]:
        o = resolve(cx, v)
        if isinstance(o, Static) and isinstance(o.value, torch.dtype):
            dtype = o.value
        elif isinstance(o, Tensor):
            dtype = o.meta.dtype
        elif isinstance(o, Static) and isinstance(o.value, torch.Tensor):
            dtype = o.value.dtype
        elif isinstance(o, Static) and isinstance(o.value, str | torch.device) and torch.device(o.value).type != "cpu":
            cx.refuse("T2C198", f"a tensor is moved to {o.value}", "the deployed program runs on the CPU")
    c = kwargs.get("copy")
    if isinstance(c, Static):
        copy = bool(c.value)
    if copy:
        return call_aten(cx, "to", [t, Static(dtype or t.meta.dtype), Static(False), Static(True)])
    if dtype is None or dtype == t.meta.dtype:
        return t
    return call_aten(cx, "to", [t, Static(dtype)])


def _type(cx: Context, t: Tensor, args: list[AbsVal], kwargs: dict[str, AbsVal]) -> AbsVal:
    if not args and not kwargs:
        return Static(torch.empty(0, dtype=t.meta.dtype).type())
    v = args[0] if args else kwargs["dtype"]
    if isinstance(v, Static) and isinstance(v.value, str):
        v = Static(torch.empty(0).type(v.value).dtype)
    if isinstance(v, Static) and isinstance(v.value, type):
        v = Static(getattr(v.value, "dtype", None))
    return _to(cx, t, [v], {})


def _same(cx: Context, t: Tensor, args: list[AbsVal], kwargs: dict[str, AbsVal]) -> AbsVal:
    return t


def _item(cx: Context, t: Tensor, args: list[AbsVal], kwargs: dict[str, AbsVal]) -> AbsVal:
    return scalar_item(cx, t)


def to_list(cx: Context, t: Tensor) -> AbsVal:
    """`t.tolist()`"""
    from torch2cpp.binding.containers import run_time
    from torch2cpp.binding.values import Rt

    if t.rank == 0:
        return scalar_item(cx, t)
    v = cx.host("tensor.tolist", t.operand)
    out = from_operand(cx, v)
    assert isinstance(out, Rt)
    return run_time(cx, out, cx.site(None))


def _tolist(cx: Context, t: Tensor, args: list[AbsVal], kwargs: dict[str, AbsVal]) -> AbsVal:
    return to_list(cx, t)


def _len(cx: Context, t: Tensor, args: list[AbsVal], kwargs: dict[str, AbsVal]) -> AbsVal:
    if t.rank == 0:
        cx.raise_(TypeError, "len() of a 0-d tensor")
    return size_of(cx, t, 0)


def _view(cx: Context, t: Tensor, args: list[AbsVal], kwargs: dict[str, AbsVal]) -> AbsVal:
    return aten_method(cx, "view", t, args, {("dtype" if k == "dtype" else "size"): v for k, v in kwargs.items()})


def split_sizes(cx: Context, t: Tensor, sizes: list[AbsVal], dim: int) -> AbsVal:
    """Consecutive slices of given sizes along one dimension; views, as `split` gives."""
    from torch2cpp.binding.indexing import slice_dim

    out: list[AbsVal] = []
    at: AbsVal = Static(0)
    for s in sizes:
        end = operators.binary(cx, "+", at, s)
        out.append(call_narrow(cx, t, dim, at, s) if isinstance(s, Host) else slice_dim(cx, t, dim, [at, end, NONE]))
        at = end
    return Tup(tuple(out))


def call_narrow(cx: Context, t: Tensor, dim: int, start: AbsVal, length: AbsVal) -> AbsVal:
    """`t.narrow(dim, start, length)`"""
    return call_aten(cx, "narrow", [t, Static(dim), start, length])


def _dim_of(t: Tensor, v: AbsVal | None, default: int = 0) -> int:
    d = default if v is None else v.value
    assert isinstance(d, int)
    return d % max(1, t.rank)


def split(cx: Context, t: Tensor, args: list[AbsVal], kwargs: dict[str, AbsVal]) -> AbsVal:
    """`t.split(size_or_sizes, dim)`"""
    names = ["split_size", "dim"]
    given = dict(zip(names, args)) | {("split_size" if k.startswith("split_size") else k): v for k, v in kwargs.items()}
    dim = _dim_of(t, given.get("dim"))
    sizes = given["split_size"]
    listed = elements(cx, sizes)
    if listed is not None:
        return split_sizes(cx, t, listed, dim)
    o = resolve(cx, sizes)
    total = t.meta.dims[dim]
    if isinstance(o, Static) and isinstance(total, int):
        step = int(o.value)
        whole = [Static(min(step, total - i)) for i in range(0, total, step)] or [Static(0)]
        return split_sizes(cx, t, list(whole), dim)
    if isinstance(o, Static | Host):
        return call_aten(cx, "split", [t, o, Static(dim)])
    return call_aten(cx, "split_with_sizes", [t, sizes, Static(dim)])


def chunk(cx: Context, t: Tensor, args: list[AbsVal], kwargs: dict[str, AbsVal]) -> AbsVal:
    """`t.chunk(chunks, dim)`"""
    given = dict(zip(["chunks", "dim"], args)) | kwargs
    dim = _dim_of(t, given.get("dim"))
    total = t.meta.dims[dim]
    n = given["chunks"]
    if isinstance(n, Static) and isinstance(total, int):
        step = max(1, -(-total // n.value))
        sizes = [Static(min(step, total - i)) for i in range(0, total, step)] or [Static(0)] * n.value
        return split_sizes(cx, t, list(sizes), dim)
    return call_aten(cx, "chunk", [t, n, Static(dim)])


def tensor_split(cx: Context, t: Tensor, args: list[AbsVal], kwargs: dict[str, AbsVal]) -> AbsVal:
    """`t.tensor_split(sections_or_indices, dim)`"""
    from torch2cpp.binding.indexing import slice_dim

    given = dict(zip(["what", "dim"], args)) | {
        ("what" if k in ("indices_or_sections", "sections", "indices") else k): v for k, v in kwargs.items()
    }
    dim = _dim_of(t, given.get("dim"))
    cuts = elements(cx, given["what"])
    if cuts is not None:
        bounds = [NONE, *cuts, NONE]
        return Tup(tuple(slice_dim(cx, t, dim, [a, b, NONE]) for a, b in pairwise(bounds)))
    total = t.meta.dims[dim]
    n = given["what"]
    if isinstance(n, Static) and isinstance(total, int):
        base, extra = divmod(total, n.value)
        return split_sizes(cx, t, [Static(base + (i < extra)) for i in range(n.value)], dim)
    return call_aten(cx, "tensor_split", [t, n, Static(dim)])


def unbind(cx: Context, t: Tensor, args: list[AbsVal], kwargs: dict[str, AbsVal]) -> AbsVal:
    """`t.unbind(dim)`"""
    from torch2cpp.binding.indexing import _select

    dim = _dim_of(t, args[0] if args else kwargs.get("dim"))
    total = t.meta.dims[dim]
    if isinstance(total, int):
        return Tup(tuple(_select(cx, t, dim, Static(i)) for i in range(total)))
    return call_aten(cx, "unbind", [t, Static(dim)])


def nonzero(cx: Context, t: Tensor, args: list[AbsVal], kwargs: dict[str, AbsVal]) -> AbsVal:
    """`t.nonzero(as_tuple=False)`"""
    as_tuple = kwargs.get("as_tuple")
    found = call_aten(cx, "nonzero", [t])
    assert isinstance(found, Tensor)
    if isinstance(as_tuple, Static) and as_tuple.value:
        return unbind(cx, found, [Static(1)], {})
    return found


def equal(cx: Context, t: Tensor, args: list[AbsVal], kwargs: dict[str, AbsVal]) -> AbsVal:
    """`torch.equal(a, b)`: same sizes and values."""
    other = operators.tensor_of(cx, args[0] if args else kwargs["other"])
    assert other is not None
    if other.rank != t.rank:
        return Static(False)
    same = operators.truth(cx, operators.compare(cx, "==", shape_of(cx, t), shape_of(cx, other)))

    def values() -> AbsVal:
        flags = call_aten(cx, "all", [call_aten(cx, "eq", [t, other])])
        assert isinstance(flags, Tensor)
        return cx.scalar("tensor.truth", flags.operand)

    if isinstance(same, Static):
        return values() if same.value else Static(False)
    from torch2cpp.binding.control import branch

    return branch(cx, same.operand, values, lambda: Static(False), "equal", cx.span)


def allclose(cx: Context, t: Tensor, args: list[AbsVal], kwargs: dict[str, AbsVal]) -> AbsVal:
    """`torch.allclose(a, b, ...)`"""
    close = call_aten(cx, "isclose", [t, *args], kwargs)
    flags = call_aten(cx, "all", [close])
    assert isinstance(flags, Tensor)
    return cx.scalar("tensor.truth", flags.operand)


def _stride(cx: Context, t: Tensor, args: list[AbsVal], kwargs: dict[str, AbsVal]) -> AbsVal:
    cx.refuse("T2C197", "tensor.stride()", "strides differ between compilers; use the shape")


def _numpy(cx: Context, t: Tensor, args: list[AbsVal], kwargs: dict[str, AbsVal]) -> AbsVal:
    from torch2cpp.binding.numpy_arrays import of_tensor

    return of_tensor(cx, t)


def _bool_method(name: str) -> Method:
    def call(cx: Context, t: Tensor, args: list[AbsVal], kwargs: dict[str, AbsVal]) -> AbsVal:
        return Static(getattr(t.meta.dtype, name) if name != "is_signed" else t.meta.dtype.is_signed)

    return call


def _unique(cx: Context, t: Tensor, args: list[AbsVal], kwargs: dict[str, AbsVal]) -> AbsVal:
    from torch2cpp.binding.torch_api import unique

    return unique(cx, [t, *args], kwargs)


def _new_tensor(cx: Context, t: Tensor, args: list[AbsVal], kwargs: dict[str, AbsVal]) -> AbsVal:
    """`t.new_tensor(data)`: the dtype of `t` unless another is given."""
    from torch2cpp.binding.make_tensor import tensor_from_data

    dtype = kwargs.get("dtype")
    given = dtype.value if isinstance(dtype, Static) and dtype.value is not None else t.meta.dtype
    data = args[0] if args else kwargs["data"]
    made = tensor_from_data(cx, data, given)
    if made is None:
        cx.refuse("T2C199", f"new_tensor({describe(cx, data)})", "give it numbers or nested lists of numbers")
    return made


_METHODS: dict[str, Method] = {
    "size": _size,
    "dim": lambda cx, t, a, k: Static(t.rank),
    "ndimension": lambda cx, t, a, k: Static(t.rank),
    "numel": numel,
    "nelement": numel,
    "item": _item,
    "tolist": _tolist,
    "__len__": _len,
    "to": _to,
    "type": _type,
    "type_as": lambda cx, t, a, k: _to(cx, t, a, k),
    "cpu": _same,
    "cuda": lambda cx, t, a, k: cx.refuse("T2C198", "tensor.cuda()", "the deployed program runs on the CPU"),
    "numpy": _numpy,
    "requires_grad_": _same,
    "pin_memory": _same,
    "view": _view,
    "split": split,
    "split_with_sizes": split,
    "chunk": chunk,
    "tensor_split": tensor_split,
    "unbind": unbind,
    "nonzero": nonzero,
    "equal": equal,
    "allclose": allclose,
    "stride": _stride,
    "unique": _unique,
    "where": lambda cx, t, a, k: call_aten(cx, "where", [a[0], t, *a[1:]], k),
    "is_floating_point": _bool_method("is_floating_point"),
    "is_complex": _bool_method("is_complex"),
    "is_signed": _bool_method("is_signed"),
    "element_size": lambda cx, t, a, k: Static(torch.empty(0, dtype=t.meta.dtype).element_size()),
    "get_device": lambda cx, t, a, k: Static(-1),
    "new_tensor": _new_tensor,
    "copy": lambda cx, t, a, k: call_aten(cx, "clone", [t]),
    "astype": lambda cx, t, a, k: _to(cx, t, a, k),
    **{name: _to_dtype(dtype) for name, dtype in _DTYPES.items()},
}
