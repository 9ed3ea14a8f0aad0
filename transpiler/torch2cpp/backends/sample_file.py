"""Sample inputs and results on disk, in the form templates/regions/check_main.cpp.j2 reads and writes."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import Any, BinaryIO, final

import torch

from torch2cpp.hostir.types import ListType, ScalarType, TensorType, TupleType, Type

#: Where random numbers begin on each sample, in eager and in regions of programs without libtorch.
SEED = 0
#: torch dtype -> number of c10::ScalarType, part of the C ABI.
DTYPE_CODES = {
    torch.uint8: 0,
    torch.int8: 1,
    torch.int16: 2,
    torch.int32: 3,
    torch.int64: 4,
    torch.float16: 5,
    torch.float32: 6,
    torch.float64: 7,
    torch.complex32: 8,
    torch.complex64: 9,
    torch.complex128: 10,
    torch.bool: 11,
    torch.bfloat16: 15,
    torch.float8_e5m2: 23,
    torch.float8_e4m3fn: 24,
    torch.uint16: 27,
    torch.uint32: 28,
    torch.uint64: 29,
}
_DTYPES = {code: dtype for dtype, code in DTYPE_CODES.items()}


@final
class SampleWriter:
    """Writes values by their IR types."""

    def __init__(self, out: BinaryIO) -> None:
        self._out = out

    def value(self, x: Any, t: Type) -> None:
        """One argument."""
        match t:
            case TensorType():
                self.tensor(x)
            case ScalarType(kind="int"):
                self.int(x)
            case ScalarType(kind="float"):
                self._out.write(struct.pack("<d", x))
            case ScalarType(kind="bool"):
                self._out.write(struct.pack("<?", x))
            case ScalarType(kind="str"):
                data = x.encode()
                self.int(len(data))
                self._out.write(data)
            case ListType(elem=elem):
                self.int(len(x))
                for item in x:
                    self.value(item, elem)
            case TupleType(elems=elems):
                for item, elem in zip(x, elems, strict=True):
                    self.value(item, elem)
            case _:
                raise TypeError(f"a sample of type {t}")

    def int(self, x: int) -> None:
        """A count."""
        self._out.write(struct.pack("<q", x))

    def tensors(self, xs: Sequence[torch.Tensor]) -> None:
        """A list of tensors, such as the weights."""
        self.int(len(xs))
        for x in xs:
            self.tensor(x)

    def tensor(self, x: torch.Tensor) -> None:
        """Metadata and the storage from the first element to the last."""
        x = x.detach().resolve_conj().resolve_neg()
        self.int(DTYPE_CODES[x.dtype])
        for numbers in (x.shape, x.stride()):
            self.int(len(numbers))
            for n in numbers:
                self.int(n)
        extent = 0 if x.numel() == 0 else 1 + sum((n - 1) * s for n, s in zip(x.shape, x.stride()))
        data = x.as_strided((extent,), (1,)).contiguous().view(torch.uint8).numpy().tobytes() if extent else b""
        self.int(len(data))
        self._out.write(data)


@final
class ResultReader:
    """Reads back what the checker wrote."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 0

    @property
    def at_end(self) -> bool:
        """Whether everything was read: a checker that crashed leaves less than was asked for."""
        return self._at >= len(self._data)

    def value(self, t: Type) -> Any:
        """One value of the type."""
        match t:
            case TensorType():
                return self._tensor()
            case ScalarType(kind="int"):
                return self._int()
            case ScalarType(kind="float"):
                return self._raw("<d", 8)
            case ScalarType(kind="bool"):
                return self.bool()
            case ScalarType(kind="str"):
                return self.text()
            case ListType(elem=elem):
                return [self.value(elem) for _ in range(self._int())]
            case TupleType(elems=elems):
                return tuple(self.value(e) for e in elems)
            case _:
                raise TypeError(f"a result of type {t}")

    def bool(self) -> bool:
        """A flag."""
        return bool(self._raw("<?", 1))

    def text(self) -> str:
        """A message."""
        return self._bytes(self._int()).decode(errors="replace")

    def _int(self) -> int:
        return int(self._raw("<q", 8))

    def _raw(self, form: str, size: int) -> Any:
        return struct.unpack(form, self._bytes(size))[0]

    def _bytes(self, size: int) -> bytes:
        if self._at + size > len(self._data):
            raise EOFError("the checker stopped early")
        self._at += size
        return self._data[self._at - size : self._at]

    def _tensor(self) -> torch.Tensor:
        dtype = _DTYPES[self._int()]
        sizes = [self._int() for _ in range(self._int())]
        strides = [self._int() for _ in range(self._int())]
        data = self._bytes(self._int())
        if not data:
            return torch.empty_strided(sizes, strides, dtype=dtype)
        flat = torch.frombuffer(bytearray(data), dtype=torch.uint8).view(dtype)
        return flat.as_strided(sizes, strides)
