"""Counts and times of branches and regions in a program made with `--profile`, and its trace."""

from __future__ import annotations

import json
import re
import subprocess
from collections import Counter
from dataclasses import replace
from pathlib import Path

import torch
from safetensors.torch import save_file

from emitted import compiled_by_aten
from through_interpreter import formed
from torch2cpp.binding.entry import bind
from torch2cpp.emit.write_project import write_project
from torch2cpp.toolchain.build import build


def settle(x: torch.Tensor, name: str = 'a "quoted" name') -> torch.Tensor:
    for _ in range(6):
        if x.abs().max() < 1.0:
            x = x + 0.25
        elif x.sum() > 8.0:
            x = x * 0.25
        else:
            x = x - 0.5
    if name != 'a "quoted" name':
        x = -x
    return x


def python_counts(x: torch.Tensor) -> Counter[str]:
    """How often each arm of `settle` runs."""
    out: Counter[str] = Counter()
    for _ in range(6):
        out["for _ in range(6):"] += 1
        if x.abs().max() < 1.0:
            out["if x.abs().max() < 1.0:"] += 1
            x = x + 0.25
            continue
        out["if x.abs().max() < 1.0: [else]"] += 1
        if x.sum() > 8.0:
            out["elif x.sum() > 8.0:"] += 1
            x = x * 0.25
        else:
            out["elif x.sum() > 8.0: [else]"] += 1
            x = x - 0.5
    return out


def test_branches_are_counted_as_python_takes_them(tmp_path: Path) -> None:
    examples = [(torch.full((3,), 0.5), 'a "quoted" name'), (torch.full((3,), 4.0), "b"), (torch.full((3,), 1.5), "c")]
    program = replace(formed(bind(settle, examples, entries=["settle"])), name="settle", class_name="Settle")
    write_project(program, compiled_by_aten(program), tmp_path / "settle", "with clocks", probes=True)
    runner = build(tmp_path / "settle", "settle", warnings=True).runner
    for x, name in examples:
        save_file({"x": x}, tmp_path / "in.safetensors")
        command = [runner, "--input", tmp_path / "in.safetensors", "--arg", f"name={name}"]
        command += ["--profile", "--trace", tmp_path / "trace.json"]
        text = subprocess.run(command, capture_output=True, text=True, check=True).stdout
        want = python_counts(x)
        if name != 'a "quoted" name':
            want["""if name != 'a "quoted" name': """.strip()] += 1
        branches = text[text.index("branches and iterations") :]
        found = re.findall(r"us x +(\d+)  \d+ (.*)", branches)
        assert {label: int(count) for count, label in found} == want
        events = json.loads((tmp_path / "trace.json").read_text())["traceEvents"]
        names = [e["name"].split(" ", 1)[1] for e in events if e["cat"] == "branch"]
        assert Counter(names) == want
        assert any(e["cat"] == "region" for e in events)
        assert all(e["ph"] == "X" and e["ts"] >= 0 and e["dur"] >= 0 for e in events)


def test_a_trace_that_cannot_be_written_is_an_error(tmp_path: Path) -> None:
    program = replace(formed(bind(settle, [(torch.ones(3),)], entries=["settle"])), name="settle", class_name="Settle")
    write_project(program, compiled_by_aten(program), tmp_path / "settle", "without clocks")
    assert "Timed" not in (tmp_path / "settle/src/settle.cpp").read_text()
    runner = build(tmp_path / "settle", "settle").runner
    save_file({"x": torch.ones(3)}, tmp_path / "in.safetensors")
    command = [runner, "--input", tmp_path / "in.safetensors", "--trace", tmp_path / "absent/trace.json"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "cannot write" in done.stderr
