"""The class of a region that was cut into parts: it calls the parts' classes in order."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import final

from torch2cpp.backends.interface import header_text, interface
from torch2cpp.backends.protocol import Artifact, Unit
from torch2cpp.emit.environment import render
from torch2cpp.hostir.ops import Value
from torch2cpp.regions.share import DistinctRegion
from torch2cpp.regions.split import Part


@final
@dataclass(frozen=True, eq=False, slots=True)
class Composite:
    """A distinct region, its parts, and the distinct region that each part is compiled as."""

    whole: DistinctRegion
    parts: tuple[tuple[Part, DistinctRegion], ...]


@final
@dataclass(frozen=True, slots=True)
class _PartView:
    class_name: str
    member: str
    #: Positions of its weights among those of the whole.
    slots: tuple[int, ...]
    call: str


def write_composites(composites: Sequence[Composite], namespace: str) -> Artifact:
    """The classes of all composites in one translation unit, which needs the C ABI only."""
    if not composites:
        return Artifact()
    sources: dict[str, str] = {}
    for composite in composites:
        view, _ = interface(composite.whole, namespace)
        sources[f"src/{view.header}"] = header_text(view)
        sources[f"src/regions/{view.folder}/{view.folder}.cpp"] = _class_text(composite, namespace)
    path = "src/regions/composites.cpp"
    names = [c.whole.name for c in composites]
    sources[path] = render("regions/group.cpp.j2", backend="composite", names=names)
    return Artifact(sources, (Unit(path, ("-fvisibility=hidden",)),))


def _class_text(composite: Composite, namespace: str) -> str:
    view, scope = interface(composite.whole, namespace)
    region = composite.whole.region
    names: dict[Value, str] = {value: param.name for value, param in zip(region.params, view.params)}
    slots = {weight.name: i for i, weight in enumerate(composite.whole.slots)}
    used = {v for part, _ in composite.parts for v in part.region.params} | set(region.results)
    parts = []
    for part, distinct in composite.parts:
        member = scope.fresh(distinct.name)
        call = f"impl_->{member}({', '.join(names[p] for p in part.region.params)})"
        made = part.region.results
        for result in made:
            names[result] = scope.fresh(result.name)
        targets = ", ".join(names[r] for r in made)
        text = f"const auto [{targets}] = {call};" if len(made) > 1 else f"const auto {targets} = {call};"
        # The slots of the part itself, not of the representative it shares its code with.
        weights = tuple(slots[w.name] for w in part.region.weights())
        parts.append(_PartView(distinct.class_name, member, weights, text if made else f"{call};"))
    results = [names[r] for r in region.results]
    headers = {interface(d, namespace)[0].header.removeprefix("regions/") for _, d in composite.parts}
    unused: Mapping[Value, str] = {p: "[[maybe_unused]] " for p in region.params if p not in used}
    return render(
        "regions/composite.cpp.j2",
        region=view,
        parts=parts,
        headers=sorted(f"../{h}" for h in headers),
        parameters=", ".join(
            f"{unused.get(value, '')}{param.type} {param.name}" for value, param in zip(region.params, view.params)
        ),
        returned=results[0] if len(results) == 1 else f"{{{', '.join(results)}}}",
    )
