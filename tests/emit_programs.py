"""Programs written by hand for tests of emission, with their regions already formed."""

from __future__ import annotations

from typing import Any

import torch

from ir_builder import FILE, Builder, aten, tensor
from torch2cpp.hostir.ops import RegionCall, TensorOp, Value
from torch2cpp.hostir.program import Program, Region
from torch2cpp.hostir.types import INT, ListType, Type
from torch2cpp.spans import Span


class LineBuilder(Builder):
    """A builder whose operations lie on the line that `at` was told last."""

    def __init__(self, name: str = "forward") -> None:
        super().__init__(name)
        self.lines = (1, 1)
        self.regions: dict[str, Region] = {}

    def at(self, first: int, last: int | None = None) -> LineBuilder:
        """What follows is on these Python lines."""
        self.lines = (first, last or first)
        return self

    def span(self) -> Span:
        first, last = self.lines
        return Span(FILE, first, 1, last, 10)

    def region(self, region: Region, *args: Any) -> tuple[Value, ...]:
        """Calls a region."""
        self.regions[region.name] = region
        values = tuple(self.value(r.type, r.name) for r in region.results)
        self.add(RegionCall(values, region.name, args, self.span()))
        return values

    def host_tensor(self, overload: Any, *args: Any, type: Type, name: str = "t") -> Value:
        """A tensor operation that stays in the host program."""
        value = self.value(type, name)
        self.add(TensorOp((value,), overload, args, {}, self.span()))
        return value

    def program(self, result: Type) -> Program:
        program = super().program(result)
        program.regions.update(self.regions)
        return program


class RegionBuilder(Builder):
    """Builds one region."""

    def __init__(self, name: str, first: int, last: int) -> None:
        super().__init__(name)
        self.lines = (first, last)

    def span(self) -> Span:
        return Span(FILE, self.lines[0], 1, self.lines[1], 10)

    def input(self, name: str, type_: Type) -> Value:
        """A parameter of the region."""
        return self.param(name, type_)

    def finish(self, **results: Value) -> Region:
        """The region; the keywords name its results."""
        for name, value in results.items():
            value.name = name
        params = tuple(p.value for p in self.params if p.value is not None)
        return Region(self.name, params, tuple(self.body.ops), tuple(results.values()), self.span())


def greedy_decoder() -> Program:
    """The decoder of the sketch, on a linear recurrence: appends tokens until every row has ended."""
    hidden, tokens_type = tensor(None, 8), tensor(None, dtype=torch.int64)
    flags = tensor(None, dtype=torch.bool)
    torch.manual_seed(0)
    b = LineBuilder()
    embed = b.weight("embed.weight", torch.randn(12, 8))
    out = b.weight("out.weight", torch.randn(12, 8))

    r = RegionBuilder("encode", 19, 22)
    src = r.input("src", tensor(None, None, dtype=torch.int64))
    memory = r.tensor(aten.embedding.default, embed, src, type=tensor(None, None, 8))
    state = r.tensor(aten.mean.dim, memory, [1], type=hidden)
    first = r.tensor(aten.select.int, src, 1, 0, type=tokens_type)
    ended = r.tensor(aten.eq.Scalar, first, -1, type=flags)
    encode = r.finish(memory=memory, state=state, token=first, finished=ended)

    r = RegionBuilder("step", 25, 30)
    state, token, finished = (
        r.input(n, t) for n, t in (("state", hidden), ("token", tokens_type), ("finished", flags))
    )
    x = r.tensor(aten.embedding.default, embed, token, type=hidden)
    mixed = r.tensor(aten.tanh.default, r.tensor(aten.add.Tensor, state, x, type=hidden), type=hidden)
    scores = r.tensor(aten.linear.default, mixed, out, type=tensor(None, 12))
    best = r.tensor(aten.argmax.default, scores, -1, type=tokens_type)
    ends = r.tensor(aten.eq.Scalar, best, 3, type=flags)
    done = r.tensor(aten.bitwise_or.Tensor, finished, ends, type=flags)
    stop = r.tensor(aten.all.default, done, type=tensor(dtype=torch.bool))
    step = r.finish(state=mixed, token=best, finished=done, stop=stop)

    b.at(18)
    src = b.param("src", tensor(None, None, dtype=torch.int64))
    limit = b.param("limit", INT, 10)
    b.at(19, 22)
    memory, *initial = b.region(encode, src)
    b.at(23)
    tokens = b.host("list.new", type=ListType(tokens_type), name="tokens")
    carried = [b.value(v.type, v.name) for v in initial]
    with b.block(*carried) as body:
        b.at(24)
        with b.block() as goes_on:
            b.yield_()
        with b.block() as ends_now:
            b.break_()
        b.if_(b.host("lt", b.host("list.len", tokens), limit), goes_on, ends_now, [])
        b.at(25, 30)
        *handed_on, stop = b.region(step, *carried)
        b.at(28).do("list.append", tokens, handed_on[1])
        b.at(31)
        with b.block() as stops:
            b.break_()
        with b.block() as stays:
            b.yield_()
        b.at(30).if_(b.host("tensor.truth", stop), stops, stays, [])
        b.at(31).continue_(*handed_on)
    b.at(24, 31).loop(initial, body, [])
    b.at(32)
    result = tensor(None, None, dtype=torch.int64)
    b.return_(b.host_tensor(aten.stack.default, tokens, 1, type=result))
    program = b.program(result)
    program.name, program.class_name = "greedy_decoder", "GreedyDecoder"
    return program
