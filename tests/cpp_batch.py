"""Many model files through C++ in one CMake run: each is transpiled by itself, all are built together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from torch2cpp.model_file import ModelFile
from torch2cpp.parity.verdict import Verdict
from torch2cpp.project import Project, transpile
from torch2cpp.toolchain.build import BuildFailed, Built, build_together


@dataclass(frozen=True)
class Batch:
    """What became of each model: its project, or what stopped it."""

    projects: Mapping[str, Project]
    failures: Mapping[str, Exception]

    def check(self, name: str) -> Verdict:
        """The verdict on one model; raises what stopped it."""
        if name in self.failures:
            raise self.failures[name]
        return self.projects[name].check()


def transpiled(file: ModelFile, backend: str, out: Path, some: slice, runtime: str = "libtorch") -> Project:
    """The file's project in the folder `out`, with the examples that `some` leaves; not built."""
    return transpile(
        file.make_model(),
        file.make_inputs()[some],
        entries=file.entries,
        backend=backend,
        runtime=runtime,
        dynamic_shapes=file.dynamic_shapes,
        pin=file.pin,
        out=out,
        name=file.name,
        stateful=file.stateful,
    )


def build_batch(
    files: Sequence[ModelFile], backend: str, folder: Path, some: slice = slice(None), runtime: str = "libtorch"
) -> Batch:
    """Transpiles and builds all files below `folder`; what fails is told by the model's own check."""
    projects: dict[str, Project] = {}
    failures: dict[str, Exception] = {}
    for file in files:
        try:
            projects[file.path.stem] = transpiled(file, backend, folder / file.name, some, runtime)
        except Exception as error:  # it is the outcome of this model's own test
            failures[file.path.stem] = error
    try:
        build_together(folder, [(p.folder, p.name) for p in projects.values()], python=True)
    except BuildFailed as error:
        for name, project in projects.items():
            if not Built(project.folder / "build", project.name).module.exists():
                failures[name] = error
    for project in projects.values():
        project.adopt(Built(project.folder / "build", project.name))
    return Batch(projects, failures)


def assert_matches(batch: Batch, name: str, untaken: Sequence[tuple[int, str]] = ()) -> None:
    """Every input of the model matches, no decision differs, and every way of every branch is taken.

    `untaken` are ways (line, way) that the model's inputs leave out in Python as well.
    """
    verdict = batch.check(name)
    assert verdict.ok, verdict.mismatches
    assert verdict.decision_flips == 0
    assert [(span.line, way) for span, way in verdict.missed] == list(untaken)
