"""What sizes settle: conditions of library code that need no branch."""

from __future__ import annotations

import pytest
import torch

from torch2cpp.binding.traced.record import Step
from torch2cpp.binding.traced.sampling import NoSizes, Samples
from torch2cpp.binding.values import Meta, Sym, Tensor
from torch2cpp.hostir.ops import HostOp, TensorOp, Value
from torch2cpp.hostir.types import BOOL, INT, TensorType
from torch2cpp.spans import NOWHERE


class Path:
    """A path over a tensor of two varying sizes, built step by step."""

    def __init__(self, alike: bool = False) -> None:
        self.ids = iter(range(1, 1000))
        dims = (Sym((3, 4, 5)), Sym((6, 7, 8)))
        self.x = Tensor(self.value(TensorType(torch.float32, (None, None))), Meta(torch.float32, dims))
        self.steps: list[Step] = []
        self.samples = Samples([self.x], {id(d): -1 for d in dims} if alike else {})

    def value(self, type_) -> Value:
        return Value(next(self.ids), type_, "v", NOWHERE)

    def host(self, name, *args, type_=INT) -> Value:
        result = self.value(type_)
        self.steps.append(Step(name, None, (HostOp(result, name, args, NOWHERE),)))
        return result

    def size(self, dim: int) -> Value:
        return self.host("tensor.size", self.x.operand, dim)

    def is_(self, name, a, b) -> Value:
        return self.host(name, a, b, type_=BOOL)

    def decide(self, condition: Value, taken: bool) -> None:
        self.steps.append(Step("decision", taken, (), condition))

    def settled(self, condition: Value) -> bool | None:
        return self.samples.settled(self.steps, condition)


def test_a_size_may_be_anything() -> None:
    path = Path()
    n = path.size(0)
    assert path.settled(path.is_("gt", n, 1)) is None
    assert path.settled(path.is_("ge", n, 0)) is True
    assert path.settled(path.is_("eq", n, 1000)) is None, "constants are tried too"


@pytest.mark.parametrize(("taken", "answer"), [(True, False), (False, None)])
def test_what_was_decided_counts(taken: bool, answer: bool | None) -> None:
    path = Path()
    n = path.size(0)
    path.decide(path.is_("eq", n, 1), taken)
    assert path.settled(path.is_("gt", path.size(0), 1)) is answer


def test_sizes_follow_through_operators() -> None:
    path = Path()
    twice = path.value(TensorType(torch.float32, (None, None)))
    args = ([path.x.operand, path.x.operand], 0)
    path.steps.append(Step("cat", None, (TensorOp((twice,), torch.ops.aten.cat.default, args, {}, NOWHERE),)))
    whole = path.host("tensor.size", twice, 0)
    assert path.settled(path.is_("ge", whole, path.size(0))) is True
    assert path.settled(path.is_("eq", path.host("mod", whole, 2), 0)) is True


def test_other_sizes_are_their_own_unless_known_to_be_equal() -> None:
    for alike, answer in ((False, None), (True, True)):
        path = Path(alike)
        assert path.settled(path.is_("eq", path.size(0), path.size(1))) is answer


def test_a_path_that_no_sizes_take() -> None:
    path = Path()
    n = path.size(0)
    path.decide(path.is_("lt", n, 0), True)
    with pytest.raises(NoSizes):
        path.settled(path.is_("gt", n, 1))


def test_data_settles_nothing() -> None:
    path = Path()
    item = path.host("tensor.item", path.x.operand)
    assert path.settled(path.is_("gt", item, 1)) is None
