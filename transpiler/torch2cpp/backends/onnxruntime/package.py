"""ONNX Runtime as a library: its CMake module, and where Python's package has it on this machine."""

from __future__ import annotations

import importlib.util
from pathlib import Path

from torch2cpp.backends.protocol import Package, Target
from torch2cpp.emit.environment import render
from torch2cpp.toolchain.targets.toolchain import library_of

CMAKE_MODULE = "cmake/FindOnnxRuntimeLibrary.cmake"
#: The name that programs ask the loader for; Python's package has the file under its full version only.
SONAME = "libonnxruntime.so.1"


def package(cache: Path, target: Target) -> Package:
    """How to link it. A link of the right name to the library goes into `cache`.

    Raises TargetError where the target was set up without it.
    """
    library = _library() if target.native else library_of(target, "onnxruntime")
    folder = (cache / "libraries" / target.name / library.name).absolute()
    link = folder / SONAME
    folder.mkdir(parents=True, exist_ok=True)
    if not link.exists():
        link.unlink(missing_ok=True)
        link.symlink_to(library)
    return Package(
        "OnnxRuntimeLibrary",
        "onnxruntime_library::onnxruntime",
        link_options=(str(link), f"-Wl,-rpath,{folder}"),
        title="ONNX Runtime",
        option="ONNXRUNTIME_ROOT",
    )


def cmake_module() -> str:
    """The text of `cmake/FindOnnxRuntimeLibrary.cmake`."""
    return render("onnxruntime/FindOnnxRuntimeLibrary.cmake")


def _library() -> Path:
    spec = importlib.util.find_spec("onnxruntime")
    assert spec is not None and spec.origin is not None
    return next((Path(spec.origin).parent / "capi").glob("libonnxruntime.so.*"))
