"""Inductor's kernels for another processor than the one at hand."""

from __future__ import annotations

import pytest
import torch

from torch2cpp.backends.aotinductor.generate import generate, inductor_options
from torch2cpp.backends.aotinductor.vectors import check_vectors
from torch2cpp.backends.exported.export import NotExportable
from torch2cpp.backends.protocol import Target

ARM = Target("aarch64-linux-gnu")


class Gate(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.sigmoid(x).mul(x).exp()


def test_kernels_are_for_the_targets_vectors() -> None:
    program = torch.export.export(Gate(), (torch.randn(8, 64),))
    arm, own = generate(program, "fast", 1, ARM), generate(program, "fast", 1, Target())
    assert "CPU_CAPABILITY_NEON" in arm.definitions
    assert not [flag for flag in arm.flags if "march" in flag or "avx" in flag]
    # Four floats at a time, and no more after them.
    assert "static_cast<int64_t>(4)" in arm.wrapper
    # The processor at hand is asked again afterwards.
    assert "CPU_CAPABILITY_NEON" not in own.definitions


def test_code_for_other_vectors_is_not_believed() -> None:
    check_vectors(("CPU_CAPABILITY_AVX512",), Target())
    with pytest.raises(NotExportable, match="Inductor wrote code for CPU_CAPABILITY_AVX512"):
        check_vectors(("CPU_CAPABILITY_AVX512",), ARM)


def test_nothing_is_packed_for_the_processor_at_hand() -> None:
    assert inductor_options("fast", 1, ARM)["cpp.weight_prepack"] is False
    assert inductor_options("fast", 1, ARM) != inductor_options("fast", 1, Target())
