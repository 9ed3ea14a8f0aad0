"""The operators of programs without libtorch under the address and undefined-behaviour sanitizers."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from model_files import ROOT
from slim_driver import build_driver
from torch2cpp.toolchain.tools import compiler

pytestmark = pytest.mark.slow


def test_operators_under_sanitizers(tmp_path: Path) -> None:
    flags = ("-O1", "-g1", "-fsanitize=address,undefined", "-fno-sanitize-recover=undefined")
    library = build_driver(tmp_path, flags)
    # Python itself is not built with them; what it and torch leave behind at their end is not looked at.
    runtimes = [_output(compiler(), f"-print-file-name={name}") for name in ("libasan.so", "libubsan.so")]
    environment = os.environ | {"LD_PRELOAD": " ".join(runtimes), "ASAN_OPTIONS": "detect_leaks=0"}
    command = [sys.executable, str(ROOT / "tests/slim_differences.py"), str(library)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]


def _output(*command: str) -> str:
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
