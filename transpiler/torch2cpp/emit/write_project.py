"""Writes the whole C++ project: sources from templates, the runtime library, weights and manifest."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import torch

from torch2cpp.backends.protocol import CompiledRegions
from torch2cpp.backends.runtimes import LIBTORCH, Runtime
from torch2cpp.emit.aligned_safetensors import save_aligned
from torch2cpp.emit.assemble import all_weights, assemble
from torch2cpp.emit.environment import render, shipped
from torch2cpp.emit.manifest import manifest
from torch2cpp.emit.view_model import BelowView, MemoryView, ProjectView, UnitView, target_view
from torch2cpp.hostir.program import Program
from torch2cpp.toolchain.targets.target import Target

#: Template -> path in the project; `{ns}` is the namespace.
_FILES = {
    "header.h.j2": "include/{ns}/{ns}.h",
    "host.cpp.j2": "src/{ns}.cpp",
    "regions.h.j2": "src/regions.h",
    "regions.cpp.j2": "src/regions.cpp",
    "signature.h.j2": "src/signature.h",
    "weights_path.cpp.j2": "src/weights_path.cpp",
    "main.cpp.j2": "src/main.cpp",
    "verify_main.cpp.j2": "src/verify_main.cpp",
    "entries.h.j2": "src/entries.h",
    "entries.cpp.j2": "src/entries.cpp",
    "c_header.h.j2": "include/{ns}/{ns}_c.h",
    "c_api.cpp.j2": "src/c_api.cpp",
    "bindings.cpp.j2": "python/bindings.cpp",
    "CMakeLists.txt.j2": "CMakeLists.txt",
    "CMakePresets.json.j2": "CMakePresets.json",
    "cmake/Config.cmake.in.j2": "cmake/Config.cmake.in",
    "README.md.j2": "README.md",
}
#: Files of models that keep something between calls.
_STATEFUL = {"state.h.j2": "src/state.h", "state.cpp.j2": "src/state.cpp"}
#: Files that are the same for every project.
_COPIED = {
    "python/convert.h": "python/convert.h",
    "python/convert.cpp": "python/convert.cpp",
    "runner/flat.h": "src/flat.h",
    "runner/golden.h": "src/golden.h",
    "runner/golden.cpp": "src/golden.cpp",
    "runner/program.h": "src/program.h",
    "runner/program.cpp": "src/program.cpp",
    "runner/runner.h": "src/runner.h",
    "runner/runner.cpp": "src/runner.cpp",
    "runner/verify.h": "src/verify.h",
    "runner/verify.cpp": "src/verify.cpp",
}
#: Files that depend on what lies below the C ABI: how it is found, how Python's tensors come and go.
_LIBTORCH = {
    "cmake/FindLibtorchCpu.cmake": "cmake/FindLibtorchCpu.cmake",
    "python/tensor_border.h": "python/tensor_border.h",
}
_SLIM = {
    "python/slim_tensor_border.h": "python/tensor_border.h",
    "python/slim_random.h": "python/slim_random.h",
}
#: Where the memory that instances take is written down.
MEMORY_PLAN = "src/memory_plan.h"
_CPP = (".h", ".cpp")


def package_version() -> str:
    """The version of this package."""
    try:
        return version("torch2cpp")
    except PackageNotFoundError:
        return "0.1.0"


def write_project(
    program: Program,
    compiled: CompiledRegions,
    folder: Path,
    options: str,
    probes: bool = False,
    fingerprint: str = "",
    target: Target | None = None,
    below: Runtime = LIBTORCH,
    planned: bool = False,
) -> ProjectView:
    """Writes the project into `folder`, which may hold an earlier version of it; for this machine without `target`.

    `options` says in one line how it was made; with `probes`, the host program measures its branches;
    `fingerprint` goes into model.json;
    `below` is what lies below the C ABI; with `planned`, which needs slim, instances take their memory when they are
    made: how much, `memory.plan` finds out.
    Files whose content stays the same are not touched, so that a build redoes only what changed.
    """
    view = assemble(
        program,
        compiled,
        probes,
        version=package_version(),
        runtime_version=_runtime_version(),
        torch_version=torch.__version__,
        options=options,
        target=target_view(target or Target()),
        runtime_sources=tuple(_runtime_sources()),
        below=BelowView(
            below.is_slim,
            (*below.includes, "runtime/include") if below.is_slim else ("runtime/include",),
            below.system_includes,
            below.flags,
            below.link_options,
            tuple(UnitView(u.path, u.flags, u.definitions) for u in below.units(target or Target())),
            planned,
        ),
    )
    templates = _FILES | (_STATEFUL if view.stateful else {})
    copied = _COPIED | (_SLIM if below.is_slim else _LIBTORCH)
    if view.sets_random:
        copied |= {"slim_random.cpp" if below.is_slim else "random.cpp": "src/random.cpp"}
    texts = {place.format(ns=view.namespace): render(f"project/{t}", view=view) for t, place in templates.items()}
    texts |= {place: (shipped("templates") / "project" / s).read_text() for s, place in copied.items()}
    if planned:
        texts[MEMORY_PLAN] = render("project/memory_plan.h.j2", view=view, plan=MemoryView())
    if view.target is not None:
        texts[view.target.toolchain_file] = render("project/cmake/toolchain.cmake.j2", view=view)
    texts |= dict(compiled.sources)
    texts[".clang-format"] = (shipped("templates") / "project/clang-format").read_text()
    texts |= _runtime_files() | dict(below.files())
    folder.mkdir(parents=True, exist_ok=True)
    files = {path: text.encode() for path, text in _formatted(texts, folder).items()}
    for path, data in files.items():
        _write(folder / path, data)
    _write_weights(program, folder / "weights.safetensors")
    files["weights.safetensors"] = (folder / "weights.safetensors").read_bytes()
    about = manifest(program, compiled, view, files) | {"fingerprint": fingerprint}
    text = json.dumps(about, indent=2) + "\n"
    _write(folder / "model.json", text.encode())
    return view


def _formatted(texts: dict[str, str], folder: Path) -> dict[str, str]:
    """The texts with the emitted C++ laid out by clang-format; runtime and copied files have their layout."""
    copied = {*_COPIED.values(), *_LIBTORCH.values()}
    mine = [p for p in texts if p.endswith(_CPP) and not p.startswith(("runtime/", "third_party/")) and p not in copied]
    style = folder / ".clang-format"
    _write(style, texts[".clang-format"].encode())
    out = dict(texts)
    for path in mine:
        out[path] = format_cpp(texts[path], style)
    return out


def format_cpp(text: str, style: Path) -> str:
    """C++ text laid out by clang-format, which is installed beside this Python."""
    tool = Path(sys.executable).with_name("clang-format")
    command = [str(tool) if tool.exists() else "clang-format", f"--style=file:{style}"]
    done = subprocess.run(command, input=text, capture_output=True, text=True, check=True)
    return done.stdout


def _write(path: Path, data: bytes) -> None:
    if path.is_file() and path.read_bytes() == data:
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)


def _write_weights(program: Program, path: Path) -> None:
    """Names in order, so that the file is the same every time."""
    fresh = path.with_suffix(".new")
    save_aligned(dict(sorted(all_weights(program).items())), fresh)
    if path.is_file() and path.read_bytes() == fresh.read_bytes():
        fresh.unlink()
    else:
        fresh.replace(path)


def _runtime_sources() -> list[str]:
    return sorted(p.name for p in (shipped("runtime_cpp") / "src").glob("*.cpp"))


def _runtime_files() -> dict[str, str]:
    root = shipped("runtime_cpp")
    return {
        f"runtime/{path.relative_to(root).as_posix()}": path.read_text()
        for folder in ("include", "src")
        for path in sorted((root / folder).rglob("*"))
        if path.is_file()
    }


def _runtime_version() -> int:
    text = (shipped("runtime_cpp") / "include/torch2cpp/version.h").read_text()
    found = re.search(r"TORCH2CPP_RUNTIME_VERSION (\d+)", text)
    assert found is not None
    return int(found[1])
