"""model.json: what the project is made of, for people and for tools that check it before use."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch

from torch2cpp.backends.protocol import CompiledRegions
from torch2cpp.emit.assemble import own_sources
from torch2cpp.emit.cpp_types import describe
from torch2cpp.emit.view_model import ProjectView
from torch2cpp.hostir.program import REQUIRED, Function, Program
from torch2cpp.toolchain.targets.target import NATIVE


def manifest(
    program: Program, compiled: CompiledRegions, view: ProjectView, files: Mapping[str, bytes]
) -> dict[str, Any]:
    """The manifest; `files` are the emitted files by their path in the project, for checksums."""
    about: dict[str, Any] = {
        "name": view.namespace,
        "class": view.class_name,
        "torch2cpp": view.version,
        "torch": torch.__version__,
        "options": view.options,
        "runtime": "slim" if view.below.slim else "libtorch",
        "target": {"name": view.target.name, "cpu": view.target.cpu} if view.target else {"name": NATIVE},
        "sources": {Path(s).name: _source_checksum(s) for s in own_sources(program)},
        "entries": {name: _signature(f) for name, f in program.entries.items()},
        "state": {c.name: describe(c.type) for c in program.cells if c.scope == "state"},
        "regions": _regions(program, compiled),
        "weights": {w.name: {"dtype": w.dtype, "shape": _dims(w.dims)} for w in view.weights},
        "files": {path: checksum_of(data) for path, data in sorted(files.items())},
    }
    # Not measured yet.
    return about | {"memory": None} if view.below.planned else about


def _signature(function: Function) -> dict[str, Any]:
    params = []
    for p in function.params:
        entry: dict[str, Any] = {"name": p.name}
        if p.value is None:
            entry["pinned"] = repr(p.pinned)
        else:
            entry["type"] = describe(p.value.type)
        if p.default is not REQUIRED:
            entry["default"] = repr(p.default)
        params.append(entry)
    return {"lines": function.span.lines, "params": params, "result": describe(function.result)}


def _regions(program: Program, compiled: CompiledRegions) -> dict[str, Any]:
    reports = {r.region: r for r in compiled.reports}
    out: dict[str, Any] = {}
    for name, region in program.regions.items():
        use = compiled.uses[name]
        report = reports.get(use.distinct)
        entry: dict[str, Any] = {
            "lines": f"{Path(region.span.file).name}:{region.span.lines}",
            "compiled_as": use.distinct,
            "operations": len(region.body),
            "inputs": {p.name: describe(p.type) for p in region.params},
            "results": [f"{r.name}: {describe(r.type)}" for r in region.results],
            "weights": list(use.weights),
        }
        if report is not None:
            entry["backend"] = report.chosen
            entry["checked_on"] = report.samples
            entry["tried"] = [
                {"backend": b, "safety": s, "max_abs_err": err, "outcome": why} for b, s, err, why in report.tried
            ]
            if report.microseconds:
                entry["microseconds"] = {b: round(t, 3) for b, t in report.microseconds.items()}
        out[name] = entry
    return out


def _dims(text: str) -> list[int]:
    return [int(d) for d in text.split(", ") if d]


def checksum_of(data: bytes) -> str:
    """As model.json writes it."""
    return "sha256:" + hashlib.sha256(data).hexdigest()


def _source_checksum(path: str) -> str | None:
    try:
        return checksum_of(Path(path).read_bytes())
    except OSError:
        return None
