"""The weights file is plain safetensors, aligned, and the same bytes every time."""

from __future__ import annotations

import struct
from pathlib import Path

import pytest
import safetensors.torch
import torch

from torch2cpp.backends.weights import write_weights


def _weights() -> dict[str, torch.Tensor]:
    torch.manual_seed(0)
    tied = torch.randn(4, 16)
    return {
        "head.bias": torch.randn(3),
        "flags": torch.tensor([True, False, True]),
        "scale": torch.tensor(2.0, dtype=torch.float64),
        "steps": torch.arange(5),
        "half": torch.randn(2, 3).half(),
        "bf": torch.randn(7).bfloat16(),
        "weight": tied,
        "tied": tied,
        "transposed": torch.randn(16, 8).T,
        "empty": torch.zeros(0, 4),
    }


def test_other_readers_read_it(tmp_path: Path) -> None:
    write_weights(tmp_path / "w.safetensors", _weights(), {"format": "pt"})
    read = safetensors.torch.load_file(tmp_path / "w.safetensors")
    assert read.keys() == _weights().keys()
    for name, tensor in _weights().items():
        assert read[name].dtype == tensor.dtype
        assert torch.equal(read[name], tensor)


def test_large_tensors_are_aligned(tmp_path: Path) -> None:
    path = tmp_path / "w.safetensors"
    write_weights(path, _weights())
    data = path.read_bytes()
    start = 8 + struct.unpack("<Q", data[:8])[0]
    assert start % 64 == 0
    raw = _weights()["weight"].numpy().tobytes()
    assert data.index(raw) % 64 == 0


def test_same_bytes_whatever_the_order(tmp_path: Path) -> None:
    write_weights(tmp_path / "a", _weights())
    write_weights(tmp_path / "b", dict(reversed(_weights().items())))
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


def test_a_dtype_without_a_place_is_refused_by_name(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="weight phase has dtype"):
        write_weights(tmp_path / "w", {"phase": torch.zeros(2, dtype=torch.complex128)})
