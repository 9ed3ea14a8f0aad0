"""`torch2cpp.transpile`: state, several entries, defaults, nested results, errors, from Python."""

from __future__ import annotations

import subprocess
from collections import namedtuple
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import save_file
from torch import nn

import torch2cpp
from torch2cpp.toolchain.tools import compiler, torch_folder

Summary = namedtuple("Summary", "mean steps")


class TooLong(ValueError):
    pass


class Running(nn.Module):
    """Keeps a running sum between calls."""

    def __init__(self) -> None:
        super().__init__()
        self.scale = nn.Parameter(torch.tensor([1.0, 2.0]))
        self.total = None
        self.calls = 0

    def forward(self, x, scale: float = 1.0, label: str = "run"):
        if x.shape[0] > 4:
            raise TooLong(f"{label}: {x.shape[0]} rows")
        self.calls += 1
        row = (x * self.scale).sum(dim=0) * scale
        self.total = row if self.total is None else self.total + row
        return {"total": self.total, "of": Summary(row.mean(), [self.calls, label])}

    def count(self, extra: int):
        return self.calls + extra


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> torch2cpp.Project:
    torch.manual_seed(0)
    examples = {
        "forward": [(torch.randn(2, 2),), (torch.randn(3, 2), 0.5, "half"), (torch.randn(5, 2),)],
        "count": [(1,)],
    }
    return torch2cpp.transpile(
        Running(),
        examples,
        entries=["forward", "count"],
        backend="aten",
        stateful=True,
        out=tmp_path_factory.mktemp("api") / "running",
    )


def test_check_passes(project: torch2cpp.Project):
    verdict = project.check()
    assert (verdict.ok, verdict.matched, verdict.mismatches) == (True, 4, [])


def same(got: dict[str, Any], want: dict[str, Any]) -> bool:
    return (
        list(got) == list(want)
        and torch.equal(got["total"], want["total"])
        and type(got["of"]).__name__ == "Summary"
        and torch.equal(got["of"].mean, want["of"].mean)
        and got["of"].steps == want["of"].steps
    )


def test_instances_have_state_of_their_own(project: torch2cpp.Project):
    x = torch.randn(2, 2)
    ours, other, python = project.load(), project.load(), Running()
    with torch.no_grad():
        for _ in range(3):
            assert same(ours(x), python(x))
        assert same(other(x, scale=2.0, label="b"), Running()(x, scale=2.0, label="b"))
        assert (ours.count(10), other.count(10)) == (13, 11)
        ours.reset()
        assert same(ours(x), Running()(x))


def test_state_is_saved_restored_and_cloned(project: torch2cpp.Project, tmp_path: Path):
    x = torch.randn(2, 2)
    first, python = project.load(), Running()
    fresh = tmp_path / "fresh.safetensors"
    first.save_state(str(fresh))
    with torch.no_grad():
        first(x), python(x)
        first.save_state(str(tmp_path / "state.safetensors"))
        copy = first.clone()
        assert same(first(x), python(x))

        second, again = project.load(), Running()
        second.load_state(str(tmp_path / "state.safetensors"))
        again(x)
        want = again(x)
        assert same(second(x), want)
        assert same(copy(x), want)
        second.load_state(str(fresh))
        assert same(second(x), Running()(x))
    save_file({"total": torch.zeros(3), "calls": torch.tensor(1)}, tmp_path / "other.safetensors")
    with pytest.raises(ValueError, match=r"state 'total': expected float32 \[2\], got float32 \[3\]"):
        second.load_state(str(tmp_path / "other.safetensors"))
    save_file({"total:none": torch.tensor(True)}, tmp_path / "other.safetensors")
    with pytest.raises(ValueError, match="calls"):
        second.load_state(str(tmp_path / "other.safetensors"))


def test_exceptions_come_back_with_their_name_and_place(project: torch2cpp.Project):
    with pytest.raises(ValueError, match="run: 9 rows") as caught:
        project.load()(torch.zeros(9, 2))
    assert type(caught.value).__name__ == "TooLong"
    assert "test_api.py" in caught.value.__notes__[0]


def test_results_share_memory_with_nothing_copied(project: torch2cpp.Project):
    model = project.load()
    first = model(torch.ones(1, 2))["total"]
    kept = first.clone()
    model(torch.ones(1, 2))
    assert torch.equal(first, kept)


def test_check_of_new_inputs_finds_what_differs(project: torch2cpp.Project):
    assert project.check([(torch.ones(1, 2),), (torch.ones(7, 2), 3.0, "x")]).ok
    project.model.scale.data.mul_(2)
    try:
        verdict = project.check([(torch.ones(1, 2),)])
    finally:
        project.model.scale.data.div_(2)
    assert (verdict.ok, verdict.matched) == (False, 0)
    assert "result['total']: value" in verdict.mismatches[0][1][0]


def test_explain(project: torch2cpp.Project):
    assert "== Host program ==" in project.explain()


def test_the_header_compiles_alone_without_warnings(project: torch2cpp.Project, tmp_path: Path):
    (tmp_path / "user.cpp").write_text("#include <running/running.h>\nint main() { running::Running model; }\n")
    folders = [f"-I{project.folder}/include", f"-I{project.folder}/runtime/include"]
    system = ["-isystem", str(torch_folder() / "include")]
    flags = ["-std=c++20", "-fsyntax-only", "-Wall", "-Wextra", "-Werror"]
    subprocess.run([compiler(), *flags, *folders, *system, str(tmp_path / "user.cpp")], check=True)


def test_the_header_says_what_goes_in_and_out(project: torch2cpp.Project):
    header = (Path(project.folder) / "include/running/running.h").read_text()
    assert "x: float32 [?, 2]" in header
    assert "double scale = 1.0" in header
    assert "Raises TooLong" in header
    assert "void reset();" in header


def test_two_builds_of_one_name_are_two(tmp_path: Path) -> None:
    def make(factor: float) -> Any:
        def scale(x: torch.Tensor) -> torch.Tensor:
            if x.sum() > 0:
                return x * factor
            return x

        return scale

    x = torch.ones(3)
    made = [
        torch2cpp.transpile(make(factor), [(x,), (-x,)], backend="aten", name="scale", out=tmp_path / str(factor))
        for factor in (2.0, 3.0)
    ]
    loaded = [project.load() for project in made]
    assert [float(each(x)[0]) for each in loaded] == [2.0, 3.0]
