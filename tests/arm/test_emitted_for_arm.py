"""What is emitted for another machine: the same host program, and nothing of the machine at hand."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from arm_target import TARGET, for_target, target_or_skip
from model_files import ROOT, load_model_file
from torch2cpp.project import transpile

pytestmark = pytest.mark.arm


def test_host_program_is_the_same_for_every_target(tmp_path: Path) -> None:
    path = ROOT / "examples/early_exit.py"
    arm = for_target(path, "aotinductor", tmp_path / "arm", inputs=4)
    file = load_model_file(path)
    transpile(
        file.make_model(),
        file.make_inputs()[:4],
        backend="aotinductor",
        threads=1,
        out=tmp_path / "x86",
        name=file.name,
    )
    host = [
        "src/early_exit.cpp",
        "src/regions.h",
        "src/regions.cpp",
        "src/entries.cpp",
        "include/early_exit/early_exit.h",
    ]
    for name in host:
        assert (arm.folder / name).read_text() == (tmp_path / "x86" / name).read_text(), name


def test_nothing_of_this_machine_is_emitted(tmp_path: Path) -> None:
    target_or_skip()
    project = for_target(ROOT / "examples/early_exit.py", "aotinductor", tmp_path / "arm", inputs=4)
    cmake = (project.folder / "CMakeLists.txt").read_text()
    assert "CPU_CAPABILITY_NEON" in cmake
    emitted = [p for p in project.folder.rglob("*") if p.suffix in (".cpp", ".h", ".txt", ".cmake", ".json")]
    for path in (p for p in emitted if "build" not in p.relative_to(project.folder).parts):
        text = path.read_text()
        assert not re.search(r"march=|AVX|avx|__m512|__m256|mkldnn__", text), path
        assert str(tmp_path) not in text, path
    assert (project.folder / f"cmake/toolchains/{TARGET}.cmake").is_file()
    assert f'"name": "{TARGET}"' in (project.folder / "CMakePresets.json").read_text()
