"""weights.safetensors: every parameter, buffer and constant of the model in one file.

Written so that the program can use the tensors where they lie: the data begins at a multiple of 64
bytes and tensors whose size is a multiple of 64 come first, so they are all aligned as torch aligns
its own storage.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Mapping
from pathlib import Path

import torch

_ALIGNMENT = 64
_DTYPES = {
    torch.float64: "F64",
    torch.float32: "F32",
    torch.float16: "F16",
    torch.bfloat16: "BF16",
    torch.float8_e4m3fn: "F8_E4M3",
    torch.float8_e5m2: "F8_E5M2",
    torch.complex64: "C64",
    torch.int64: "I64",
    torch.int32: "I32",
    torch.int16: "I16",
    torch.int8: "I8",
    torch.uint64: "U64",
    torch.uint32: "U32",
    torch.uint16: "U16",
    torch.uint8: "U8",
    torch.bool: "BOOL",
}


def write_weights(path: Path, weights: Mapping[str, torch.Tensor], metadata: Mapping[str, str] | None = None) -> None:
    """Writes the tensors under their names; the same tensors give the same bytes.

    Raises ValueError, with the tensor's name, for a dtype that the format does not have.
    """
    # Among the rest wider elements come first: each tensor starts at a multiple of its element size.
    order = sorted(weights, key=lambda n: (_size(weights[n]) % _ALIGNMENT != 0, -weights[n].element_size(), n))
    header: dict[str, object] = {"__metadata__": dict(metadata)} if metadata else {}
    at = 0
    for name in order:
        tensor = weights[name]
        if tensor.dtype not in _DTYPES:
            raise ValueError(f"weight {name} has dtype {tensor.dtype}, which safetensors files do not hold")
        end = at + _size(tensor)
        header[name] = {"dtype": _DTYPES[tensor.dtype], "shape": list(tensor.shape), "data_offsets": [at, end]}
        at = end
    text = json.dumps(header, separators=(",", ":")).encode()
    # The format lets the header end in spaces.
    text += b" " * (-(len(text) + 8) % _ALIGNMENT)
    with path.open("wb") as file:
        file.write(struct.pack("<Q", len(text)))
        file.write(text)
        for name in order:
            file.write(_bytes(weights[name]))


def _size(tensor: torch.Tensor) -> int:
    return tensor.numel() * tensor.element_size()


def _bytes(tensor: torch.Tensor) -> bytes:
    if tensor.numel() == 0:
        return b""
    plain = tensor.detach().cpu().resolve_conj().resolve_neg().contiguous()
    return plain.reshape(-1).view(torch.uint8).numpy().tobytes()
