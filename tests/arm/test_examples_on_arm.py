"""The four examples on an emulated 64-bit Arm processor, by each backend that has code for it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from arm_target import assert_same_on_target, for_target
from model_files import ROOT

EXAMPLES = ("early_exit", "greedy_decoder", "nms", "skip_network")
BACKENDS = ("aten", "aotinductor", "onnxruntime")
#: Sorting and indexing: few regions, and it is the backends' own matter which of these they take.
MOSTLY_HOST = ("nms",)


@pytest.mark.arm
@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("name", EXAMPLES)
def test_an_example(name: str, backend: str, tmp_path: Path) -> None:
    project = for_target(ROOT / f"examples/{name}.py", backend, tmp_path / name)
    assert_same_on_target(project)
    manifest = json.loads((project.folder / "model.json").read_text())
    assert manifest["target"] == {"name": "aarch64-linux-gnu", "cpu": "generic"}
    used = {region["backend"] for region in manifest["regions"].values()}
    assert backend in used or name in MOSTLY_HOST, manifest["regions"]
