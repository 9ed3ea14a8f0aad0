"""The bench without C++: turns and medians, rivals and their reasons, rows."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from rich.console import Console
from torch import nn

from torch2cpp.bench.measure import Effort, measure
from torch2cpp.bench.pieces import Pieces, record
from torch2cpp.bench.result import BenchResult, Startup, UnknownRival, choose_rivals
from torch2cpp.bench.rivals import CannotRun, PythonRival, checked, compiled, scripted
from torch2cpp.bench.snapshot import Snapshot
from torch2cpp.options import Options
from torch2cpp.pipeline import analyse, run_python


class Counter(nn.Module):
    """Keeps a count, a list and a buffer between calls."""

    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(2, 2)
        self.register_buffer("total", torch.zeros(2))
        self.calls = 0
        self.seen: list[int] = []
        self.layers = {"first": self.linear}

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.calls += 1
        self.seen.append(len(x))
        self.total = self.total + x.sum(0)
        return self.linear(self.total) * self.calls


class Gate(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.a = nn.Linear(4, 4)
        self.b = nn.Linear(4, 2)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = torch.relu(self.a(x))
        if y.sum() > 2:
            return torch.softmax(self.b(y), -1)
        return y.mean(-1)


class Fake:
    """A rival whose calls take what is said."""

    def __init__(self, name: str, seconds: list[float], log: list[str]) -> None:
        self.name = name
        self.seconds = seconds
        self.log = log

    def reset(self) -> None:
        self.log.append(f"{self.name} reset")

    def timed(self, number: int) -> float:
        self.log.append(f"{self.name} {number}")
        return self.seconds[number]


def gate_calls() -> list[tuple[str, tuple[Any, ...]]]:
    torch.manual_seed(0)
    return [("forward", (torch.full((n, 4), value),)) for n, value in ((2, 3.0), (3, -3.0), (1, 0.0))]


def test_rivals_take_turns_and_medians_are_per_input() -> None:
    log: list[str] = []
    rivals = [Fake("a", [1e-6, 2e-6], log), Fake("b", [3e-6, 4e-6], log)]
    found = measure(rivals, 2, resets=True, successive=False, effort=Effort(least=2, most=2))
    assert found == {"a": pytest.approx([1, 2]), "b": pytest.approx([3, 4])}
    calls = [line for line in log if "reset" not in line]
    # The second turn begins with the other one.
    assert calls == ["a 0", "a 1", "b 0", "b 1", "b 0", "b 1", "a 0", "a 1"]
    # Before each turn, and before every call.
    assert log.count("a reset") == 2 * 3


def test_successive_calls_are_not_repeated_or_reset_between() -> None:
    log: list[str] = []
    measure([Fake("a", [1e-6, 2e-6], log)], 2, resets=False, successive=True, effort=Effort(least=1, most=1))
    assert log == ["a reset", "a 0", "a 1"]


def test_state_is_set_back_in_place() -> None:
    model = Counter()
    linear, snapshot = model.linear, Snapshot(model)
    first = model(torch.ones(3, 2))
    model.extra = 1
    snapshot.restore()
    assert model.linear is linear is model.layers["first"]
    assert not hasattr(model, "extra")
    assert torch.equal(model(torch.ones(3, 2)), first)
    assert model.seen == [3]
    snapshot.restore()
    assert (model.calls, model.seen, model.total.tolist()) == (0, [], [0.0, 0.0])


def rival(model: Any, wrap: Callable[[Any], Any], stateful: bool = False) -> PythonRival:
    return PythonRival("it", model, gate_calls(), wrap, stateful=stateful, writes=False)


@pytest.mark.parametrize("wrap", [lambda m: m, scripted(["forward"]), compiled(["forward"])])
def test_rivals_that_give_pythons_results_are_taken(wrap: Callable[[Any], Any]) -> None:
    model = Gate()
    wanted = run_python(model, gate_calls(), stateful=True)
    assert checked(lambda: rival(model, wrap), wanted, resets=False).timed(0) > 0


def test_a_rival_that_gives_something_else_cannot_run_the_model() -> None:
    model = Gate()
    wanted = run_python(model, gate_calls(), stateful=True)
    with pytest.raises(CannotRun, match="input 0: another result than Python's"):
        checked(lambda: rival(model, lambda m: lambda x: m(x) + 1), wanted, resets=False)
    # A trace keeps the branch that it saw.
    trace = lambda m: torch.jit.trace(m, gate_calls()[0][1], check_trace=False)  # noqa: E731
    with pytest.raises(CannotRun, match="another result"):
        checked(lambda: rival(model, trace), wanted, resets=False)


def test_what_does_not_script_has_the_reason() -> None:
    class Odd(nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return x * len(type(self).__mro__)

    wanted = run_python(Odd(), gate_calls(), stateful=True)
    with pytest.raises(CannotRun, match=r"^\w+(Error|Exception)\w*: "):
        checked(lambda: rival(Odd(), scripted(["forward"])), wanted, resets=False)


def test_pieces_run_by_onnx_runtime(tmp_path: Path) -> None:
    model, calls = Gate(), gate_calls()
    program = analyse(model, [args for _, args in calls], Options())
    recorded = record(program, calls, resets=False)
    assert [len(each) for each in recorded] == [2, 2, 2]
    pieces = Pieces(program, calls, False, tmp_path, threads=1)
    assert set(pieces.refused) < {r.name for each in recorded for r, _ in each}
    assert all(pieces.timed(n) > 0 for n in range(3))


def test_pieces_of_one_image_have_a_graph_too(tmp_path: Path) -> None:
    """The exporter takes a size of 1 for a constant: it is shown a larger one."""
    calls = [("forward", (torch.full((1, 4), value),)) for value in (-1.0, 1.0, 3.0)]
    program = analyse(Gate().eval(), [args for _, args in calls] + [(torch.ones(2, 4),)], Options())
    pieces = Pieces(program, calls, False, tmp_path, threads=1)
    assert pieces.refused == {}
    assert all(pieces.timed(n) > 0 for n in range(3))


def test_a_model_without_pieces_cannot_run_that_way(tmp_path: Path) -> None:
    class Host(nn.Module):
        def forward(self, n: int) -> int:
            return n + 1

    program = analyse(Host(), [(1,), (2,)], Options())
    with pytest.raises(CannotRun, match="no regions"):
        Pieces(program, [("forward", (1,))], False, tmp_path, threads=1)


def test_the_json_line_has_what_is_promised() -> None:
    times = {"eager": [100.0, 300.0], "torchscript": None, "torch2cpp": [50.0, 100.0], "regions_only": [40.0, 90.0]}
    result = BenchResult("m", 2, "auto", ("0: 1x3", "1: 2x3"), times, {"torchscript": "it does not script"}, seconds=5)
    line = json.loads(result.as_json())
    assert (line["model"], line["threads"]) == ("m", 2)
    assert line["rows"][1] == {
        "input": "1: 2x3", "eager": 300.0, "torchscript": None, "torch2cpp": 100.0, "regions_only": 90.0,
    }  # fmt: skip
    assert line["reasons"] == {"torchscript": "it does not script"}
    # 125 microseconds are saved a run.
    assert line["break_even_runs"] == 40000
    assert "torchscript: it does not script" in result.notes()


def test_start_and_memory_stand_in_the_table_and_in_the_line() -> None:
    times = {"eager": [100.0], "torchscript": [80.0], "torch2cpp": [50.0]}
    start = {"eager": Startup(2000.0, 300.0, 800.0), "torch2cpp": Startup(150.25, 110.0, 2.5)}
    result = BenchResult("m", 1, "aten", ("0",), times, startup=start, startup_reasons={"torchscript": "no file"})
    line = json.loads(result.as_json())
    assert line["startup"] == {
        "eager": {"milliseconds": 2000.0, "megabytes": 300.0, "megabytes_on_disk": 800.0},
        "torch2cpp": {"milliseconds": 150.2, "megabytes": 110.0, "megabytes_on_disk": 2.5},
        "torchscript": None,
    }
    assert "torchscript, start: no file" in result.notes()
    console = Console(width=120, record=True, file=io.StringIO())
    console.print(result.table())
    rows = {text.split("│")[1].strip(): text for text in console.export_text().splitlines() if "│" in text}
    assert [c.strip() for c in rows["start to first answer, ms"].split("│")[2:-1]] == ["2,000.0", "", "150.2"]
    assert [c.strip() for c in rows["peak memory, MB"].split("│")[2:-1]] == ["300.0", "", "110.0"]
    assert [c.strip() for c in rows["program on disk, MB"].split("│")[2:-1]] == ["800.0", "", "2.5"]


def test_compiling_never_pays_for_what_is_slower() -> None:
    result = BenchResult("m", 1, "aten", ("0",), {"eager": [1.0], "torch2cpp": [2.0]}, seconds=1)
    assert result.break_even_runs is None


def test_the_same_program_over_libtorch_is_a_rival_of_one_without() -> None:
    assert choose_rivals(["libtorch", "eager"]) == ("libtorch", "eager")
    assert choose_rivals(["cpp_onnxruntime"]) == ("cpp_onnxruntime",)
    with pytest.raises(UnknownRival, match="libtorch"):
        choose_rivals(["tvm"])
    result = BenchResult(
        "m", 1, "aotinductor", ("1x2",), {"libtorch": [8.0], "torch2cpp": [4.0], "regions_only": [3.0]}
    )
    assert json.loads(result.as_json())["rows"] == [
        {"input": "1x2", "libtorch": 8.0, "torch2cpp": 4.0, "regions_only": 3.0}
    ]
