"""Work that moves into branches, and what must not."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import nn

from torch2cpp.binding.entry import bind
from torch2cpp.hostir.interpret import Interpreter
from torch2cpp.hostir.ops import If, RegionCall, walk
from torch2cpp.hostir.program import Program
from torch2cpp.hostir.verify import verify
from torch2cpp.passes.order import ALL, run_passes
from torch2cpp.regions.share import share


def inputs() -> list[tuple[torch.Tensor]]:
    torch.manual_seed(0)
    return [(torch.randn(n, 4),) for n in (1, 3, 0, 2)]


def passed(model: nn.Module, passes: frozenset[str] = ALL) -> Program:
    return run_passes(bind(model.eval(), inputs()), passes, after=lambda _, each: verify(each))


def assert_like_python(model: nn.Module, program: Program) -> None:
    interpreter = Interpreter(program)
    for args in inputs():
        with torch.no_grad():
            want: Any = model(*args)
        got = interpreter.run("forward", args)
        assert torch.equal(want, got)


def before_branch(program: Program) -> list[str]:
    """Operators of the regions called before the first branch."""
    names: list[str] = []
    for op in program.entries["forward"].body.ops:
        if isinstance(op, If):
            break
        if isinstance(op, RegionCall):
            names += [str(inner.overload) for inner in program.regions[op.region].body if hasattr(inner, "overload")]
    return names


class OneArm(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.short, self.long = nn.Linear(4, 4), nn.Linear(4, 4)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        short = self.short(x)
        if x.sum() > 0:
            x = torch.relu(self.long(x))
        else:
            x = short
        return x


def test_heavy_work_moves_into_the_arm_that_needs_it() -> None:
    model = OneArm()
    program = passed(model)
    assert "aten.linear.default" not in before_branch(program)
    assert "aten.linear.default" in before_branch(passed(model, ALL - {"sink_into_branches"}))
    assert_like_python(model, program)


def test_what_is_used_after_the_branch_stays() -> None:
    class After(OneArm):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            short = self.short(x)
            if x.sum() > 0:
                x = short + x
            return x * short

    model = After()
    program = passed(model)
    assert "aten.linear.default" in before_branch(program)
    assert_like_python(model, program)


def test_what_may_raise_stays() -> None:
    class Raises(nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            top = x.max()
            if x.sum() > 0:
                x = x * top
            return x

    model = Raises()
    program = passed(model)
    assert "aten.max.default" in before_branch(program)
    with pytest.raises(Exception, match="max"):
        Interpreter(program).run("forward", (torch.zeros(0, 4),))


def test_nothing_moves_past_a_write() -> None:
    class Writes(OneArm):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            x = x * 1
            short = self.short(x)
            go = x.sum() > 0
            x += 1
            if go:
                x = short
            return x

    model = Writes()
    assert_like_python(model, passed(model))


class Repeats(OneArm):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        if x.sum() > 0:
            kept = self.short(x) * 2
            x = torch.relu(self.long(x)) + kept
        else:
            x = self.long(x) + 1
            x += 1
            x = x + self.short(x)
        return x


def test_work_that_both_arms_repeat_leaves_them() -> None:
    model = Repeats()
    program = passed(model)
    assert before_branch(program).count("aten.linear.default") == 1
    assert "aten.linear.default" not in before_branch(passed(model, ALL - {"hoist_from_branches"}))
    assert_like_python(model, program)


def test_two_tensors_made_alike_stay_two() -> None:
    class Two(nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            if x.sum() > 0:
                a, b = torch.zeros_like(x), torch.zeros_like(x)
                a += 1
            else:
                b, a = torch.zeros_like(x), torch.zeros_like(x)
                b += 2
            return x + a * 3 + b

    model = Two()
    assert_like_python(model, passed(model))


def test_what_an_arm_writes_first_stays_inside() -> None:
    class Writes(OneArm):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            x = x * 1
            if x.sum() > 0:
                x += 1
                y = self.short(x)
            else:
                y = self.short(x)
            return y

    model = Writes()
    assert_like_python(model, passed(model))


class BothArms(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = nn.Linear(4, 4), nn.Linear(4, 4)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        skip = x.mean() > 0
        if x.sum() > 0:
            x = self.first(x)
        residual = torch.cat([x, x.mul(0)], 1)[:, :4].contiguous()
        if skip:
            x = residual
        else:
            x = torch.relu(self.second(x) + residual)
        return x


def test_work_of_both_arms_joins_their_regions() -> None:
    model = BothArms()

    def longest(program: Program) -> int:
        return max(longest_path(program.entries["forward"].body.ops), 0)

    program = passed(model)
    assert longest(program) < longest(passed(model, ALL - {"sink_into_branches"}))
    assert_like_python(model, program)


def longest_path(ops: list[Any]) -> int:
    """The most region calls on a way through the operations."""
    count = 0
    for op in ops:
        count += isinstance(op, RegionCall)
        if isinstance(op, If):
            count += max(longest_path(op.then.ops), longest_path(op.orelse.ops))
    return count


class Pools(nn.Module):
    """Two shortcuts that differ only in sizes, each on a way of its own."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = x.reshape(-1, 1, 2, 2)
        if x.sum() > 0:
            return nn.functional.avg_pool2d(torch.cat([x, x.mul(0)], 1), 2)
        x = torch.nn.functional.pad(x, (1, 1, 1, 1))
        if x.sum() > -1:
            return nn.functional.avg_pool2d(torch.cat([x, x.mul(0)], 1), 2)
        return x


def test_regions_that_differ_in_sizes_are_one() -> None:
    model = Pools()
    without = passed(model, ALL - {"match_sizes"})
    program = passed(model)
    assert len(share(program.regions.values()).distinct) == len(share(without.regions.values()).distinct) - 1
    for args in inputs():
        assert torch.equal(model(*args), Interpreter(program).run("forward", args))


def test_a_dead_result_that_cannot_raise_is_not_computed() -> None:
    class Dead(OneArm):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            self.short(torch.relu(x) * 2)
            x = x + 1
            return self.long(x)

    program = passed(Dead())
    used = [str(op.overload) for r in program.regions.values() for op in r.body if hasattr(op, "overload")]
    assert used.count("aten.linear.default") == 1 and "aten.relu.default" not in used


def test_a_dead_result_that_may_raise_is_computed() -> None:
    class Dead(nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            x.max()
            return x + 1

    with pytest.raises(Exception, match="max"):
        Interpreter(passed(Dead())).run("forward", (torch.zeros(0, 4),))
    assert calls(passed(Dead())) == 1


def calls(program: Program) -> int:
    return sum(isinstance(op, RegionCall) for op in walk(program.entries["forward"].body))
