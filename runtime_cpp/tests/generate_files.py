"""Writes tests/data/files/: tensors as numpy and safetensors store them, and safetensors files that must be refused."""

from __future__ import annotations

import json
import struct
from pathlib import Path
from typing import Any

import numpy as np
import torch
from safetensors.torch import save, save_file

from torch2cpp.emit.aligned_safetensors import save_aligned

FOLDER = Path(__file__).parent / "data" / "files"


def write_broken(name: str, header: dict[str, Any] | str, data: bytes) -> None:
    """A safetensors file with this header and data, right or wrong."""
    text = header if isinstance(header, str) else json.dumps(header)
    (FOLDER / name).write_bytes(struct.pack("<Q", len(text)) + text.encode() + data)


def entry(dtype: str, shape: list[int], begin: int, end: int) -> dict[str, Any]:
    """One tensor of a header."""
    return {"dtype": dtype, "shape": shape, "data_offsets": [begin, end]}


def main() -> None:
    FOLDER.mkdir(parents=True, exist_ok=True)
    grid = np.arange(6, dtype=np.float32).reshape(2, 3)
    np.save(FOLDER / "grid.npy", grid)
    np.save(FOLDER / "fortran.npy", np.asfortranarray(grid))
    np.save(FOLDER / "scalar.npy", np.int64(7))
    np.save(FOLDER / "flags.npy", np.array([True, False, True]))
    np.save(FOLDER / "empty.npy", np.zeros((0, 3), np.float16))
    np.save(FOLDER / "big_endian.npy", grid.astype(">f4"))
    np.savez(FOLDER / "stored.npz", x=grid, n=np.arange(3))
    np.savez_compressed(FOLDER / "deflated.npz", x=grid, n=np.arange(3), zeros=np.zeros(5000))
    weights = {"fc.weight": torch.arange(6.0).reshape(2, 3), "half": torch.tensor([1.5, -2.0], dtype=torch.bfloat16)}
    weights |= {'n\u00e4me "q"': torch.tensor(5), "none": torch.zeros(0, 4), "flag": torch.tensor([True])}
    save_file(weights, FOLDER / "good.safetensors", {"made by": "torch2cpp"})
    save_aligned(weights, FOLDER / "aligned.safetensors")
    whole = save({"a": torch.arange(4.0), "b": torch.arange(8.0)})
    (FOLDER / "truncated.safetensors").write_bytes(whole[:-10])
    (FOLDER / "short.safetensors").write_bytes(b"\x10\x00\x00")
    (FOLDER / "long_header.safetensors").write_bytes(struct.pack("<Q", 2**60) + b"{}")
    floats = struct.pack("<2f", 1.0, 2.0)
    write_broken(
        "misaligned.safetensors", {"b": entry("BOOL", [1], 0, 1), "x": entry("F32", [2], 1, 9)}, b"\x01" + floats
    )
    write_broken("hole.safetensors", {"x": entry("F32", [1], 4, 8)}, floats)
    write_broken("trailing.safetensors", {"x": entry("F32", [1], 0, 4)}, floats)
    write_broken("offsets.safetensors", {"x": entry("F32", [3], 0, 8)}, floats)
    write_broken("dtype.safetensors", {"x": entry("F7", [1], 0, 4)}, floats)
    write_broken("not_json.safetensors", '{"x": ', b"")
    write_broken("overflow.safetensors", {"x": entry("F32", [2**40, 2**40], 0, 8)}, floats)
    write_broken("twice.safetensors", '{"x":%s,"x":%s}' % ((json.dumps(entry("F32", [2], 0, 8)),) * 2), floats)


if __name__ == "__main__":
    main()
