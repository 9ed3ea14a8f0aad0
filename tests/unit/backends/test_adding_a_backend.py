"""A backend of somebody else's: in a file of its own, with nothing else touched."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from torch import nn

from loop_backend import LoopBackend
from region_from_export import region_of
from torch2cpp.backends import registry
from torch2cpp.backends.compile_regions import RegionOptions, compile_regions

ROOT = Path(__file__).parents[3]
CACHE = ROOT / ".cache" / "objects"


class Chain(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.relu(-torch.tanh(x))


class Sum(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.tanh(x).sum(-1)


def test_a_registered_backend_compiles_what_it_takes_and_the_rest_falls_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(registry, "_registered", {})
    registry.register("loop", LoopBackend)
    x = torch.randn(3, 5)
    regions = [region_of(Chain(), (x,), [[0]], name="chain")[0], region_of(Sum(), (x,), [[0]], name="total")[0]]
    options = RegionOptions("demo", tmp_path, CACHE, backend="loop", recorded={"chain": [(x,)], "total": [(x,)]})
    chain, total = compile_regions(regions, {}, options).reports
    assert (chain.chosen, total.chosen) == ("loop", "aten")
    assert chain.samples >= 4
    assert chain.tried[0][2] is not None
    assert chain.tried[0][2] < 1e-6
    assert total.tried[0][:1] + total.tried[0][3:] == ("loop", "it is no chain of elementwise operations")


def test_the_page_shows_the_backend_that_is_tested() -> None:
    text = (ROOT / "tests/loop_backend.py").read_text()
    assert text.count("\n") < 80
    assert f"```python\n{text}```" in (ROOT / "docs/backends.md").read_text()


def test_unknown_backends_are_named() -> None:
    with pytest.raises(registry.UnknownBackend, match="there is no backend wrong; there are aten, aotinductor"):
        registry.create("wrong")


def test_what_has_to_be_installed_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry.importlib.util, "find_spec", lambda name: None)
    with pytest.raises(registry.UnknownBackend, match=r"needs openvino: pip install 'torch2cpp\[openvino\]'"):
        registry.create("openvino")
    assert registry.installed() == ("aten", "aotinductor", "torchscript")
