"""The operations of tests/tensor_cases through C++, bit for bit, in one CMake run."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
import torch

from tensor_cases import errors, indexing, operators, random_numbers, values
from torch2cpp.parity.compare import compare
from torch2cpp.project import Project, transpile
from torch2cpp.toolchain.build import Built, build_together

#: Class of the cases and their inputs, by the name of the project.
MODULES = {
    "indexing": (indexing.Indexing, indexing.INPUTS),
    "values": (values.Values, values.INPUTS),
    "operators": (operators.Operators, operators.INPUTS),
    "errors": (errors.Errors, errors.INPUTS),
    "random_numbers": (random_numbers.RandomNumbers, random_numbers.INPUTS),
}


@pytest.fixture(scope="module")
def projects(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, Project]:
    folder = tmp_path_factory.mktemp("tensors")
    made = {
        name: transpile(cls(), dict(inputs), entries=tuple(inputs), backend="aten", out=folder / name, name=name)
        for name, (cls, inputs) in MODULES.items()
    }
    build_together(folder, [(p.folder, p.name) for p in made.values()], python=True)
    for project in made.values():
        project.adopt(Built(project.folder / "build", project.name))
    return made


@pytest.mark.parametrize("name", MODULES)
def test_equals_eager(name: str, projects: Mapping[str, Project]) -> None:
    verdict = projects[name].check()
    assert verdict.ok, verdict.mismatches


def test_classes_of_torch_come_back(projects: Mapping[str, Project]) -> None:
    x = torch.randn(3, 4)
    got = projects["indexing"].load().instance.rettypes(x, 1)
    want = indexing.Indexing().rettypes(x, 1)
    assert [type(a) for a in got] == [type(b) for b in want]
    assert not compare(want, got, exact=True).differences
