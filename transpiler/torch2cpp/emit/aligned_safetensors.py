"""Writes safetensors files whose tensors lie where PyTorch's allocator would place them.

Kernels sum in another order on tensors that do not begin at a multiple of 64 bytes (measured: a
vector times a matrix at offset 8 differs in its last bits), so a mapped weight gives the bits of
eager only at such an address. The format allows no holes: fillers named `__fill_N` take them up.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Mapping
from pathlib import Path
from typing import TypedDict, final

import torch

ALIGNMENT = 64
#: torch dtype -> its name in the format.
_NAMES = {
    torch.bool: "BOOL", torch.uint8: "U8", torch.int8: "I8", torch.int16: "I16", torch.int32: "I32",
    torch.int64: "I64", torch.uint16: "U16", torch.uint32: "U32", torch.uint64: "U64", torch.float16: "F16",
    torch.bfloat16: "BF16", torch.float32: "F32", torch.float64: "F64", torch.complex64: "C64",
    torch.float8_e4m3fn: "F8_E4M3", torch.float8_e5m2: "F8_E5M2",
}  # fmt: skip


@final
class _Entry(TypedDict):
    dtype: str
    shape: list[int]
    #: First byte and the one after the last, from the end of the header.
    data_offsets: tuple[int, int]


def save_aligned(tensors: Mapping[str, torch.Tensor], path: Path) -> None:
    """Writes the file; readable by any safetensors library.

    Raises TypeError for a dtype the format has no name for, ValueError for a name that begins
    with `__`.
    """
    entries, end = _layout(tensors)
    header = json.dumps(entries, separators=(",", ":"), ensure_ascii=False).encode()
    header += b" " * (-(len(header) + 8) % ALIGNMENT)
    with path.open("wb") as file:
        file.write(struct.pack("<Q", len(header)))
        file.write(header)
        for name, t in tensors.items():
            begin = 8 + len(header) + entries[name]["data_offsets"][0]
            file.write(b"\0" * (begin - file.tell()))
            file.write(_bytes(t))
        assert file.tell() == 8 + len(header) + end


def _layout(tensors: Mapping[str, torch.Tensor]) -> tuple[dict[str, _Entry], int]:
    """The header, fillers included, and where the data ends."""
    entries: dict[str, _Entry] = {}
    at = 0
    for name, t in tensors.items():
        if name.startswith("__"):
            raise ValueError(f"a weight cannot be named {name!r}")
        if t.dtype not in _NAMES:
            raise TypeError(f"weight {name!r}: safetensors has no {t.dtype}")
        if gap := -at % ALIGNMENT:
            entries[f"__fill_{len(entries)}"] = _entry("U8", [gap], at, at + gap)
            at += gap
        size = t.numel() * t.element_size()
        entries[name] = _entry(_NAMES[t.dtype], list(t.shape), at, at + size)
        at += size
    return entries, at


def _entry(dtype: str, shape: list[int], begin: int, end: int) -> _Entry:
    return {"dtype": dtype, "shape": shape, "data_offsets": (begin, end)}


def _bytes(t: torch.Tensor) -> bytes:
    flat = t.detach().cpu().resolve_conj().resolve_neg().contiguous().reshape(-1)
    return flat.view(torch.uint8).numpy().tobytes() if flat.numel() else b""
