"""What the figures were measured on."""

from __future__ import annotations

import os
import platform
import subprocess
from datetime import date
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

_PACKAGES = ("torch", "torch2cpp", "onnxruntime", "onnx", "onnxscript", "openvino")


def machine() -> dict[str, object]:
    """Processor, system, compiler and package versions."""
    return {
        "date": date.today().isoformat(),
        "processor": _processor(),
        "cores": os.cpu_count(),
        "system": platform.platform(),
        "python": platform.python_version(),
        "compiler": _first_line([os.environ.get("CXX", "g++"), "--version"]),
        "versions": {name: found for name in _PACKAGES if (found := _version(name))},
        "commit": _first_line(["git", "-C", str(Path(__file__).parent), "rev-parse", "--short", "HEAD"]),
    }


def _processor() -> str:
    info = Path("/proc/cpuinfo")
    lines = info.read_text().splitlines() if info.exists() else []
    names = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor() or platform.machine()


def _version(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None


def _first_line(command: list[str]) -> str:
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return ""
    return done.stdout.splitlines()[0] if done.stdout else ""
