"""Random loops over equal modules: rolled up or not, they are like Python bit for bit."""

from __future__ import annotations

import importlib.util
import random
from pathlib import Path
from typing import Any

import pytest
import torch

from torch2cpp.binding.entry import bind
from torch2cpp.hostir.interpret import Interpreter
from torch2cpp.hostir.ops import Loop, walk
from torch2cpp.hostir.verify import verify
from torch2cpp.passes.order import run_passes

HEAD = """
import torch
from torch import nn


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.head = nn.Linear(4, 4), nn.Linear(4, 2)

    def forward(self, x):
        return torch.relu(self.a(x)) + x


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.blocks = nn.ModuleList(Block() for _ in range(COUNT))
        self.limits = [LIMITS]

    def forward(self, x):
        before, total, count, seen, y = x, 0.0, 3, [], x.sum()
        scores = torch.sigmoid(x[0])
        for i, block in enumerate(self.blocks):
BODY
        return x, before, total, count, seen, y
"""
STATEMENTS = (
    "x = block(x)",
    "y = torch.sigmoid(block.head(x)).mean()",
    "before = x",
    "before, x = x, block(before)",
    "seen.append(y)",
    "count += 2 * i",
    "count = count + len(seen)",
    "total += y.item()",
    "x = x + scores[i % 4]",
    "if y > self.limits[i]:\n    count += 1",
    "if y > self.limits[i]:\n    x = block(x)\nelse:\n    x = before",
    "if scores[i % 4] > 0.5:\n    x = x * 0.5\n    total = total + i",
    "if x.max() > 2.5:\n    return x, before, total, i, seen, y",
    "if x.max() > 2.0:\n    break",
    "if count > 9:\n    continue",
    "if y < 0.2:\n    raise ValueError(f'low at {i}')",
)


def source(seed: int) -> str:
    rng = random.Random(seed)
    count = rng.randint(3, 6)
    limits = ", ".join(f"{rng.choice((0.4, 0.5, rng.random())):.2f}" for _ in range(count))
    chosen = ["x = block(x)", *(rng.choice(STATEMENTS) for _ in range(rng.randint(1, 5)))]
    rng.shuffle(chosen)
    body = "\n".join(" " * 12 + line for statement in chosen for line in statement.splitlines())
    return HEAD.replace("COUNT", str(count)).replace("LIMITS", limits).replace("BODY", body)


def outcome(call: Any, *args: Any) -> Any:
    try:
        with torch.no_grad():
            return call(*args)
    except Exception as error:
        return f"{getattr(error, 'message', error)}"


def same(want: Any, got: Any) -> bool:
    if isinstance(want, torch.Tensor):
        return torch.equal(want, got)
    if isinstance(want, tuple | list):
        return type(want) is type(got) and len(want) == len(got) and all(map(same, want, got))
    return type(want) is type(got) and want == got


def check(seed: int, folder: Path) -> bool:
    """Compares one program with Python; gives whether it has a loop."""
    path = folder / f"rolled_{seed}.py"
    path.write_text(source(seed))
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    torch.manual_seed(seed)
    model = module.Model().eval()
    inputs = [(torch.randn(n, 4) * k,) for n, k in ((1, 0.2), (2, 1.0), (1, 3.0), (3, 0.7))]
    program = run_passes(bind(model, inputs), after=lambda _, each: verify(each))
    interpreter = Interpreter(program)
    for args in inputs:
        want, got = outcome(model, *args), outcome(lambda *a: interpreter.run("forward", a), *args)
        assert same(want, got), (source(seed), want, got)
    return any(isinstance(op, Loop) for op in walk(program.entries["forward"].body))


@pytest.mark.parametrize("start", [0, 20])
def test_like_python(start: int, tmp_path: Path) -> None:
    assert sum(check(seed, tmp_path) for seed in range(start, start + 20)) > 3
