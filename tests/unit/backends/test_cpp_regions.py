"""Regions compiled, run and compared: the two backends on what they find hard. One build serves all tests."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

from region_from_export import region_of
from torch2cpp.backends.build_checker import build_checker
from torch2cpp.backends.compile_regions import RegionOptions, compile_regions
from torch2cpp.backends.interface import interface
from torch2cpp.backends.protocol import CompiledRegions, RegionReport
from torch2cpp.backends.sample_file import ResultReader, SampleWriter
from torch2cpp.backends.verify_region import Ran, _judge, verify
from torch2cpp.hostir.program import Region
from torch2cpp.hostir.types import INT
from torch2cpp.regions import defined
from torch2cpp.regions.share import Sharing, share

#: Objects are named by their content: a region that did not change is not compiled again.
CACHE = Path(__file__).parents[3] / ".cache" / "objects"


class Wide(nn.Module):
    """Many kinds of operators, arguments and results."""

    def __init__(self) -> None:
        super().__init__()
        self.embedding = nn.Embedding(11, 16)
        self.head = nn.Linear(16, 5)
        self.conv = nn.Conv1d(16, 16, 3, padding=1)
        self.norm = nn.BatchNorm1d(16)

    def forward(self, tokens: torch.Tensor, state: torch.Tensor, mask: torch.Tensor) -> Any:
        x = self.embedding(tokens) + state.unsqueeze(1)
        x = x.masked_fill(mask.unsqueeze(-1), 0.0)
        y = self.head(x).view(tokens.shape[0], tokens.shape[1], -1)
        best, index = y.max(-1)
        a, b = y.split([2, 3], -1)
        z = torch.relu_(self.norm(self.conv(x.transpose(1, 2)))).to(torch.float64)
        z[:, 0] = z[:, 1] * 2
        steps = torch.arange(tokens.shape[1] * 2)
        low = torch.full((tokens.shape[0], 2), float("-inf"))
        return (best, index, a, y.sum([1]), torch.cat([a, b * 2 + 1], -1), z.float().softmax(-1), x[mask],
                torch.topk(x, 3)[0], steps, low, (best > 0.5).all(), x.std(1), torch.where(mask, best, 0.0),
                best.argmax(), x.clamp(min=0.1), torch.einsum("bte,be->bt", x, state))  # fmt: skip


class Broadcast(nn.Module):
    """Equal sizes in the example; broadcast when one of them is 1, Python's error when they differ otherwise."""

    def forward(self, a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        return (a + b).tanh().sum(0)


class Lookup(nn.Module):
    """Raises IndexError from inside a kernel."""

    def __init__(self) -> None:
        super().__init__()
        self.table = nn.Embedding(7, 4)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.relu(self.table(x)) * 2


class Recurrent(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.rnn = nn.GRU(4, 6)

    def forward(self, x: torch.Tensor) -> Any:
        return self.rnn(x)


class Mixed(nn.Module):
    """A recurrent layer, random numbers and an operator without a C ABI entry among ordinary work."""

    def __init__(self) -> None:
        super().__init__()
        self.enter = nn.Linear(3, 4)
        self.rnn = nn.GRU(4, 6)
        self.leave = nn.Linear(6, 5)

    def forward(self, x: torch.Tensor, kinds: torch.Tensor) -> Any:
        steps, last = self.rnn(torch.tanh(self.enter(x)) * 2)
        scores = torch.relu(self.leave(steps)).softmax(-1)
        counts = torch.bincount(kinds, minlength=5)
        weighted = (scores * counts).sum(-1)
        return scores, last, weighted, weighted.view(-1, x.shape[1] * 1).amax(0)


class Chunks(nn.Module):
    """Streamed attention with growing memories: Inductor of torch 2.13 gets it wrong by more than 1 on the CPU."""

    def __init__(self, layers: int = 2, dim: int = 8) -> None:
        super().__init__()
        self.ask = nn.ModuleList([nn.Linear(dim, dim) for _ in range(layers)])
        self.mem = nn.ModuleList([nn.Linear(dim, 2 * dim) for _ in range(layers)])
        self.smooth = nn.ModuleList([nn.Conv1d(dim, dim, 3, groups=dim) for _ in range(layers)])
        self.norm = nn.ModuleList([nn.LayerNorm(dim) for _ in range(layers)])

    def forward(self, a: torch.Tensor, b: torch.Tensor, c: torch.Tensor) -> torch.Tensor:
        mems: list[Any] = [None] * len(self.ask)
        tails = [torch.zeros(1, 2, 8)] * len(self.ask)
        outs = []
        for x in (a, b, c):
            for i in range(len(self.ask)):
                h = self.norm[i](x)
                mem = self.mem[i](h)
                if mems[i] is not None:
                    mem = torch.cat([mems[i], mem], 1)
                k, v = mem.chunk(2, -1)
                x = x + (self.ask[i](h) @ k.transpose(1, 2) / 8**0.5).softmax(-1) @ v
                mems[i] = mem
                p = torch.cat([tails[i], x], 1)
                x = x + torch.tanh(self.smooth[i](p.transpose(1, 2)).transpose(1, 2))
                tails[i] = p[:, -2:]
            outs.append(x)
        return torch.cat(outs, 1)


class Bags(nn.Module):
    """A kernel that reads beyond its rows where the starts go backwards."""

    def __init__(self) -> None:
        super().__init__()
        self.table = nn.EmbeddingBag(7, 4, mode="sum")

    def forward(self, ids: torch.Tensor, starts: torch.Tensor) -> torch.Tensor:
        return self.table(ids, starts)


@dataclass
class Built:
    """Everything compiled once."""

    sharing: Sharing
    weights: Mapping[str, torch.Tensor]
    compiled: CompiledRegions
    program: Path
    folder: Path
    #: Whether the last run gave way to the `aten` form.
    fallbacks: int = 0

    def report(self, name: str) -> RegionReport:
        return next(r for r in self.compiled.reports if r.region == name)

    def run(self, name: str, *args: torch.Tensor) -> Any:
        """The compiled region's results, or the text of its error."""
        with (self.folder / "in.bin").open("wb") as file:
            writer = SampleWriter(file)
            for d in self.sharing.distinct:
                writer.tensors([self.weights[w.name] for w in d.slots])
                writer.int(int(d.name == name))
                if d.name == name:
                    for arg, p in zip(args, d.region.params, strict=True):
                        writer.value(arg, p.type)
        subprocess.run([self.program, self.folder / "in.bin", self.folder / "out.bin"], check=True, capture_output=True)
        reader = ResultReader((self.folder / "out.bin").read_bytes())
        region = next(d.region for d in self.sharing.distinct if d.name == name)
        if not reader.bool():
            return reader.text()
        results = [reader.value(r.type) for r in region.results]
        for p in region.params:
            reader.value(p.type)
        self.fallbacks = reader.value(INT)
        return results


def _regions() -> tuple[list[Region], dict[str, torch.Tensor], dict[str, list[Any]]]:
    torch.manual_seed(0)
    wide = (torch.randint(0, 11, (3, 7)), torch.randn(3, 16), torch.rand(3, 7) > 0.5)
    broadcast = (torch.randn(4, 3), torch.randn(4, 3))
    chunks = (torch.randn(1, 4, 8), torch.randn(1, 4, 8), torch.randn(1, 2, 8))
    made = [
        ("wide", Wide(), wide, [[0, 1], [0], [0, 1]]),
        ("broadcast", Broadcast(), broadcast, [[0], [0]]),
        ("lookup", Lookup(), (torch.tensor([1, 2, 6]),), [[0]]),
        ("recurrent", Recurrent(), (torch.randn(5, 2, 4),), []),
        ("chunks", Chunks(), chunks, []),
        ("bags", Bags(), (torch.tensor([1, 2, 3, 4, 5]), torch.tensor([0, 1, 3])), [[0], [0]]),
        ("mixed", Mixed(), (torch.randn(7, 2, 3), torch.randint(0, 5, (9,))), [[], [0]]),
    ]
    regions, weights, recorded = [], {}, {}
    for name, module, args, dynamic in made:
        region, own = region_of(module, args, dynamic, name=name)
        regions.append(region)
        weights |= own
        recorded[name] = [args]
    return regions, weights, recorded


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Built:
    folder = tmp_path_factory.mktemp("regions")
    regions, weights, recorded = _regions()
    compiled = compile_regions(regions, weights, RegionOptions("demo", folder, CACHE, recorded=recorded))
    sharing = share(regions)
    views = [interface(d, "demo")[0] for d in sharing.distinct]
    program = build_checker(views, compiled.sources, compiled.units, compiled.link, folder, CACHE)
    return Built(sharing, weights, compiled, program, folder)


def test_many_operators_match(built: Built) -> None:
    report = built.report("wide")
    assert report.chosen == "aotinductor"
    assert report.samples >= 8


def test_the_miscompiled_region_is_found_and_cured(built: Built) -> None:
    report = built.report("chunks")
    backend, safety, error, reason = report.tried[0]
    assert (backend, safety) == ("aotinductor", "fast")
    assert error is not None
    assert error > 1
    assert "off by up to" in reason
    assert report.tried[-1][3] == "chosen"
    assert report.tried[-1][2] is not None
    assert report.tried[-1][2] < 1e-5


def test_a_recurrent_layer_goes_to_aten_with_the_reason(built: Built) -> None:
    report = built.report("recurrent")
    assert report.chosen == "aten"
    assert "recurrent" in report.tried[0][3]
    assert report.tried[-1][2] == 0.0


def test_what_the_compiler_does_not_take_is_cut_out(built: Built) -> None:
    report = built.report("mixed")
    assert report.chosen == "aotinductor"
    assert ("in parts", "chosen") in [(t[0], t[3]) for t in report.tried]
    parts = [t for t in report.tried if "chosen for its part" in t[3]]
    assert {t[0] for t in parts} == {"aotinductor", "aten"}
    assert len(parts) <= 4
    module, (x, kinds) = Mixed(), (torch.randn(7, 2, 3), torch.randint(0, 5, (4,)))
    module.load_state_dict({k: v for k, v in built.weights.items() if k in module.state_dict()}, strict=False)
    with torch.no_grad():
        for got, want in zip(built.run("mixed", x, kinds), module.eval()(x, kinds), strict=True):
            torch.testing.assert_close(got, want)


def test_sizes_that_the_code_was_not_compiled_for_are_right_too(built: Built) -> None:
    a, b = torch.randn(5, 3), torch.randn(1, 3)
    assert torch.equal(built.run("broadcast", a, b)[0], (a + b).tanh().sum(0))
    assert built.fallbacks == 1
    torch.testing.assert_close(built.run("broadcast", a, a)[0], (a + a).tanh().sum(0))
    assert built.fallbacks == 0


def test_what_has_no_elements_is_eagers(built: Built) -> None:
    got = built.run("broadcast", torch.zeros(0, 3), torch.zeros(0, 3))[0]
    assert torch.equal(got, torch.zeros(3))
    assert built.fallbacks == 1


def test_what_a_kernel_finds_in_memory_blames_no_backend(built: Built, monkeypatch: pytest.MonkeyPatch) -> None:
    assert built.report("bags").chosen == "aten"
    # Known kinds of such inputs are no samples in the first place; this stands for an unknown one.
    monkeypatch.setattr(defined, "_CHECKS", {})
    backwards = (torch.tensor([1, 2, 3, 4, 5]), torch.tensor([0, 4, 1, 3, 0]))
    samples = {d.name: [] for d in built.sharing.distinct} | {"bags": [backwards] * 3}
    for _ in range(3):
        verdicts = verify(built.program, built.sharing.distinct, samples, built.weights, built.folder, {"bags"})
        assert verdicts["bags"].reason == ""


def test_a_difference_that_stays_is_one(built: Built) -> None:
    bags = next(d for d in built.sharing.distinct if d.name == "bags")
    ids, starts = torch.tensor([1, 2, 3]), torch.tensor([0, 1])
    right = built.run("bags", ids, starts)[0]
    wrong = Ran("", [right + 1, ids, starts], 0)
    assert "off by up to 1" in _judge(bags, [(ids, starts)], built.weights, [wrong], [(wrong, wrong)]).reason
    garbage = Ran("", [right * 3, ids, starts], 0)
    assert _judge(bags, [(ids, starts)], built.weights, [wrong], [(wrong, garbage)]).reason == ""


def test_inputs_of_other_strides_are_laid_out(built: Built) -> None:
    a, b = torch.randn(3, 9).T, torch.randn(9, 6)[:, ::2]
    torch.testing.assert_close(built.run("broadcast", a, b)[0], (a + b).tanh().sum(0))
    assert built.fallbacks == 0


def test_errors_are_pythons(built: Built) -> None:
    message = built.run("broadcast", torch.randn(4, 3), torch.randn(3, 3))
    with pytest.raises(RuntimeError) as caught:
        torch.randn(4, 3) + torch.randn(3, 3)
    assert message == f"RuntimeError: {caught.value} (model.py:3)"
    assert built.run("lookup", torch.tensor([7])) == "IndexError: index out of range in self (model.py:2)"


def test_weights_are_replaceable(built: Built) -> None:
    generator = torch.Generator().manual_seed(1)
    other = {
        k: torch.rand(v.shape, generator=generator) if v.is_floating_point() else v for k, v in built.weights.items()
    }
    samples = {d.name: [] for d in built.sharing.distinct} | {
        "lookup": [(torch.tensor([0, 3]),)],
        "wide": [(torch.randint(0, 11, (2, 4)), torch.randn(2, 16), torch.rand(2, 4) > 0.5)],
        "recurrent": [(torch.randn(5, 2, 4),)],
    }
    verdicts = verify(built.program, built.sharing.distinct, samples, other, built.folder)
    assert [v.reason for v in verdicts.values()] == [""] * len(verdicts)


def test_compiled_code_uses_the_c_abi_only(built: Built) -> None:
    unit = next(u for u in built.compiled.units if "aotinductor" in u.path)
    obj = built.folder / "unit.o"
    torch_include = Path(torch.__file__).parent / "include"
    runtime = Path(__file__).parents[3] / "runtime_cpp" / "include"
    command = ["g++", "-std=c++20", *unit.flags, *(f"-D{d}" for d in unit.definitions), f"-I{built.folder / 'src'}"]
    command += [f"-I{runtime}", f"-isystem{torch_include}", "-c", str(built.folder / unit.path), "-o", str(obj)]
    subprocess.run([*command, "-O0"], check=True)
    symbols = subprocess.run(["nm", "-uC", obj], capture_output=True, text=True, check=True).stdout
    names = [line.split(maxsplit=1)[1] for line in symbols.splitlines()]
    foreign = [n for n in names if n.startswith(("at::", "c10::", "torch::"))]
    assert foreign == []


def test_the_same_text_comes_out_every_time(tmp_path: Path) -> None:
    script = (
        "import sys, hashlib, json; sys.path[:0] = json.loads(sys.argv[1])\n"
        "from test_cpp_regions import _regions\n"
        "from torch2cpp.backends.compile_regions import RegionOptions, compile_regions\n"
        "from pathlib import Path\n"
        "r, w, s = _regions()\n"
        "o = RegionOptions('demo', Path(sys.argv[2]), Path(sys.argv[2]), recorded=s, verify=False)\n"
        "c = compile_regions([x for x in r if x.name in ('wide', 'mixed')], w, o)\n"
        "print(hashlib.sha256(json.dumps(sorted(c.sources.items())).encode()).hexdigest())\n"
    )
    here = Path(__file__).parent
    paths = json.dumps([str(here), str(here.parents[1])])
    running = [
        subprocess.Popen([sys.executable, "-W", "ignore", "-c", script, paths, str(tmp_path / seed)], text=True,
                         stdout=subprocess.PIPE, env={**os.environ, "PYTHONHASHSEED": seed})
        for seed in ("1", "2")
    ]  # fmt: skip
    digests = {process.communicate()[0] for process in running}
    assert [process.returncode for process in running] == [0, 0]
    assert len(digests) == 1
