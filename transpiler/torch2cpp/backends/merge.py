"""What several backends made of a program's regions, put together."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import lru_cache

from torch2cpp.backends.protocol import Artifact, Package, Unit
from torch2cpp.emit.environment import shipped
from torch2cpp.emit.write_project import format_cpp


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
