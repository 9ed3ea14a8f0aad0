"""An exported region through Inductor: its C++ text, nothing compiled."""

from __future__ import annotations

import json
import tempfile
import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any, final

import torch

from torch2cpp.backends.aotinductor.vectors import FOR_OTHERS, check_vectors, vectors_of
from torch2cpp.backends.exported.export import NotExportable, quiet, short_reason
from torch2cpp.backends.protocol import Safety, Target

#: Name Inductor gives the model; it goes away when the text is rewritten.
MODEL = "region"
#: Compiler options of Inductor's that matter for its results and speed; the project sets the others itself.
_DROPPED_FLAGS = ("g1", "fPIC", "Wall", "pedantic", "fopenmp", "fno-omit-frame-pointer", "DNDEBUG")
_DROPPED_DEFINITIONS = ("TORCH_INDUCTOR_PRECOMPILE_HEADERS",)


@final
@dataclass(frozen=True, slots=True)
class Generated:
    """What Inductor wrote for one region."""

    wrapper: str
    flags: tuple[str, ...]
    definitions: tuple[str, ...]
    #: Slots of weights that it takes with the channels last.
    channels_last: tuple[int, ...] = ()


def inductor_options(safety: Safety, threads: int, target: Target) -> dict[str, Any]:
    """Inductor's settings; kernels use at most so many threads."""
    options: dict[str, Any] = {
        "aot_inductor.package_cpp_only": True,
        "aot_inductor.dynamic_linkage": False,
        "aot_inductor.model_name_for_generated_files": MODEL,
        # Weights stay outside and replaceable: nothing is folded, inlined or embedded.
        "aot_inductor.package_constants_in_so": False,
        "always_keep_tensor_constants": True,
        "freezing": False,
        "aot_inductor.precompile_headers": False,
        "cpp_cache_precompile_headers": False,
        # A cached result would come without its guards.
        "force_disable_caches": True,
        "cpp.threads": threads,
    }
    if safety == "safe":
        options |= {"inplace_buffers": False, "allow_buffer_reuse": False}
    if not target.libtorch:
        # Weights stay as they are: it is oneDNN that gains from channels that lie last, and weights would be turned
        # around in every call.
        options["layout_optimization"] = False
    if not target.native:
        options |= FOR_OTHERS
    return options


def generate(
    program: torch.export.ExportedProgram,
    safety: Safety,
    threads: int,
    target: Target,
    channels_last: tuple[int, ...] = (),
) -> Generated:
    """Runs Inductor for the target's vectors. Raises NotExportable with its reason.

    `channels_last` are the slots of the weights that the program was given so.
    """
    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder) / "region.pt2")
        try:
            with quiet(), torch.no_grad(), vectors_of(target):
                package = torch._inductor.aoti_compile_and_package(
                    program, package_path=path, inductor_configs=inductor_options(safety, threads, target)
                )
        except Exception as error:  # any failure of Inductor is a reason to take another backend
            raise NotExportable(short_reason(error)) from error
        with zipfile.ZipFile(package) as archive:
            names = {Path(n).name: n for n in archive.namelist()}
            wrapper = archive.read(names[f"{MODEL}.wrapper.cpp"]).decode()
            options = json.loads(archive.read(names[f"{MODEL}.wrapper_compile_flags.json"]))
    flags = tuple(f"-{f}" for f in options["cflags"] if f not in _DROPPED_FLAGS and not f.startswith(("W", "std=")))
    extra = tuple(f for text in options["passthrough_args"] for f in text.split())
    definitions = tuple(d.strip() for d in options["definitions"] if d.strip() not in _DROPPED_DEFINITIONS)
    check_vectors(definitions, target)
    return Generated(wrapper, flags + extra, definitions, channels_last)
