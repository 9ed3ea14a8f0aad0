"""OpenVINO as a library: its CMake module, and where Python's package has it on this machine."""

from __future__ import annotations

import importlib.util
from pathlib import Path

from torch2cpp.backends.protocol import Package
from torch2cpp.emit.environment import render

CMAKE_MODULE = "cmake/FindOpenVinoRuntime.cmake"


def package() -> Package:
    """How to compile with it and link it."""
    spec = importlib.util.find_spec("openvino")
    assert spec is not None and spec.origin is not None
    folder = Path(spec.origin).parent
    library = next((folder / "libs").glob("libopenvino.so*"))
    return Package(
        "OpenVinoRuntime",
        "openvino_runtime::openvino",
        ("-isystem", str(folder / "include")),
        (str(library), f"-Wl,-rpath,{library.parent}"),
        title="OpenVINO",
        option="OpenVINO_DIR",
    )


def cmake_module() -> str:
    """The text of `cmake/FindOpenVinoRuntime.cmake`."""
    return render("openvino/FindOpenVinoRuntime.cmake")
