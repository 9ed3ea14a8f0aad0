"""`torch.Tensor(...)`, `torch.LongTensor(...)` and their like: of data, of sizes, or of a tensor."""

from __future__ import annotations

import torch

from torch2cpp.binding import operators
from torch2cpp.binding.aten import call_aten
from torch2cpp.binding.builtin_table import TABLE, Handler
from torch2cpp.binding.context import Context
from torch2cpp.binding.convert import describe, is_scalar, resolve
from torch2cpp.binding.make_tensor import tensor_from_data
from torch2cpp.binding.values import AbsVal, Static, Tup

_DTYPES = {
    torch.Tensor: torch.float32,
    torch.FloatTensor: torch.float32,
    torch.DoubleTensor: torch.float64,
    torch.HalfTensor: torch.float16,
    torch.BFloat16Tensor: torch.bfloat16,
    torch.ByteTensor: torch.uint8,
    torch.CharTensor: torch.int8,
    torch.ShortTensor: torch.int16,
    torch.IntTensor: torch.int32,
    torch.LongTensor: torch.int64,
    torch.BoolTensor: torch.bool,
}


def _constructor(dtype: torch.dtype, name: str) -> Handler:
    def make(cx: Context, args: list[AbsVal], kwargs: dict[str, AbsVal]) -> AbsVal:
        if kwargs:
            cx.refuse("T2C199", f"torch.{name} with {', '.join(kwargs)}", "use torch.tensor")
        if all(is_scalar(resolve(cx, a)) for a in args):
            sizes = Tup(tuple(args)) if args else Static((0,))
            return call_aten(cx, "empty", [sizes], {"dtype": Static(dtype)})
        t = operators.tensor_of(cx, resolve(cx, args[0]))
        if t is not None:
            if t.meta.dtype != dtype:
                cx.raise_(TypeError, f"expected {name} (got a tensor of {t.meta.dtype})")
            return call_aten(cx, "alias", [t])
        made = tensor_from_data(cx, args[0], dtype)
        if made is None or len(args) > 1:
            cx.refuse("T2C199", f"torch.{name}({describe(cx, args[0])})", "give it numbers or lists of numbers")
        return made

    return make


for _cls, _dtype in _DTYPES.items():
    TABLE[_cls] = _constructor(_dtype, _cls.__name__.rpartition(".")[2])
