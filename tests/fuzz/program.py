"""Whole random programs: the source of a module, the entry in it, and inputs for the entry."""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import Any

import torch
from tests.fuzz.draw import Draw
from tests.fuzz.expressions import expression
from tests.fuzz.statements import any_type, statements

HEADER = "import math\n\nimport torch\nfrom torch import nn\n\n"
#: Kinds of parameters and how likely each is to be there.
PARAMETERS = {"x": "f1", "y": "f1", "m": "f2", "ids": "i1", "k": "int", "f": "float", "flag": "bool", "s": "str",
              "xs": "ints"}  # fmt: skip
SHARES = {"x": 0.9, "y": 0.4, "m": 0.5, "ids": 0.4, "k": 0.8, "f": 0.5, "flag": 0.4, "s": 0.3, "xs": 0.4}


@dataclass(frozen=True, slots=True)
class Generated:
    """A program: `entry` is a function, or a class of modules whose `forward` it is."""

    source: str
    inputs: list[tuple[Any, ...]]
    is_module: bool


def generate(rng: random.Random) -> Generated:
    """A program drawn from `rng`; the same for the same state of it."""
    d = Draw(rng)
    d.lines = HEADER.splitlines()
    for _ in range(rng.choice((0, 0, 1, 2))):
        _helper(d)
    params = {n: t for n, t in PARAMETERS.items() if rng.random() < SHARES[n]} or {"x": "f1"}
    is_module = rng.random() < 0.35
    d.budget = rng.randrange(6, 22)
    if is_module:
        _module(d, params)
    else:
        _entry(d, f"def program({', '.join(params)}):", params)
    count = rng.choice((2, 3, 4))
    return Generated("\n".join(d.lines) + "\n", _inputs(rng, params, count), is_module)


def _helper(d: Draw) -> None:
    """A function of the file, with early returns of one type."""
    name = d.fresh("help")
    types = tuple(d.pick(("int", "float", "f1", "f1", "ints", "bool")) for _ in range(d.rng.randrange(1, 3)))
    res = d.pick(("int", "float", "f1", "bool", "ints", "str", "f0", "pair", "maybe_int"))
    params = {d.fresh("p"): t for t in types}
    d.result, d.budget, d.names = res, 5, {}
    with d.block(f"def {name}({', '.join(params)}):"):
        d.names |= params
        statements(d, d.rng.randrange(1, 4))
        d.line(f"return {expression(d, res)}")
    d.lines += ["", ""]
    d.helpers[name] = (types, res)
    d.result, d.names = None, {}


def _module(d: Draw, params: dict[str, str]) -> None:
    width = d.pick((2, 3))
    with d.block("class Program(nn.Module):"):
        with d.block("def __init__(self):"):
            d.line("super().__init__()")
            d.line(f"self.w = nn.Parameter(torch.linspace(-1.0, 1.0, {width}))")
            d.line("self.register_buffer('b', torch.tensor([0.5, -0.5, 2.0]))")
            d.line(f"self.limit = {d.pick(('0.5', '1.0', '-0.25'))}")
            d.line(f"self.steps = {d.pick(('2', '3'))}")
            d.line("self.count = 0")
            d.line("self.last = torch.zeros(2)")
        d.names |= {"self.w": "f1", "self.limit": "float", "self.steps": "int", "self.b": "f1"}
        d.names |= {"self.count": "int", "self.last": "f1"}
        d.fixed |= set(d.names)
        d.line("")
        _entry(d, f"def forward(self, {', '.join(params)}):", params)


def _entry(d: Draw, header: str, params: dict[str, str]) -> None:
    with d.block(header):
        d.names |= params
        statements(d, d.budget)
        local = [n for n in d.names if not n.startswith("self.")]
        if d.chance(0.1):
            d.line(f"return {expression(d, any_type(d))}")
        else:
            d.rng.shuffle(local)
            d.line(f"return {', '.join(local[: d.rng.randrange(1, 7)])}")


def _inputs(rng: random.Random, params: dict[str, str], count: int) -> list[tuple[Any, ...]]:
    varies = rng.random() < 0.7
    fixed = rng.choice((2, 3, 4))
    out = []
    for _ in range(count):
        n = rng.choice((1, 2, 3, 4, 5)) if varies else fixed
        out.append(tuple(_value(rng, name, n, varies) for name in params))
    # A list that is empty in every example has no type of element.
    for i, name in enumerate(params):
        if PARAMETERS[name] == "ints" and not any(args[i] for args in out):
            out[0][i].append(rng.randrange(-4, 8))
    return out


def _value(rng: random.Random, name: str, n: int, varies: bool) -> Any:
    numbers = lambda k: [rng.randrange(-12, 13) / 4 for _ in range(k)]  # noqa: E731
    match PARAMETERS[name]:
        case "f1":
            return torch.tensor(numbers(n), dtype=torch.float32)
        case "f2":
            rows = rng.choice((1, 2, 3)) if varies else 2
            return torch.tensor(numbers(rows * 3), dtype=torch.float32).reshape(rows, 3)
        case "i1":
            return torch.tensor([rng.randrange(-3, 6) for _ in range(n)], dtype=torch.int64)
        case "int":
            return rng.randrange(-5, 9)
        case "float":
            return rng.randrange(-8, 9) / 4
        case "bool":
            return rng.random() < 0.5
        case "str":
            return rng.choice(("", "a", "Abc", "a-b a"))
        case _:
            return [rng.randrange(-4, 8) for _ in range(rng.choice((0, 1, 2, 3, 4)))]
