"""The programs a build needs: cmake and ninja come as Python packages, the compiler from the system."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

import torch


class ToolMissing(RuntimeError):
    """A program that a build needs is not installed."""


def find_tool(name: str, help_text: str) -> str:
    """The path of a program: beside this Python, else on the PATH. Raises ToolMissing with `help_text`."""
    beside = Path(sys.executable).with_name(name)
    found = str(beside) if beside.exists() else shutil.which(name)
    if found is None:
        raise ToolMissing(f"{name} was not found: {help_text}")
    return found


def cmake() -> str:
    """CMake 3.25 or later."""
    return find_tool("cmake", "pip install cmake")


def ninja() -> str:
    """Ninja."""
    return find_tool("ninja", "pip install ninja")


def compiler() -> str:
    """A C++20 compiler: $CXX, else g++ or clang++."""
    chosen = os.environ.get("CXX")
    for name in (chosen, "g++", "clang++"):
        if name and (found := shutil.which(name)):
            return found
    raise ToolMissing("no C++ compiler was found: install g++ 11 or later, or set CXX")


def torch_folder() -> Path:
    """The folder of the running torch, with include/ and lib/."""
    return Path(torch.__file__).parent


def jobs() -> int:
    """Compilations to run at once."""
    return int(os.environ.get("TORCH2CPP_JOBS", 0)) or os.cpu_count() or 1


def cache_folder() -> Path:
    """Where compiled objects and the like are kept between runs: $TORCH2CPP_CACHE, else ~/.cache/torch2cpp."""
    chosen = os.environ.get("TORCH2CPP_CACHE")
    if chosen:
        return Path(chosen)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "torch2cpp"
