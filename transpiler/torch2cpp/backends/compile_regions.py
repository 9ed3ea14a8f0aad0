"""All regions of a program: shared, compiled, checked against eager, with a way out where that fails."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import final

import torch

from torch2cpp.backends.build_checker import BuildError, build_checker
from torch2cpp.backends.interface import interface
from torch2cpp.backends.protocol import (
    Artifact,
    Backend,
    CompiledRegions,
    Context,
    RegionReport,
    RegionUse,
    Safety,
    Target,
    Unit,
)
from torch2cpp.backends.registry import BACKENDS, DEFAULT, REFERENCE
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


class RegionsFailed(Exception):
    """No backend gives a region's results; the message names the region and what was tried."""


def compile_regions(
    regions: Iterable[Region], weights: Mapping[str, torch.Tensor], options: RegionOptions
) -> CompiledRegions:
    """Compiles every distinct region with the wanted backend where that is right, else with `aten`.

    Raises RegionsFailed where no backend is right, KeyError for an unknown backend.
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
        self.backends: dict[str, Backend] = {name: BACKENDS[name]() for name in names}
        chain = [(name, safety) for name in names for safety in self.backends[name].safeties]
        self.left: dict[str, list[tuple[str, Safety]]] = {d.name: list(chain) for d in sharing.distinct}
        self.tried: dict[str, list[tuple[str, Safety, float | None, str]]] = {d.name: [] for d in sharing.distinct}
        self.believed: dict[str, int] = {}
        self.samples = {d.name: self._samples(d) for d in sharing.distinct}

    def run(self) -> CompiledRegions:
        """The search; ends when every region is believed."""
        while True:
            artifacts = self._compile()
            open_regions = [d for d in self.sharing.distinct if d.name not in self.believed]
            if not open_regions:
                return self._result(artifacts)
            if not self.options.verify:
                for d in open_regions:
                    self._believe(d, None, 0)
                return self._result(artifacts)
            self._check(artifacts, open_regions)

    def _samples(self, distinct: DistinctRegion) -> list[Sample]:
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
                batch = [d for d in self.sharing.distinct if self._choice(d)[0] == name]
                if name == REFERENCE:
                    batch += [twin for a in artifacts for twin in a.companions]
                artifacts.append(backend.compile(batch, self._context()) if batch else Artifact())
                for region, refusal in artifacts[-1].refused.items():
                    refused = True
                    self._strike(region, name, refusal.reason)
            if not refused:
                return [a for a in artifacts if a.units]

    def _choice(self, d: DistinctRegion) -> tuple[str, Safety]:
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

    def _strike(self, region: str, backend: str, reason: str) -> None:
        """The backend refuses the region: none of its settings will do."""
        safety = self.left[region][0][1]
        self.tried[region].append((backend, safety, None, reason))
        self.left[region] = [c for c in self.left[region] if c[0] != backend]

    def _check(self, artifacts: Sequence[Artifact], open_regions: Sequence[DistinctRegion]) -> None:
        try:
            program = self._build(artifacts, open_regions)
        except BuildError as error:
            self._blame(error, artifacts, open_regions)
            return
        verdicts = verify(program, open_regions, self.samples, self.weights, self.options.work)
        for d in open_regions:
            verdict = verdicts.get(d.name)
            if verdict is None:
                continue  # A crash of another region came first; the next round runs it.
            backend, safety = self.left[d.name][0]
            reason = verdict.reason
            if not reason and verdict.samples and verdict.fallbacks == verdict.samples:
                reason = "its compiled code takes none of the sample inputs"
            if reason:
                self.tried[d.name].append((backend, safety, verdict.error, reason))
                del self.left[d.name][0]
            else:
                self._believe(d, verdict.error, verdict.samples)

    def _build(self, artifacts: Sequence[Artifact], regions: Sequence[DistinctRegion]) -> Path:
        interfaces = [interface(d, self.options.namespace)[0] for d in regions]
        sources, units, link = merge(artifacts)
        return build_checker(interfaces, sources, units, link, self.options.work, self.options.cache)

    def _blame(self, error: BuildError, artifacts: Sequence[Artifact], open_regions: Sequence[DistinctRegion]) -> None:
        """Finds which regions' C++ does not compile, by building each one alone."""
        blamed = False
        for d in open_regions:
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
        backend, safety = self.left[d.name][0]
        self.tried[d.name].append((backend, safety, error, "chosen"))
        self.believed[d.name] = samples

    def _result(self, artifacts: Sequence[Artifact]) -> CompiledRegions:
        sources, units, link = merge(artifacts)
        views = {d.name: interface(d, self.options.namespace)[0] for d in self.sharing.distinct}
        uses = {
            name: RegionUse(d.class_name, views[d.name].header, weights, d.name)
            for name, (d, weights) in self.sharing.instances.items()
        }
        reports = tuple(
            RegionReport(d.name, tuple(self.tried[d.name]), self.left[d.name][0][0], self.believed[d.name])
            for d in self.sharing.distinct
        )
        return CompiledRegions(uses, sources, units, link, reports)


def laid_out(sources: Mapping[str, str]) -> dict[str, str]:
    """The sources as the emitted project has them: what is checked is what it compiles."""
    return {path: _formatted(text) for path, text in sources.items()}


@lru_cache(maxsize=1024)
def _formatted(text: str) -> str:
    return format_cpp(text, shipped("templates") / "project/clang-format")


def merge(artifacts: Iterable[Artifact]) -> tuple[dict[str, str], tuple[Unit, ...], frozenset[str]]:
    """Sources (laid out), units and link needs of several artifacts together."""
    sources: dict[str, str] = {}
    units: list[Unit] = []
    link: frozenset[str] = frozenset()
    for artifact in artifacts:
        sources.update(artifact.sources)
        units.extend(artifact.units)
        link |= artifact.link
    return laid_out(sources), tuple(units), link
