"""The command line for other machines: what is listed, what is refused."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from typer.testing import CliRunner

from torch2cpp.cli import REFUSED, app
from torch2cpp.cli_target import say_what_stood_in
from torch2cpp.toolchain.targets.target import Target

MODEL = """
import torch


class Twice(torch.nn.Module):
    def forward(self, x):
        return x * 2


def make_model():
    return Twice()


def make_inputs():
    return [(torch.ones(2),)]
"""


@pytest.fixture(autouse=True)
def no_targets(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A cache folder in which no target was ever set up."""
    monkeypatch.setenv("TORCH2CPP_CACHE", str(tmp_path / "cache"))


def invoke(*args: object) -> tuple[int, str, str]:
    done = CliRunner().invoke(app, [str(a) for a in args])
    return done.exit_code, done.stdout, done.stderr


def refused(tmp_path: Path, *options: str) -> str:
    """What `check` says of a model with these options; it must come before any work on the model."""
    path = tmp_path / "twice.py"
    path.write_text(MODEL)
    code, out, _ = invoke("check", path, "--json", *options)
    assert code == REFUSED
    error: str = json.loads(out)["error"]
    return error


def test_targets_are_listed_with_their_state() -> None:
    code, out, _ = invoke("target", "list")
    assert code == 0
    assert "native" in out
    assert "torch2cpp target add aarch64-linux-gnu" in " ".join(out.split())


def test_unknown_targets_are_refused(tmp_path: Path) -> None:
    assert "there are native, aarch64-linux-gnu" in refused(tmp_path, "--target", "pdp11")
    assert "no backend serves 32-bit Arm" in refused(tmp_path, "--target", "arm-linux-gnueabihf")
    code, _, err = invoke("target", "add", "pdp11")
    assert code == REFUSED
    assert "there is no target pdp11" in err


def test_a_target_that_is_not_set_up_is_refused(tmp_path: Path) -> None:
    assert "run `torch2cpp target add aarch64-linux-gnu` once" in refused(tmp_path, "--target", "aarch64-linux-gnu")


def test_a_processor_is_for_other_targets(tmp_path: Path) -> None:
    assert "--cpu is for other targets" in refused(tmp_path, "--cpu", "cortex-a72")


def test_what_is_no_project_is_not_bundled(tmp_path: Path) -> None:
    code, _, err = invoke("bundle", tmp_path)
    assert code == REFUSED
    assert "is no project of torch2cpp" in err


@pytest.mark.parametrize(
    ("machine", "emulator"),
    [
        (Target("aarch64-linux-gnu", "cortex-a78"), "qemu-aarch64"),
        (Target("arm-linux-gnueabihf", "cortex-a5", libtorch=False), "qemu-arm"),
    ],
)
def test_a_stand_in_for_the_processor_is_told(
    machine: Target, emulator: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    say_what_stood_in(machine)
    assert capsys.readouterr().err == ""
    (tmp_path / emulator).write_text("#!/bin/sh\necho cortex-a7 cortex-a53 max\n")
    (tmp_path / emulator).chmod(0o755)
    say_what_stood_in(machine)
    assert f"QEMU knows no {machine.cpu}; `max`" in capsys.readouterr().err
    say_what_stood_in(replace(machine, cpu=None))
    assert capsys.readouterr().err == ""
