"""Emitted projects whose regions are compiled by each backend, through C++, against eager."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest
import torch

import torch2cpp
from backend_models import routed, routed_inputs
from torch2cpp.backends import auto
from torch2cpp.bench.measure import Effort
from torch2cpp.bench.run import bench
from torch2cpp.project import Project

BACKENDS = ("onnxruntime", "torchscript", "openvino")


@pytest.fixture(scope="module", params=BACKENDS)
def project(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Project:
    folder = tmp_path_factory.mktemp(request.param) / "routed"
    made = torch2cpp.transpile(routed(), routed_inputs(), backend=request.param, out=folder, threads=1)
    made.build(runner=request.param == "onnxruntime")
    return made


def regions_of(project: Project) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((project.folder / "model.json").read_text())["regions"]
    return found


def backend_of(project: Project) -> str:
    return project.transpiled.options.backend


def test_results_are_eagers(project: Project) -> None:
    verdict = project.check()
    assert verdict.ok, verdict.mismatches
    assert verdict.branches_taken == verdict.branches == 2
    # It did run the backend's own code: batch norm goes into the convolution, which rounds differently.
    assert 0 < verdict.max_abs_err < 1e-5


def test_several_regions_are_compiled_by_the_backend(project: Project) -> None:
    chosen = [region["backend"] for region in regions_of(project).values()]
    assert chosen.count(backend_of(project)) >= 2


def test_what_it_refuses_falls_back_with_the_reason(project: Project) -> None:
    tried = [attempt for region in regions_of(project).values() for attempt in region["tried"]]
    if backend_of(project) == "torchscript":
        # It takes recurrent layers as they are.
        assert {attempt["outcome"] for attempt in tried} == {"chosen"}
    else:
        assert any("recurrent layer" in attempt["outcome"] for attempt in tried)
        assert any(attempt["backend"] == "aten" and "chosen" in attempt["outcome"] for attempt in tried)


def test_weights_are_replaced_without_a_build(project: Project, tmp_path: Path) -> None:
    from safetensors.torch import load_file, save_file

    other = routed()
    with torch.no_grad():
        for parameter in other.parameters():
            parameter.mul_(0.5)
    names = load_file(project.folder / "weights.safetensors")
    state = other.state_dict()
    save_file({name: state.get(name, value).contiguous() for name, value in names.items()}, tmp_path / "w.safetensors")
    loaded = project.load(tmp_path / "w.safetensors")
    for args in routed_inputs():
        with torch.no_grad():
            for got, want in zip(loaded(*args), other(*args), strict=True):
                torch.testing.assert_close(got, want)


def test_pythons_errors_come_through(project: Project) -> None:
    wrong = torch.randn(2, 3, 8, 8), torch.zeros(3)
    with pytest.raises(RuntimeError) as eager:
        routed()(*wrong)
    with pytest.raises(RuntimeError) as ours:
        project.load()(*wrong)
    assert str(eager.value) == str(ours.value)


@pytest.mark.parametrize("special", [float("nan"), float("inf"), -float("inf")])
def test_nan_and_infinities_are_eagers(project: Project, special: float) -> None:
    loaded, model = project.load(), routed()
    for args in routed_inputs():
        image = args[0].clone()
        image[:1, 1, 2, 3] = special
        with torch.no_grad():
            want = model(image, *args[1:])
        for got, expected in zip(loaded(image, *args[1:]), want, strict=True):
            torch.testing.assert_close(got, expected, equal_nan=True)


def test_threads_at_once(project: Project) -> None:
    from concurrent.futures import ThreadPoolExecutor

    loaded, model = project.load(), routed()
    inputs = routed_inputs()[:4] * 8
    with torch.no_grad():
        want = [model(*args) for args in inputs]
    with ThreadPoolExecutor(4) as pool:
        got = list(pool.map(lambda args: loaded(*args), inputs))
    for a, b in zip(got, want, strict=True):
        torch.testing.assert_close(a[0], b[0])


@pytest.mark.parametrize("project", ["onnxruntime"], indirect=True)
def test_the_program_finds_its_library(project: Project) -> None:
    runner = project.folder / "build" / f"{project.name}_run"
    done = subprocess.run([runner, "--golden", project.folder / "golden"], capture_output=True, text=True, check=False)
    assert "5 of 5 as recorded" in done.stdout, done.stdout + done.stderr


@pytest.mark.parametrize("project", ["onnxruntime"], indirect=True)
def test_bench_has_every_rival_or_its_reason(project: Project) -> None:
    effort = Effort(least=2, most=3, seconds=1)
    result = bench(project, ("eager", "torchscript", "onnxruntime"), effort=effort, start=True)
    line = json.loads(result.as_json())
    assert {"model", "threads", "rows", "break_even_runs", "reasons"} <= set(line)
    assert line["threads"] == 1
    assert len(line["rows"]) == 5
    assert all(row["eager"] > 0 and row["torch2cpp"] > 0 and row["onnxruntime"] > 0 for row in line["rows"])
    assert all(row["regions_only"] >= 0 for row in line["rows"])
    assert all((row["torchscript"] is None) == ("torchscript" in line["reasons"]) for row in line["rows"])
    # Each in a process of its own: the program, Python, a C++ program over libtorch.
    assert not line["startup_reasons"]
    assert set(line["startup"]) == {"eager", "torchscript", "torch2cpp"}
    assert all(each["milliseconds"] > 1 and each["megabytes"] > 5 for each in line["startup"].values())


def test_auto_records_times_and_mixes_backends(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(auto, "installed", lambda: ("aten", "onnxruntime", "torchscript"))
    made = torch2cpp.transpile(routed(), routed_inputs(), backend="auto", out=tmp_path / "routed", threads=1)
    regions = regions_of(made)
    measured = [region for region in regions.values() if "microseconds" in region]
    assert measured
    for region in measured:
        times = region["microseconds"]
        assert set(times) >= {"aten", "torchscript"}
        assert all(t > 0 for t in times.values())
        assert times[region["backend"]] == min(times.values())
        assert region["tried"][-1]["max_abs_err"] < 1e-4
    made.build(runner=False)
    assert made.check().ok
