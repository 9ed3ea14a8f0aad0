"""Small programs, grouped in `.test` files, that say what Python means.

A case starts with `[case NAME]`. Its text is the body of `forward(self, x, n=3)`, or a whole
class `M`. It is run with tensors (rows, 3) of several heights and several `n`, 0 among them.
"""

from __future__ import annotations

import importlib.util
import re
import sys
import textwrap
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import nn

FOLDER = Path(__file__).parent / "meaning"
HEADER = """\
import copy, functools, math, os, random, statistics, time
from collections import *
from dataclasses import dataclass, field, replace
from enum import Enum, IntFlag, auto
from typing import *

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn


"""
METHOD = "class M(nn.Module):\n    def forward(self, x, n=3):\n"


@dataclass(frozen=True)
class Case:
    """One small program."""

    group: str
    name: str
    text: str

    def model(self, folder: Path) -> nn.Module:
        """A fresh instance; its source is a file in `folder`, since the frontend reads sources."""
        path = folder / f"{self.name}.py"
        is_class = re.search(r"^class M\(", self.text, re.MULTILINE)
        path.write_text(HEADER + (self.text if is_class else METHOD + textwrap.indent(self.text, " " * 8)))
        spec = importlib.util.spec_from_file_location(f"meaning_{self.name}", path)
        assert spec is not None and spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        sys.modules[spec.name] = module
        spec.loader.exec_module(module)
        return module.M().eval()


def read_cases(group: str) -> list[Case]:
    """The cases of one file, in order."""
    parts = re.split(r"^\[case (\w+)\]\n", (FOLDER / f"{group}.test").read_text(), flags=re.MULTILINE)
    return [Case(group, name, text.strip("\n") + "\n") for name, text in zip(parts[1::2], parts[2::2])]


def groups() -> list[str]:
    """Names of the files whose programs are compared with Python."""
    return sorted(path.stem for path in FOLDER.glob("*.test") if path.stem != "refused")


def inputs() -> list[tuple[Any, ...]]:
    """Successive calls; `n` is left to its default in the first."""
    g = torch.Generator().manual_seed(0)
    sizes = [(4, None), (2, 5), (5, 0), (1, 1), (3, 2)]
    return [(torch.randn(rows, 3, generator=g) * (1 + rows % 3), *([] if n is None else [n])) for rows, n in sizes]
