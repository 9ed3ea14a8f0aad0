"""Random Python programs through emitted C++: what Python gives, bit for bit; many programs to a build."""

from __future__ import annotations

import random
import warnings
from dataclasses import dataclass
from pathlib import Path

import pytest
from tests.fuzz.judge import differences, loaded
from tests.fuzz.merge import merge, mergeable
from tests.fuzz.program import Generated, generate

from emitted import compiled_by_aten, load_class
from torch2cpp.binding.entry import bind
from torch2cpp.diagnostics import Refused
from torch2cpp.emit.write_project import write_project
from torch2cpp.hostir.program import Program
from torch2cpp.parity.run import Outcome, call
from torch2cpp.passes.order import run_passes


@dataclass(frozen=True)
class Bound:
    """A random program, what Python gives for its inputs, and its host IR."""

    seed: int
    generated: Generated
    want: list[Outcome]
    program: Program


def bound(seed: int, folder: Path) -> Bound | None:
    """The program of a seed; None where it is refused or cannot be put together with others."""
    generated = generate(random.Random(seed))
    with loaded(generated, folder) as make, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        function = make()
        want = [call(function, args) for args in generated.inputs]
        try:
            program = bind(make(), generated.inputs, entries=["forward" if generated.is_module else "program"])
        except Refused:
            return None
        program = run_passes(program)
    return Bound(seed, generated, want, program) if mergeable(program) else None


def check(start: int, count: int, folder: Path) -> None:
    found = [each for seed in range(start, start + count) if (each := bound(seed, folder)) is not None]
    # Few are refused, and fewer have structs.
    assert len(found) >= 0.8 * count
    program = merge([each.program for each in found], f"fuzz_{start}")
    write_project(program, compiled_by_aten(program), folder / "project", "random programs")
    made = load_class(program, folder / "project")
    for i, each in enumerate(found):
        wrong = differences(each.generated, each.want, getattr(made(), f"f{i}"), moved=True)
        assert not wrong, f"seed {each.seed}: {wrong}\n{each.generated.source}"


def test_random_programs(tmp_path: Path) -> None:
    check(900_000, 20, tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("start", range(910_000, 910_000 + 600, 60))
def test_many_random_programs(start: int, tmp_path: Path) -> None:
    check(start, 60, tmp_path)
