"""A C++ program over libtorch that runs a TorchScript file once, compiled when first needed."""

from __future__ import annotations

import hashlib
import subprocess
from pathlib import Path

import torch

from torch2cpp.bench.rivals import CannotRun
from torch2cpp.emit.environment import shipped
from torch2cpp.toolchain.tools import cache_folder, compiler, torch_folder


def script_runner() -> Path:
    """The program; its arguments are a module, pickled arguments and an entry. Raises CannotRun."""
    source = shipped("templates") / "bench/script_main.cpp"
    key = hashlib.sha256(source.read_bytes() + torch.__version__.encode()).hexdigest()[:16]
    program = cache_folder() / "bench" / f"script_{key}"
    if program.exists():
        return program
    program.parent.mkdir(parents=True, exist_ok=True)
    folder = torch_folder()
    include, library = folder / "include", folder / "lib"
    command = [compiler(), "-std=c++20", "-O2", str(source), "-o", str(program.with_suffix(".new"))]
    command += ["-isystem", str(include), "-isystem", str(include / "torch/csrc/api/include")]
    command += [f"-L{library}", f"-Wl,-rpath,{library}", "-Wl,--no-as-needed", "-ltorch_cpu", "-lc10", "-ltorch"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise CannotRun(f"its C++ program does not compile: {done.stderr.strip().splitlines()[0]}")
    program.with_suffix(".new").rename(program)
    return program
