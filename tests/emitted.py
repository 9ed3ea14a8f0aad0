"""Emitted projects in tests: regions through the reference backend, built, loaded into this process."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from torch2cpp.backends.aten import AtenBackend
from torch2cpp.backends.protocol import CompiledRegions, Context, RegionReport, RegionUse, Target
from torch2cpp.hostir.program import Program
from torch2cpp.project import load_module
from torch2cpp.regions.share import share
from torch2cpp.toolchain.build import build


def compiled_by_aten(program: Program) -> CompiledRegions:
    """All regions of a program through the reference backend, unchecked."""
    sharing = share(program.regions.values())
    context = Context(program.name, Target(), {}, program.weights, Path("unused"))
    artifact = AtenBackend().compile(sharing.distinct, context)
    assert not artifact.refused, artifact.refused
    uses = {
        name: RegionUse(d.class_name, f"regions/{d.name}/{d.name}.h", weights, d.name)
        for name, (d, weights) in sharing.instances.items()
    }
    reports = tuple(RegionReport(d.name, (("aten", "fast", 0.0, "chosen"),), "aten", 1) for d in sharing.distinct)
    return CompiledRegions(uses, artifact.sources, artifact.units, artifact.link, reports)


def load_class(program: Program, folder: Path) -> Any:
    """Builds the project's Python module without its runner, and gives the model's class."""
    built = build(folder, program.name, python=True, runner=False)
    module = load_module(program.name, built.module)
    return getattr(module, program.class_name)
