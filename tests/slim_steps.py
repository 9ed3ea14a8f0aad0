"""A small model with a loop on data that several tests of programs without libtorch build, and programs that use it."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import torch
from torch import nn

from torch2cpp.toolchain import launcher
from torch2cpp.toolchain.tools import cache_folder, cmake, ninja


class Steps(nn.Module):
    """Refines a state until it is sure, at most ten times."""

    def __init__(self) -> None:
        super().__init__()
        self.cell = nn.GRUCell(8, 8)
        self.sure = nn.Linear(8, 1)

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, int]:
        state = torch.zeros_like(x)
        for step in range(10):
            state = self.cell(x, state)
            if torch.sigmoid(self.sure(state)).mean() > 0.55:
                return state, step
        return state * 2, -1


class KeptSteps(Steps):
    """Gives all states that it went through."""

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, int]:
        state = torch.zeros_like(x)
        kept = []
        for step in range(10):
            state = self.cell(x, state)
            kept.append(state)
            if torch.sigmoid(self.sure(state)).mean() > 0.55:
                return torch.stack(kept), step
        return torch.stack(kept) * 2, -1


def made(kind: type[Steps]) -> Steps:
    """The model, always with the same weights."""
    torch.manual_seed(1)
    return kind().eval()


def examples() -> list[tuple[torch.Tensor]]:
    """Inputs of several sizes, with which it ends sooner, later and not at all."""
    torch.manual_seed(0)
    return [(torch.randn(n, 8) * scale,) for n, scale in ((1, 1.0), (3, 0.1), (5, 4.0))]


def build_user(folder: Path, project: Path, cmake_lines: str, settings: Sequence[str] = ()) -> Path:
    """A user's program `user` in `folder`, whose CMake lines say what it is made of; gives the executable."""
    (folder / "CMakeLists.txt").write_text(
        f"""cmake_minimum_required(VERSION 3.25)
project(user LANGUAGES C CXX)
add_subdirectory({project} {project.name})
{cmake_lines}"""
    )
    keep = f"{sys.executable};-S;-E;{launcher.__file__};{cache_folder()};{project}"
    given = [f"-DCMAKE_MAKE_PROGRAM={ninja()}", f"-DCMAKE_CXX_COMPILER_LAUNCHER={keep}", *settings]
    configure = [cmake(), "-S", folder, "-B", folder / "build", "-G", "Ninja", *given]
    subprocess.run(configure, check=True, capture_output=True)
    subprocess.run([cmake(), "--build", folder / "build", "-j1"], check=True, capture_output=True)
    return folder / "build/user"
