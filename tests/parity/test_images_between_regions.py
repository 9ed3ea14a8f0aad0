"""Images that only regions see lie with the channels last in C++, and as in Python again beside other backends."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor, nn

from torch2cpp.project import Project, transpile


class Exits(nn.Module):
    """Blocks on images, in place, until the image is bright; the head views what is left."""

    def __init__(self, noise: bool) -> None:
        super().__init__()
        self.stem = nn.Conv2d(3, 6, 3, padding=1)
        self.blocks = nn.ModuleList(
            nn.Sequential(nn.Conv2d(6, 6, 3, padding=1), nn.BatchNorm2d(6), nn.ReLU(inplace=True)) for _ in range(4)
        )
        self.head = nn.Conv2d(6, 2, 3, padding=1)
        self.noise = noise

    def forward(self, x: Tensor) -> tuple[Tensor, int]:
        x = self.stem(x)
        steps = 0
        for block in self.blocks:
            steps += 1
            x = x + block(x)
            if x.mean() > 0.4:
                break
        if self.noise and x.mean() > 0.2:
            # Drawn by eager's own operators, so another backend's region reads and makes the image.
            x = x * torch.rand_like(x).ceil()
        y = self.head(x).relu_()
        return y.reshape(y.shape[0], -1).sum(1), steps


@pytest.fixture(scope="module", params=[False, True], ids=["convolutions", "noise"])
def project(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Project:
    torch.manual_seed(1)
    sizes = [(1, 8, 8), (2, 9, 7), (3, 1, 5), (1, 16, 16)]
    inputs = [(torch.randn(n, 3, h, w) * s,) for n, h, w in sizes for s in (0.1, 2.0)]
    made = transpile(
        Exits(request.param).eval(),
        inputs,
        backend="aotinductor",
        threads=1,
        dynamic_shapes={"x": {0: torch.export.Dim.DYNAMIC, 2: torch.export.Dim.DYNAMIC, 3: torch.export.Dim.DYNAMIC}},
        out=tmp_path_factory.mktemp("images") / "exits",
        name="exits",
    )
    made.build()
    return made


def test_it_is_as_in_python(project: Project) -> None:
    verdict = project.check()
    assert verdict.ok, verdict
    # Each way is taken by an input.
    assert not project.transpiled.observed.coverage.missed


def test_who_keeps_images(project: Project, request: pytest.FixtureRequest) -> None:
    compiled = project.transpiled.compiled
    keeps = [n for n, text in compiled.sources.items() if n.endswith(".cpp") and "compiled::contiguous(" in text]
    backends = {report.region: report.chosen for report in compiled.reports}
    if "noise" in request.node.callspec.id:
        # What the blocks hand on goes through the noise on some path, and to the head from there.
        assert "aten" in {tried for r in compiled.reports if r.region != "stem" for tried, *_ in r.tried}
        assert keeps == []
    else:
        # The stem is one operation, for which eager's is as good; it makes the image as it likes.
        assert backends == {"stem": "aten", "blocks_0": "aotinductor", "head": "aotinductor"}
        # Those that read an image turn it back for the form that runs other sizes.
        assert len(keeps) == 2
