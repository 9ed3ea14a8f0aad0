"""All regions of a program: shared, compiled, checked against eager, with a way out where that fails."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import final

import torch

from torch2cpp.backends.build_checker import BuildError, build_checker
from torch2cpp.backends.composite import write_composites
from torch2cpp.backends.cutting import Cutting
from torch2cpp.backends.interface import interface
from torch2cpp.backends.protocol import (
    Artifact,
    Backend,
    CompiledRegions,
    Context,
    Package,
    Refusal,
    RegionReport,
    RegionUse,
    Safety,
    Target,
    Unit,
)
from torch2cpp.backends.registry import DEFAULT, REFERENCE, create
from torch2cpp.backends.verify_region import verify
from torch2cpp.emit.environment import shipped
from torch2cpp.emit.write_project import format_cpp
from torch2cpp.hostir.program import Region
from torch2cpp.regions.samples import Sample, make_samples
from torch2cpp.regions.share import DistinctRegion, Sharing, share


@final
@dataclass(frozen=True, slots=True)
class RegionOptions:
    """How regions are to be compiled."""

    #: C++ namespace of the project.
    namespace: str
    #: Folder in which the checker is built; anything in it may be overwritten.
    work: Path
    #: Folder for what later runs may reuse.
    cache: Path
    backend: str = DEFAULT
    target: Target = field(default_factory=Target)
    #: Real inputs by region name, recorded while the examples ran.
    recorded: Mapping[str, Sequence[Sample]] = field(default_factory=dict)
    #: Whether compiled code is compared with eager; off only where the caller does so itself.
    verify: bool = True


#: (backend, setting)
Choice = tuple[str, Safety]
#: (backend, setting, largest error, why it was not chosen or "chosen")
Attempt = tuple[str, Safety, float | None, str]
#: Stands for a backend in reports where a region was cut into parts.
CUT = "in parts"


class RegionsFailed(Exception):
    """No backend gives a region's results; the message names the region and what was tried."""


def compile_regions(
    regions: Iterable[Region], weights: Mapping[str, torch.Tensor], options: RegionOptions
) -> CompiledRegions:
    """Compiles every distinct region with the wanted backend where that is right, else with `aten`.

    Raises RegionsFailed where no backend is right, UnknownBackend for one that is not there.
    """
    sharing = share(regions)
    return _Search(sharing, weights, options).run()


