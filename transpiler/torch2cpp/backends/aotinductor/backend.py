"""Compiles regions with AOTInductor and writes the classes around its code."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import final

import torch

from torch2cpp.backends.aotinductor.cache import Made, cached
from torch2cpp.backends.aotinductor.generate import generate
from torch2cpp.backends.aotinductor.rewrite import RegionCode, raises_in_parallel, rewrite
from torch2cpp.backends.aotinductor.weight_layouts import exports
from torch2cpp.backends.aten import AtenBackend
from torch2cpp.backends.exported.export import NotExportable, held_weights, pick_example, short_reason
from torch2cpp.backends.exported.guards import guards
from torch2cpp.backends.exported.shapes import Requirements, requirements
from torch2cpp.backends.exported.suitable import calls_of, eager_twin, unsuitable
from torch2cpp.backends.interface import Interface, header_text, interface
from torch2cpp.backends.protocol import Artifact, Context, Refusal, Safety, Target, Unit
from torch2cpp.backends.units import in_units
from torch2cpp.emit.environment import render
from torch2cpp.regions.image_borders import Images
from torch2cpp.regions.share import DistinctRegion

#: Lines of generated code after which a new translation unit begins.
LINES_PER_UNIT = 5000


@final
@dataclass(frozen=True, slots=True)
class _Compiled:
    code: RegionCode
    requirements: Requirements
    flags: tuple[str, ...]
    definitions: tuple[str, ...]
    #: Slots of weights that are turned to channels that lie last.
    channels_last: tuple[int, ...]
    #: The images that come or go so.
    images: Images


@final
class AotInductorBackend:
    """See the package's docstring."""

    name = "aotinductor"
    safeties: tuple[Safety, ...] = ("fast", "safe")
    keeps_images = True

    def __init__(self, fallback: bool = True) -> None:
        #: Whether a region also gets its `aten` form, for sizes the code was not compiled for.
        self._fallback = AtenBackend() if fallback else None
        #: What Inductor made, by structure and setting: a region that is right is not compiled again.
        self._made: dict[tuple[str, Safety, Images], _Compiled] = {}

    def accepts(self, region: DistinctRegion, target: Target) -> Refusal | None:
        """Refuses by what the region holds: scalars, writes to parameters, random numbers, recurrent layers."""
        return unsuitable(region.region)

    def compile(self, regions: Sequence[DistinctRegion], ctx: Context) -> Artifact:
        """Exports, generates and wraps each region; those that fail are refused with their reason."""
        refused: dict[str, Refusal] = {}
        compiled: list[tuple[DistinctRegion, _Compiled]] = []
        for region in regions:
            refusal = self.accepts(region, ctx.target)
            if refusal is None:
                try:
                    compiled.append((region, self._compile(region, ctx)))
                    continue
                except NotExportable as reason:
                    culprits = calls_of(region.region, reason.operators)
                    refusal = Refusal(str(reason), region.region.span, culprits)
                except (AssertionError, KeyError, NotImplementedError, RuntimeError, TypeError, ValueError) as error:
                    # Reading torch's own data structures: a surprise there costs the region, not the program.
                    refusal = Refusal(short_reason(error), region.region.span)
            refused[region.name] = refusal
        if not compiled:
            return Artifact(refused=refused)
        return self._write(compiled, ctx, refused)

    def _compile(self, region: DistinctRegion, ctx: Context) -> _Compiled:
        key = (region.key, ctx.safety.get(region.name, "fast"), ctx.images.get(region.name, Images()))
        if key not in self._made:
            self._made[key] = _compile(region, ctx)
        return self._made[key]

    def _write(
        self, compiled: Sequence[tuple[DistinctRegion, _Compiled]], ctx: Context, refused: dict[str, Refusal]
    ) -> Artifact:
        sources: dict[str, str] = {"src/regions/compiled_border.h": render("regions/compiled_border.h")}
        companions: list[DistinctRegion] = []
        groups: dict[tuple[tuple[str, ...], tuple[str, ...]], list[tuple[str, int]]] = {}
        for region, made in compiled:
            view, _ = interface(region, ctx.namespace)
            twin = eager_twin(region)
            fallback = None
            if self._fallback is not None and self._fallback.accepts(twin, ctx.target) is None:
                companions.append(twin)
                fallback, _ = interface(twin, ctx.namespace)
            folder = f"src/regions/{region.name}"
            code = render("aotinductor/code.h.j2", region=view, code=made.code, torch_version=torch.__version__)
            sources[f"src/{view.header}"] = header_text(view)
            sources[f"{folder}/{region.name}_code.h"] = code
            sources[f"{folder}/{region.name}.cpp"] = _class_text(region, view, made, fallback)
            groups.setdefault((made.flags, made.definitions), []).append((region.name, code.count("\n")))
        units: list[Unit] = []
        for flags, definitions in groups:
            for names in in_units(groups[flags, definitions], LINES_PER_UNIT):
                path = f"src/regions/aotinductor_{len(units)}.cpp"
                sources[path] = render("aotinductor/group.cpp.j2", names=names)
                units.append(Unit(path, (*flags, "-fopenmp", "-fvisibility=hidden"), definitions))
        link = frozenset({"openmp"})
        return Artifact(sources, tuple(units), link, companions=tuple(companions), refused=refused)


def _compile(distinct: DistinctRegion, ctx: Context) -> _Compiled:
    region = distinct.region
    example = pick_example(region, ctx.samples.get(distinct.name, ()))
    safety = ctx.safety.get(distinct.name, "fast")

    images = ctx.images.get(distinct.name, Images()) if ctx.target.libtorch else None

    def run(threads: int) -> Made:
        def make() -> Made:
            error: NotExportable | None = None
            for program, layouts in exports(region, held_weights(region, ctx.weights), example, images):
                try:
                    made = generate(program, safety, threads, ctx.target, layouts.weights)
                    return made, requirements(program)
                except NotExportable as reason:
                    error = reason
            raise error or NotExportable("nothing to export")

        return cached(ctx.cache, f"{distinct.key}\n{images}", example, safety, threads, ctx.target, make)

    threads = torch.get_num_threads()
    made, needs = run(threads)
    if raises_in_parallel(made.wrapper):
        # An exception inside a parallel section would end the program.
        threads = 1
        made, needs = run(threads)
    code = rewrite(made.wrapper, threads, onednn=ctx.target.libtorch and ctx.target.native)
    return _Compiled(code, needs, made.flags, made.definitions, made.channels_last, images or Images())


def _class_text(region: DistinctRegion, view: Interface, made: _Compiled, fallback: Interface | None) -> str:
    results = [f"Tensor(out[{i}])" for i in range(len(view.results))]
    span = region.region.span
    return render(
        "aotinductor/region.cpp.j2",
        region=view,
        fallback=fallback,
        constants=made.code.constants,
        channels_last=made.channels_last,
        images=made.images,
        guards=guards(view, made.requirements),
        returned=results[0] if len(results) == 1 else f"{{{', '.join(results)}}}",
        file=json.dumps(Path(span.file).name),
        line=span.line,
    )
