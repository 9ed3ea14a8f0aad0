"""Inductor's kernels for another processor than the one at hand."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from torch._inductor import cpu_vec_isa

from torch2cpp.backends.aotinductor import vectors
from torch2cpp.backends.aotinductor.generate import generate, inductor_options
from torch2cpp.backends.aotinductor.vectors import check_vectors, vectors_of
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


def test_a_new_compiler_is_not_asked_and_says_the_same() -> None:
    def told() -> tuple[list[str], list[str]]:
        forget = [vars(kind).get("__bool__") for kind in cpu_vec_isa.VecISA.__subclasses__()]
        for each in (*forget, cpu_vec_isa.valid_vec_isa_list, vars(cpu_vec_isa.VecISA)["_VecISA__bool__impl"]):
            if hasattr(each, "cache_clear"):
                each.cache_clear()
        kinds = cpu_vec_isa.valid_vec_isa_list()
        return [str(kind) for kind in kinds], [kind.build_arch_flags() for kind in kinds]

    asked = told()
    with vectors_of(Target()):
        assert told() == asked


def test_an_old_compiler_is_asked(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    old = tmp_path / "g++"
    old.write_text("#!/bin/sh\necho '#define __GNUC__ 11'\n")
    old.chmod(0o755)
    monkeypatch.setenv("CXX", str(old))
    asked: list[str] = []
    monkeypatch.setattr(vectors, "_asking", lambda isa, code: asked.append(str(isa)) or True)
    assert cpu_vec_isa.VecAVX2().build_arch_flags()
    with vectors_of(Target()):
        assert cpu_vec_isa.VecAVX2().check_build("")
    assert asked == ["avx2"]