@final
class _Search:
    """Tries backends and settings per distinct region until each one's results are right."""

    def __init__(self, sharing: Sharing, weights: Mapping[str, torch.Tensor], options: RegionOptions) -> None:
        self.sharing = sharing
        self.weights = weights
        self.options = options
        names = list(dict.fromkeys((options.backend, REFERENCE)))
        self.backends: dict[str, Backend] = {name: create(name) for name in names}
        self.chain = [(name, safety) for name in names for safety in self.backends[name].safeties]
        self.cutting = Cutting(sharing.distinct, weights)
        self.left: dict[str, list[Choice]] = {}
        self.tried: dict[str, list[Attempt]] = {}
        self.believed: dict[str, int] = {}
        self.samples: dict[str, Sequence[Sample]] = {}
        for d in sharing.distinct:
            self._add(d, self._samples(d), self.chain)

    def run(self) -> CompiledRegions:
        """The search; ends when every region is believed."""
        while True:
            artifacts = self._compile()
            open_regions = [d for d in self.cutting.everything if d.name not in self.believed]
            if not open_regions:
                return self._result(artifacts)
            if self.options.verify:
                self._check(artifacts, open_regions)
            else:
                for d in open_regions:
                    self._believe(d, None, 0)

    def _add(self, d: DistinctRegion, samples: Sequence[Sample], chain: Sequence[Choice]) -> None:
        self.samples[d.name] = samples
        self.left[d.name] = list(chain)
        self.tried[d.name] = []

    def _samples(self, distinct: DistinctRegion) -> list[Sample]:
        if self.options.backend == REFERENCE and not self.options.verify:
            return []
        # Inputs of every instance tell something about their common structure.
        own = [name for name, (d, _) in self.sharing.instances.items() if d is distinct]
        recorded = [s for name in own for s in self.options.recorded.get(name, ())]
        return make_samples(distinct.region, self.weights, recorded)

    def _compile(self) -> list[Artifact]:
        """Every region by the first choice left to it; choices that refuse are struck off."""
        while True:
            artifacts: list[Artifact] = []
            refused = False
            # The reference backend is the last one, and compiles what the others need of it.
            for name, backend in self.backends.items():
                batch = [d for d in self.cutting.whole if self._choice(d)[0] == name]
                if name == REFERENCE:
                    batch += [twin for a in artifacts for twin in a.companions]
                artifacts.append(backend.compile(batch, self._context()) if batch else Artifact())
                for d in batch:
                    if d.name in artifacts[-1].refused:
                        refused = True
                        self._refuse(d, name, artifacts[-1].refused[d.name])
            if not refused:
                artifacts.append(write_composites(self.cutting.composites, self.options.namespace))
                return [a for a in artifacts if a.units]

    def _choice(self, d: DistinctRegion) -> Choice:
        if not self.left[d.name]:
            tried = "; ".join(f"{b} ({s}): {reason}" for b, s, _, reason in self.tried[d.name])
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
        )

    def _refuse(self, d: DistinctRegion, backend: str, refusal: Refusal) -> None:
        """Cuts the region where some of its operations are at fault, else goes on to the next backend."""
        self._strike(d.name, backend, refusal.reason)
        for part, clean, samples in self.cutting.cut(d, refusal.culprits, self.samples[d.name]):
            if part.name not in self.left:
                self._add(part, samples, self.chain if clean else [c for c in self.chain if c[0] == REFERENCE])

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
        verdicts = verify(program, open_regions, self.samples, self.weights, self.options.work)
        for d in open_regions:
            verdict = verdicts.get(d.name)
            if verdict is None:
                continue  # A crash of another region came first; the next round runs it.
            reason = verdict.reason
            if not reason and verdict.samples and verdict.fallbacks == verdict.samples:
                reason = "its compiled code takes none of the sample inputs"
            if not reason:
                self._believe(d, verdict.error, verdict.samples)
            elif self.cutting.is_cut(d):
                # Its parts were judged on their own; what is left is to leave it whole.
                self.cutting.undo(d)
                self.tried[d.name].append((CUT, "fast", verdict.error, reason))
            else:
                backend, safety = self.left[d.name].pop(0)
                self.tried[d.name].append((backend, safety, verdict.error, reason))

    def _build(self, artifacts: Sequence[Artifact], regions: Sequence[DistinctRegion]) -> Path:
        interfaces = [interface(d, self.options.namespace)[0] for d in regions]
        sources, units, link, packages = merge(artifacts)
        return build_checker(interfaces, sources, units, link, self.options.work, self.options.cache, packages)

    def _blame(self, error: BuildError, open_regions: Sequence[DistinctRegion]) -> None:
        """Finds which regions' C++ does not compile, by building each one alone."""
        blamed = False
        for d in open_regions:
            if self.cutting.is_cut(d):
                continue
            name = self._choice(d)[0]
            try:
                alone = self.backends[name].compile([d], self._context())
                twins = self.backends[REFERENCE].compile(alone.companions, self._context())
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
        chosen = REFERENCE
        for part in self.cutting.leaves(d):
            choice = self._choice(part)
            backend = choice[0]
            chosen = backend if backend != REFERENCE else chosen
            if part is not d:
                error = self.tried[part.name][-1][2]
                tried.append((*choice, error, f"chosen for its part {part.name} ({part.region.span})"))
        return RegionReport(d.name, tuple(tried), chosen, self.believed[d.name])


def laid_out(sources: Mapping[str, str]) -> dict[str, str]:
    """The sources as the emitted project has them: what is checked is what it compiles."""
    return {path: _formatted(text) if path.endswith((".h", ".cpp")) else text for path, text in sources.items()}


@lru_cache(maxsize=1024)
def _formatted(text: str) -> str:
    return format_cpp(text, shipped("templates") / "project/clang-format")


def merge(
    artifacts: Iterable[Artifact],
) -> tuple[dict[str, str], tuple[Unit, ...], frozenset[str], tuple[Package, ...]]:
    """Sources (laid out), units, link needs and packages of several artifacts together."""
    sources: dict[str, str] = {}
    units: list[Unit] = []
    link: frozenset[str] = frozenset()
    packages: frozenset[Package] = frozenset()
    for artifact in artifacts:
        sources.update(artifact.sources)
        units.extend(artifact.units)
        link |= artifact.link
        packages |= artifact.packages
    return laid_out(sources), tuple(units), link, tuple(sorted(packages))
