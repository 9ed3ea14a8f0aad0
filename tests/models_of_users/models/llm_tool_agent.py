"""LLM serving: a tool loop; the policy net picks tools with arguments, tools are registered with a decorator, results go to a scratchpad."""
import functools
import operator
from dataclasses import dataclass, field
from typing import Any, Callable, Dict, List, Optional, Tuple, Union

import torch
import torch.nn as nn

TOOLS: Dict[str, Callable] = {}


def tool(name: Optional[str] = None, *, cost: float = 1.0):
    def register(fn):
        fn.cost = cost
        TOOLS[name or fn.__name__] = fn
        return fn
    return register


class ToolError(Exception):
    pass


@dataclass
class Call:
    name: str
    args: Tuple[float, ...]
    result: Optional[float] = None
    error: Optional[str] = None

    @property
    def ok(self) -> bool:
        return self.error is None


@dataclass
class Scratchpad:
    budget: float
    calls: List[Call] = field(default_factory=list)
    values: List[float] = field(default_factory=list)

    def spend(self, cost: float) -> None:
        if cost > self.budget:
            raise ToolError(f"budget of {self.budget:.1f} is less than {cost:.1f}")
        self.budget -= cost

    def last(self, n: int) -> List[float]:
        return self.values[-n:]


@tool(cost=0.5)
def add(pad: Scratchpad, *args: float) -> float:
    return functools.reduce(operator.add, args, 0.0)


@tool("div", cost=1.0)
def divide(pad: Scratchpad, *args: float) -> float:
    a, b = args[:2]
    if abs(b) < 0.1:
        raise ToolError("division by almost zero")
    return a / b


@tool(cost=2.0)
def recall(pad: Scratchpad, *args: float) -> float:
    if not pad.values:
        raise ToolError("nothing to recall")
    k = int(abs(args[0]) * 10) % len(pad.values)
    return pad.values[k]


class Agent(nn.Module):
    def __init__(self, dim=8, limit=8):
        super().__init__()
        self.names = [*TOOLS, "final"]
        self.cell = nn.GRUCell(dim, dim)
        self.choose = nn.Linear(dim, len(self.names))
        self.args = nn.Linear(dim, 2)
        self.feed = nn.Linear(3, dim)
        self.limit = limit

    def observe(self, call: Optional[Call], pad: Scratchpad) -> torch.Tensor:
        if call is None:
            obs = [0.0, 0.0, pad.budget]
        else:
            obs = [call.result if call.ok else 0.0, 1.0 if call.ok else -1.0, pad.budget]
        return self.feed(torch.tensor([obs]))

    def execute(self, name: str, args: Tuple[float, ...], pad: Scratchpad) -> Call:
        call = Call(name, args)
        try:
            fn = TOOLS[name]
            pad.spend(fn.cost)
            call.result = fn(pad, *args)
        except ToolError as e:
            call.error = str(e)
        else:
            pad.values.append(call.result)
        finally:
            pad.calls.append(call)
        return call

    def forward(self, h: torch.Tensor, budget: float = 5.0):
        pad = Scratchpad(budget)
        call: Optional[Call] = None
        failures = 0
        status = "limit"
        for turn in range(self.limit):
            h = self.cell(self.observe(call, pad), h)
            name = self.names[int(self.choose(h).argmax(-1))]
            if name == "final":
                status = f"final after {turn} turns"
                break
            args = tuple(round(v, 3) for v in self.args(h)[0].tolist())
            call = self.execute(name, args, pad)
            failures = 0 if call.ok else failures + 1
            if failures >= 3:
                status = "gave up: " + (call.error or "")
                break
        trace = [(c.name, c.result if c.ok else c.error) for c in pad.calls]
        answer = sum(pad.last(3)) / max(1, len(pad.last(3)))
        return status, answer, trace, round(pad.budget, 3)


def make_model():
    torch.manual_seed(1)
    m = Agent().eval()
    with torch.no_grad():
        m.choose.weight.mul_(5)
        m.choose.bias[3] -= 0.5
    return m


def make_inputs():
    g = torch.Generator().manual_seed(7)
    r = lambda s: torch.randn(1, 8, generator=g) * s
    return [(r(1.0),), (r(3.0), 1.0), (r(0.5), 20.0), (r(2.0), 0.2), (r(4.0), 8.0), (r(1.5),)]
