"""Images enlarged and shrunk to the nearest pixel: eager's pixels at every size, with every backend."""

from __future__ import annotations

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from torch2cpp.project import Project, transpile


class Resized(nn.Module):
    """To one size from any, and by factors."""

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        small = F.interpolate(x + 1.0, size=(12, 12), mode="nearest") * 2.0
        twice = F.interpolate(x * 3.0, scale_factor=2, mode="nearest") + 1.0
        thrice = F.interpolate(x * 5.0, scale_factor=3, mode="nearest") + 1.0
        return small, twice, thrice


QUICK, SLOW = ("aotinductor", "onnxruntime"), ("openvino", "torchscript")


@pytest.fixture(scope="module", params=[*QUICK, *(pytest.param(b, marks=pytest.mark.slow) for b in SLOW)])
def project(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Project:
    inputs = [(torch.rand(1, 2, h, w),) for h, w in ((8, 9), (16, 12), (24, 31))]
    made = transpile(
        Resized(), inputs, backend=request.param, threads=1, out=tmp_path_factory.mktemp("nearest"), name="resized"
    )
    made.build()
    return made


def test_every_size(project: Project) -> None:
    loaded, model = project.load(), Resized()
    for h in range(2, 60):
        x = torch.rand(1, 2, h, h + 3)
        for got, want in zip(loaded(x), model(x), strict=True):
            torch.testing.assert_close(got, want)
