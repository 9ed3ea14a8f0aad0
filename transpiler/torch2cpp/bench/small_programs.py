"""Small C++ programs of the bench, compiled when first needed."""

from __future__ import annotations

import hashlib
import subprocess
from collections.abc import Sequence
from pathlib import Path

import torch

from torch2cpp.bench.rivals import CannotRun
from torch2cpp.emit.environment import shipped
from torch2cpp.toolchain.tools import cache_folder, compiler, torch_folder


def script_runner() -> Path:
    """Runs a TorchScript file once; its arguments are a module, pickled arguments and an entry. Raises CannotRun."""
    folder = torch_folder()
    include, library = folder / "include", folder / "lib"
    flags = ["-isystem", str(include), "-isystem", str(include / "torch/csrc/api/include")]
    flags += [f"-L{library}", f"-Wl,-rpath,{library}", "-Wl,--no-as-needed", "-ltorch_cpu", "-lc10", "-ltorch"]
    return _compiled("script_main.cpp", flags)


def measurer() -> Path:
    """Runs a program and writes its time and memory into a file. Raises CannotRun."""
    return _compiled("measure.cpp", ["-static-libstdc++", "-static-libgcc"])


def _compiled(name: str, flags: Sequence[str]) -> Path:
    source = shipped("templates") / "bench" / name
    key = hashlib.sha256(source.read_bytes() + torch.__version__.encode()).hexdigest()[:16]
    program = cache_folder() / "bench" / f"{source.stem}_{key}"
    if program.exists():
        return program
    program.parent.mkdir(parents=True, exist_ok=True)
    made = program.with_suffix(".new")
    command = [compiler(), "-std=c++20", "-O2", str(source), "-o", str(made), *flags]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise CannotRun(f"{name} does not compile: {done.stderr.strip().splitlines()[0]}")
    made.rename(program)
    return program
