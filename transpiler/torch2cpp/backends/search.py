"""Tries backends and settings per distinct region until each one's results are right."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import final

import torch

from torch2cpp.backends.build_checker import BuildError, build_checker
from torch2cpp.backends.composite import write_composites
from torch2cpp.backends.cutting import Cutting
from torch2cpp.backends.exported.suitable import eager_twin
from torch2cpp.backends.interface import interface
from torch2cpp.backends.kept_images import KeptImages, keeps_images
from torch2cpp.backends.merge import merge
from torch2cpp.backends.protocol import (
    Artifact,
    Backend,
    CompiledRegions,
    Context,
    Refusal,
    RegionReport,
    RegionUse,
    Safety,
)
from torch2cpp.backends.region_options import RegionOptions
from torch2cpp.backends.registry import REFERENCE
from torch2cpp.backends.slim.refuse import lacking
from torch2cpp.backends.verify_region import verify
from torch2cpp.regions.image_borders import merge_groups
from torch2cpp.regions.samples import MAX_RECORDED, Sample, make_samples
from torch2cpp.regions.share import DistinctRegion, Sharing
from torch2cpp.toolchain.targets.toolchain import toolchain_of

#: (backend, setting)
Choice = tuple[str, Safety]
#: (backend, setting, largest error, why it was not chosen or "chosen")
Attempt = tuple[str, Safety, float | None, str]
#: Stands for a backend in reports where a region was cut into parts.
CUT = "in parts"


class RegionsFailed(Exception):
    """No backend gives a region's results; the message names the region and what was tried."""


