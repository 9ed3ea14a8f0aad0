"""Choosing passes: names, what is left out, and that every choice keeps the program's meaning."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import torch
from torch import nn

from torch2cpp.binding.entry import bind
from torch2cpp.hostir.interpret import Interpreter
from torch2cpp.hostir.ops import RegionCall, walk
from torch2cpp.hostir.program import Program
from torch2cpp.hostir.verify import verify
from torch2cpp.passes.order import ALL, PASSES, STAGE_NAMES, UnknownPass, choose_passes, run_passes, stages


class Steps(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.inner = nn.Linear(4, 4)

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, int]:
        count = 0
        memory = x * 2
        while x.sum() < 10:
            x = x + self.inner(memory).abs()
            count = count + 1
            x = x * 1.5
        return x, count


def program() -> Program:
    torch.manual_seed(0)
    return bind(Steps().eval(), [(torch.ones(2, 4),), (torch.ones(3, 4),)])


def test_names_are_unique_and_described() -> None:
    assert len({p.name for p in PASSES}) == len(PASSES)
    assert all(p.description for p in PASSES)


def test_the_documentation_lists_them() -> None:
    text = (Path(__file__).parents[3] / "docs/regions.md").read_text()
    assert re.findall(r"^\| `(\w+)` \| (.*) \|$", text, re.MULTILINE) == [(p.name, p.description) for p in PASSES]


def test_names_are_taken_from_left_to_right() -> None:
    assert choose_passes("all") == ALL
    assert choose_passes("") == frozenset()
    assert choose_passes("all, -drop_dead") == ALL - {"drop_dead"}
    assert choose_passes("-drop_dead,all") == ALL
    assert choose_passes("reorder") == frozenset({"reorder"})


def test_an_unknown_name_is_refused_with_the_names_there_are() -> None:
    with pytest.raises(UnknownPass, match=r"(?s)no pass 'faster'.*hoist_invariants"):
        choose_passes("all,-faster")


def test_stages_are_those_of_the_chosen_passes() -> None:
    assert [name for name, _ in stages()] == list(STAGE_NAMES)
    assert [name for name, _ in stages(frozenset())] == ["form_regions"]
    assert "hoist_invariants" not in [name for name, _ in stages(ALL - {"hoist_invariants"})]


@pytest.mark.parametrize("left_out", sorted(ALL))
def test_the_meaning_stays_without_one_pass(left_out: str) -> None:
    x = torch.ones(3, 4)
    torch.manual_seed(0)
    want, count = Steps().eval()(x)
    made = run_passes(program(), ALL - {left_out}, after=lambda _, each: verify(each))
    got, counted = Interpreter(made).run("forward", (x,))
    assert torch.equal(got, want) and counted == count


def test_without_any_pass_only_neighbours_share_a_region() -> None:
    def calls(passes: frozenset[str]) -> int:
        made = run_passes(program(), passes, after=lambda _, each: verify(each))
        return sum(isinstance(op, RegionCall) for op in walk(made.entries["forward"].body))

    assert calls(ALL) < calls(frozenset())
