"""Weights files that are used in place."""

from __future__ import annotations

import json
import struct
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file

from torch2cpp.emit.aligned_safetensors import ALIGNMENT, save_aligned

DTYPES = [
    torch.bool, torch.uint8, torch.int16, torch.int64, torch.float16, torch.bfloat16, torch.float32, torch.complex64,
]  # fmt: skip


def test_reads_back_and_lies_at_aligned_addresses(tmp_path: Path) -> None:
    tensors = {str(dtype): torch.arange(7).reshape(7, 1).to(dtype) for dtype in DTYPES}
    tensors |= {"0-d": torch.tensor(2.5), "empty": torch.zeros(0, 3), "strided": torch.arange(6.0).reshape(2, 3).t()}
    tensors["conjugate \u00e9"] = torch.tensor([1 + 2j]).conj()
    path = tmp_path / "weights.safetensors"
    save_aligned(tensors, path)

    loaded = load_file(path)
    for name, t in tensors.items():
        assert loaded[name].dtype == t.dtype and torch.equal(loaded[name], t), name
    assert all(name in tensors or name.startswith("__") for name in loaded)

    content = path.read_bytes()
    (length,) = struct.unpack("<Q", content[:8])
    header = json.loads(content[8 : 8 + length])
    assert all((8 + length + header[name]["data_offsets"][0]) % ALIGNMENT == 0 for name in tensors)


def test_refuses_what_the_format_cannot_hold(tmp_path: Path) -> None:
    with pytest.raises(TypeError, match=r"'c': safetensors has no torch\.complex128"):
        save_aligned({"c": torch.zeros(1, dtype=torch.complex128)}, tmp_path / "w")
    with pytest.raises(ValueError, match="cannot be named '__a'"):
        save_aligned({"__a": torch.zeros(1)}, tmp_path / "w")
