"""AOTInductor's regions in programs without libtorch: the same code, where slim has what it calls."""

from __future__ import annotations

from collections.abc import Sequence
from typing import final

from torch2cpp.backends.aotinductor import AotInductorBackend
from torch2cpp.backends.exported.suitable import calls_of, eager_twin, unsuitable
from torch2cpp.backends.merge import merge
from torch2cpp.backends.protocol import Artifact, Context, Refusal, Safety, Target, Unit
from torch2cpp.backends.slim.backend import SlimBackend
from torch2cpp.backends.slim.shim import missing, operators_of
from torch2cpp.regions.share import DistinctRegion


class _Alone(AotInductorBackend):  # type: ignore[misc]  # final to keep backends apart; this is the same one
    """Takes single operations too: there is nothing else that could run them."""

    def accepts(self, region: DistinctRegion, target: Target) -> Refusal | None:
        return unsuitable(region.region, worth=0)


@final
class SlimInductorBackend:
    """See the module's docstring."""

    name = AotInductorBackend.name
    safeties: tuple[Safety, ...] = AotInductorBackend.safeties

    def __init__(self) -> None:
        self._reference = SlimBackend()
        #: For regions that slim's operators can run too, and for those that they cannot.
        self._doubled = AotInductorBackend()
        self._alone = _Alone(fallback=False)

    def accepts(self, region: DistinctRegion, target: Target) -> Refusal | None:
        """As over libtorch, and single operations where slim has no operator."""
        return self._inner(region, target).accepts(region, target)

    def compile(self, regions: Sequence[DistinctRegion], ctx: Context) -> Artifact:
        """Refuses regions whose code calls what the runtime does not have."""
        refused: dict[str, Refusal] = {}
        made: list[Artifact] = []
        for inner, folder in ((self._doubled, "aotinductor_"), (self._alone, "aotinductor_alone_")):
            mine = [r for r in regions if self._inner(r, ctx.target) is inner]
            kept = [r for r in mine if not self._refused(inner, r, ctx, refused)]
            if kept:
                made.append(_moved(inner.compile(kept, ctx), folder))
        sources, units, link, packages = merge(made)
        companions = tuple(twin for artifact in made for twin in artifact.companions)
        return Artifact(sources, units, link, frozenset(packages), companions, refused)

    def _inner(self, region: DistinctRegion, target: Target) -> AotInductorBackend:
        return self._doubled if self._reference.accepts(eager_twin(region), target) is None else self._alone

    def _refused(
        self, inner: AotInductorBackend, region: DistinctRegion, ctx: Context, refused: dict[str, Refusal]
    ) -> bool:
        """Whether it cannot be had, noted with the reason; what Inductor makes is kept for the second time."""
        artifact = inner.compile([region], ctx)
        refusal = artifact.refused.get(region.name)
        absent = missing("".join(text for path, text in artifact.sources.items() if path.endswith("_code.h")))
        if refusal is None and absent:
            names = frozenset(name for each in absent for name in operators_of(each))
            culprits = calls_of(region.region, names)
            refusal = Refusal(f"programs without libtorch have no {', '.join(absent)}", region.region.span, culprits)
        if refusal is not None:
            refused[region.name] = refusal
        return refusal is not None


#: Makes kernels for Arm call SLEEF, of which headers and library belong to libtorch's build there; without it they call
#: the C library number by number.
_SLEEF = "AT_BUILD_ARM_VEC256_WITH_SLEEF"


def _moved(artifact: Artifact, prefix: str) -> Artifact:
    """With units under names of their own, and without another library's functions."""
    names = {u.path: u.path.replace("aotinductor_", prefix) for u in artifact.units}
    sources = {names.get(path, path): text for path, text in artifact.sources.items()}
    kept = [tuple(d for d in u.definitions if d.partition("=")[0] != _SLEEF) for u in artifact.units]
    units = tuple(Unit(names[u.path], u.flags, definitions) for u, definitions in zip(artifact.units, kept))
    return Artifact(sources, units, artifact.link, artifact.packages, artifact.companions, artifact.refused)
