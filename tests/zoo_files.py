"""The nine networks of examples/zoo and how their spread is recorded."""

from __future__ import annotations

import importlib
import sys

from model_files import ROOT

ZOO = ROOT / "examples/zoo"
sys.path.append(str(ZOO))
recorder = importlib.import_module("record_spread")
NETWORKS: list[str] = recorder.NETWORKS


def images_of(name: str) -> int:
    """How many of the hundred inputs the slower checks take."""
    return 4 if name in recorder.CAPTIONERS else 30
