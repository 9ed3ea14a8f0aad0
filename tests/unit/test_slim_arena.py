"""The memory that programs without libtorch keep."""

from __future__ import annotations

import subprocess
from pathlib import Path

from model_files import ROOT
from torch2cpp.backends.slim.operators import slim_folder
from torch2cpp.toolchain.tools import compiler


def test_arena(tmp_path: Path) -> None:
    program = tmp_path / "test_arena"
    sources = [slim_folder() / "src/arena.cpp", slim_folder() / "src/reserved.cpp"]
    sources += [ROOT / "runtime_cpp/src/errors.cpp", ROOT / "runtime_cpp/tests/slim/test_arena.cpp"]
    includes = [f"-I{folder / 'include'}" for folder in (slim_folder(), ROOT / "runtime_cpp")]
    options = ["-std=c++20", "-O1", "-Wall", "-Wextra", "-Werror", "-pthread", "-fopenmp", *includes]
    subprocess.run([compiler(), *options, *map(str, sources), "-o", str(program)], check=True)
    done = subprocess.run([program], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
