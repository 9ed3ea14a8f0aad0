"""What a project without libtorch gets: slim's sources with their compiler options, and torch's C ABI headers."""

from __future__ import annotations

import os
import re
from functools import lru_cache
from importlib.metadata import PackageNotFoundError, files
from pathlib import Path

import torch

from torch2cpp.backends.protocol import Unit
from torch2cpp.backends.slim.operators import slim_folder
from torch2cpp.toolchain.targets.target import Target

#: Headers that emitted code and the runtime include; what these include comes with them.
_ROOTS = (
    "torch/csrc/inductor/aoti_runtime/scalar_to_tensor.h",
    "torch/csrc/inductor/aoti_runtime/utils.h",
    "torch/csrc/inductor/aoti_torch/c/shim.h",
    "torch/csrc/inductor/aoti_torch/generated/c_shim_cpu.h",
    "torch/csrc/inductor/cpp_prefix.h",
    "torch/csrc/stable/c/shim.h",
    "torch/csrc/stable/stableivalue_conversions.h",
    "torch/csrc/stable/tensor.h",
    "torch/headeronly/core/DeviceType.h",
    "torch/headeronly/core/Layout.h",
    "torch/headeronly/core/MemoryFormat.h",
    "torch/headeronly/core/ScalarType.h",
    "c10/util/generic_math.h",
)
_INCLUDE = re.compile(r'^\s*#\s*include\s*[<"]([^>"]+)[>"]', re.MULTILINE)
#: Where torch's headers go in the project, and the runtime's own.
HEADERS = "third_party/torch"
INCLUDES = ("runtime/slim/include",)
#: The runtime's translation units with their compiler options.
_UNITS = (
    Unit("runtime/slim/slim.cpp", ("-fno-math-errno", "-fopenmp")),
    Unit("runtime/slim/src/gemm_float.cpp", ("-O3", "-ffp-contract=fast", "-fopenmp")),
)
#: SLEEF's stand-ins must have the instruction set of the regions, which Inductor compiles for this machine. On others
#: kernels call no SLEEF.
_SLEEF = Unit("runtime/slim/src/sleef.cpp", ("-O3", "-ffast-math", "-march=native"))


def include_root() -> Path:
    """The folder of the installed torch headers."""
    return Path(torch.__file__).parent / "include"


def slim_units(target: Target) -> tuple[Unit, ...]:
    """The runtime's translation units for a machine."""
    return (*_UNITS, _SLEEF) if target.native else _UNITS


def slim_files() -> dict[str, str]:
    """The runtime and the headers it stands on, by path in the project."""
    root = slim_folder()
    own = {
        f"runtime/slim/{path.relative_to(root).as_posix()}": path.read_text(encoding="utf-8")
        for folder in ("include", "src")
        for path in sorted((root / folder).rglob("*"))
        if path.is_file()
    }
    for name in ("slim.cpp", "operator_new.cpp"):
        own[f"runtime/slim/{name}"] = (root / name).read_text(encoding="utf-8")
    return own | {f"{HEADERS}/{path}": text for path, text in torch_headers().items()} | _licences()


@lru_cache(maxsize=1)
def torch_headers() -> dict[str, str]:
    """The headers of the installed torch that `_ROOTS` reach, by path below its include folder."""
    root = include_root()
    out: dict[str, str] = {}
    open_paths = list(_ROOTS)
    while open_paths:
        path = open_paths.pop()
        if path in out or not (root / path).is_file():
            continue
        out[path] = (root / path).read_text(encoding="utf-8")
        for included in _INCLUDE.findall(out[path]):
            open_paths += [included, os.path.normpath(Path(path).parent / included)]
    return dict(sorted(out.items()))


def _licences() -> dict[str, str]:
    """Torch's own licence goes with its headers."""
    try:
        found = [p for p in files("torch") or () if p.name == "LICENSE" and "dist-info" in str(p)]
    except PackageNotFoundError:
        found = []
    return {f"{HEADERS}/LICENSE": found[0].read_text(encoding="utf-8")} if found else {}