@final
class Search:
    """Tries backends and settings per distinct region until each one's results are right.

    `order` names the backends to try, `orders` those of single distinct regions; the reference ends each.
    """

    def __init__(
        self,
        sharing: Sharing,
        weights: Mapping[str, torch.Tensor],
        options: RegionOptions,
        order: Sequence[str],
        orders: Mapping[str, Sequence[str]] | None = None,
    ) -> None:
        self.sharing = sharing
        self.weights = weights
        self.options = options
        #: Takes what the others do not.
        self.reference = reference = options.runtime.reference
        every = [*order, *(name for each in (orders or {}).values() for name in each)]
        # The reference comes last: it compiles what the others need of it.
        names = [name for name in dict.fromkeys(every) if name != reference]
        self.backends: dict[str, Backend] = {name: options.runtime.create(name) for name in (*names, reference)}
        self.chains = {d.name: self._chain((orders or {}).get(d.name, order)) for d in sharing.distinct}
        self.cutting = Cutting(sharing.distinct, weights, ordered=options.runtime.is_slim)
        distinct = {name: d.name for name, (d, _) in sharing.instances.items()}
        self.images = KeptImages(merge_groups(options.image_groups, distinct))
        self.images.give_up_read([name for name, chain in self.chains.items() if not self._keeps_images(chain[0])])
        self.left: dict[str, list[Choice]] = {}
        self.tried: dict[str, list[Attempt]] = {}
        self.believed: dict[str, int] = {}
        self.rounding: dict[str, tuple[float, ...]] = {}
        #: What the backends made last; after `run`, of the choices believed.
        self.artifacts: list[Artifact] = []
        self.samples: dict[str, Sequence[Sample]] = {}
        #: Why the reference does not take a region.
        self.refusals: dict[str, Refusal] = {}
        for d in sharing.distinct:
            self._add(d, self._samples(d), self.chains[d.name])

    def _chain(self, names: Sequence[str]) -> list[Choice]:
        return [
            (name, safety)
            for name in dict.fromkeys((*names, self.reference))
            for safety in self.backends[name].safeties
        ]

    def run(self) -> CompiledRegions:
        """The search; ends when every region is believed."""
        while True:
            artifacts = self.artifacts = self._compile()
            open_regions = [d for d in self.cutting.everything if d.name not in self.believed]
            if not open_regions:
                if self._turn_back():
                    continue
                result = self._result(artifacts)
                if not self._withdraw(result):
                    return result
                continue
            if self.options.verify:
                self._check(artifacts, open_regions)
            else:
                for d in open_regions:
                    self._believe(d, None, 0)

    def _keeps_images(self, choice: Choice) -> bool:
        return keeps_images(self.backends[choice[0]])

    def _turn_back(self) -> bool:
        """Gives up images that a region is not compiled for; whether there are such."""
        others = [
            d.name
            for d in self.sharing.distinct
            if self.cutting.is_cut(d) or not self._keeps_images(self.left[d.name][0])
        ]
        return self._again(self.images.give_up_read(others))

    def _again(self, changed: Collection[str]) -> bool:
        """Those believed among the regions are to be checked anew; whether there are regions at all."""
        for name in self.believed.keys() & changed:
            self.tried[name].pop()
            del self.believed[name]
        return bool(changed)

    def _withdraw(self, result: CompiledRegions) -> bool:
        """Takes regions from backends whose rounding is too much for the program; whether there are such."""
        found = self.options.grows(result) if self.options.grows is not None else {}
        for d in self.sharing.distinct:
            if d.name not in found:
                continue
            backend, safety, error, _ = self.tried[d.name].pop()
            self.tried[d.name].append((backend, safety, error, found[d.name]))
            if self.cutting.is_cut(d):
                self.cutting.undo(d)
            used = {name for name, *_ in self.tried[d.name]}
            self.left[d.name] = [c for c in self.chains[d.name] if c[0] not in used or c[0] == self.reference]
            del self.believed[d.name]
        return bool(found)

    def _add(self, d: DistinctRegion, samples: Sequence[Sample], chain: Sequence[Choice]) -> None:
        self.samples[d.name] = samples
        self.left[d.name] = list(chain)
        self.tried[d.name] = []

    def _samples(self, distinct: DistinctRegion) -> list[Sample]:
        if self.options.backend == self.reference and not self.options.verify:
            return []
        if distinct.name in self.options.samples:
            return list(self.options.samples[distinct.name])
        return make_samples(
            distinct.region, self.weights, self._recorded(distinct), ordered=self.options.runtime.is_slim
        )

    def _recorded(self, distinct: DistinctRegion) -> list[Sample]:
        """Inputs of every instance: they tell something about their common structure."""
        own = [name for name, (d, _) in self.sharing.instances.items() if d is distinct]
        return [s for name in own for s in self.options.recorded.get(name, ())]

    def _compile(self) -> list[Artifact]:
        """Every region by the first choice left to it; choices that refuse are struck off."""
        while True:
            artifacts: list[Artifact] = []
            refused = False
            for name, backend in self.backends.items():
                batch = [d for d in self.cutting.whole if self._choice(d)[0] == name]
                if name == self.reference:
                    batch += self._twins(artifacts)
                artifacts.append(backend.compile(batch, self._context()) if batch else Artifact())
                for d in batch:
                    if d.name in artifacts[-1].refused:
                        refused = True
                        self._refuse(d, name, artifacts[-1].refused[d.name])
            if not refused:
                artifacts.append(write_composites(self.cutting.composites, self.options.namespace))
                return [a for a in artifacts if a.units]

    def _twins(self, artifacts: Sequence[Artifact]) -> list[DistinctRegion]:
        needed = {twin.name: twin for a in artifacts for twin in a.companions}
        if self.options.every_twin:
            reference, target = self.backends[self.reference], self.options.target
            every = [d for d in self.sharing.distinct if reference.accepts(d, target) is None]
            needed = {twin.name: twin for twin in map(eager_twin, every)} | needed
        return list(needed.values())

    def _choice(self, d: DistinctRegion) -> Choice:
        if not self.left[d.name]:
            if d.name in self.refusals and self.options.runtime.is_slim:
                raise lacking(self.refusals[d.name])
            tried = "; ".join(f"{b} ({s}): {reason}" for b, s, _, reason in self.tried[d.name])
            if self.options.runtime.is_slim:
                tried += "; compile with --runtime libtorch, which has eager's kernels"
            raise RegionsFailed(f"region {d.name} ({d.region.span}) is right with no backend: {tried}")
        return self.left[d.name][0]

    def _context(self) -> Context:
        return Context(
            self.options.namespace,
            self.options.target,
            self.samples,
            self.weights,
            self.options.cache,
            {name: left[0][1] for name, left in self.left.items() if left},
            self.images.by_region(),
        )

    def _refuse(self, d: DistinctRegion, backend: str, refusal: Refusal) -> None:
        """Cuts the region where some of its operations are at fault, else goes on to the next backend."""
        self._strike(d.name, backend, refusal.reason)
        if backend == self.reference:
            self.refusals[d.name] = refusal
        for part, clean, samples in self.cutting.cut(d, refusal.culprits, self.samples[d.name]):
            if part.name not in self.left:
                chain = self.chains[d.name]
                self.chains[part.name] = chain if clean else [c for c in chain if c[0] == self.reference]
                self._add(part, samples, self.chains[part.name])

    def _strike(self, region: str, backend: str, reason: str) -> None:
        """The backend refuses the region: none of its settings will do."""
        safety = self.left[region][0][1]
        self.tried[region].append((backend, safety, None, reason))
        self.left[region] = [c for c in self.left[region] if c[0] != backend]

    def _check(self, artifacts: Sequence[Artifact], open_regions: Sequence[DistinctRegion]) -> None:
        try:
            program = self._build(artifacts, open_regions)
        except BuildError as error:
            self._blame(error, open_regions)
            return
        as_eager = {d.name for d in open_regions if not self.cutting.is_cut(d) and self._choice(d)[0] == REFERENCE}
        # Over libtorch the last form of a region is eager's own.
        last = [d.name for d in open_regions if self.options.runtime.is_slim and self._choice(d)[0] == self.reference]
        work, toolchain = self.options.work, toolchain_of(self.options.target)
        images = self.images.by_region()
        verdicts = verify(program, open_regions, self.samples, self.weights, work, as_eager, toolchain, last, images)
        wrong_images: list[str] = []
        for d in open_regions:
            verdict = verdicts.get(d.name)
            if verdict is None:
                continue  # A crash of another region came first; the next round runs it.
            reason = verdict.reason
            if not reason and verdict.samples and verdict.fallbacks == verdict.samples:
                reason = "its compiled code takes none of the sample inputs"
            if not reason:
                # What the examples gave: made-up samples may have numbers of another size.
                real = verdict.rounding[: min(len(self._recorded(d)), MAX_RECORDED)]
                self.rounding[d.name] = tuple(map(max, zip(*real)))
                self._believe(d, verdict.error, verdict.samples)
            elif d.name in images:
                # The layout may be what is wrong with it, or what rounds otherwise: once more without.
                wrong_images.append(d.name)
            elif self.cutting.is_cut(d):
                # Its parts were judged on their own; what is left is to leave it whole.
                self.cutting.undo(d)
                self.tried[d.name].append((CUT, "fast", verdict.error, reason))
            else:
                backend, safety = self.left[d.name].pop(0)
                self.tried[d.name].append((backend, safety, verdict.error, reason))
        self._again(self.images.give_up(wrong_images))

    def chose(self, d: DistinctRegion, name: str) -> bool:
        """After `run`: whether the backend is right for the region, or for parts of it."""
        return any(self._choice(part)[0] == name for part in self.cutting.leaves(d))

    def checker(self) -> Path:
        """After `run`: a program that runs every distinct region of the program."""
        return self._build(self.artifacts, self.sharing.distinct)

    def _build(self, artifacts: Sequence[Artifact], regions: Sequence[DistinctRegion]) -> Path:
        interfaces = [interface(d, self.options.namespace)[0] for d in regions]
        sources, units, link, packages = merge(artifacts)
        toolchain = toolchain_of(self.options.target)
        work, cache = self.options.work, self.options.cache
        return build_checker(interfaces, sources, units, link, work, cache, packages, toolchain, self.options.runtime)

    def _blame(self, error: BuildError, open_regions: Sequence[DistinctRegion]) -> None:
        """Finds which regions' C++ does not compile, by building each one alone."""
        blamed = False
        for d in open_regions:
            if self.cutting.is_cut(d):
                continue
            name = self._choice(d)[0]
            try:
                alone = self.backends[name].compile([d], self._context())
                twins = self.backends[self.reference].compile(alone.companions, self._context())
                self._build([alone, twins] if alone.companions else [alone], [d])
            except BuildError as own:
                blamed = True
                self._strike(d.name, name, f"its C++ does not compile: {str(own).splitlines()[0][:200]}")
        if not blamed:
            raise RegionsFailed(f"the regions compile alone but not together: {error}") from error

    def _believe(self, d: DistinctRegion, error: float | None, samples: int) -> None:
        choice: Choice = (CUT, "fast") if self.cutting.is_cut(d) else self.left[d.name][0]
        self.tried[d.name].append((*choice, error, "chosen"))
        self.believed[d.name] = samples

    def _result(self, artifacts: Sequence[Artifact]) -> CompiledRegions:
        sources, units, link, packages = merge(artifacts)
        views = {d.name: interface(d, self.options.namespace)[0] for d in self.sharing.distinct}
        uses = {
            name: RegionUse(d.class_name, views[d.name].header, weights, d.name)
            for name, (d, weights) in self.sharing.instances.items()
        }
        return CompiledRegions(uses, sources, units, link, tuple(map(self._report, self.sharing.distinct)), packages)

    def _report(self, d: DistinctRegion) -> RegionReport:
        """What was tried; for a region in parts, the parts' choices too, and the optimising one of them as its own."""
        tried: list[Attempt] = list(self.tried[d.name])
        chosen = self.reference
        for part in self.cutting.leaves(d):
            choice = self._choice(part)
            backend = choice[0]
            chosen = backend if backend != self.reference else chosen
            if part is not d:
                error = self.tried[part.name][-1][2]
                tried.append((*choice, error, f"chosen for its part {part.name} ({part.region.span})"))
        rounding = self.rounding.get(d.name, ())
        return RegionReport(d.name, tuple(tried), chosen, self.believed[d.name], rounding=rounding)
