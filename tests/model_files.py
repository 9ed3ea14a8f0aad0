"""Model files for tests: run one eagerly, compare what comes out."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from torch import nn

from torch2cpp.model_file import ModelFile
from torch2cpp.model_file import load_model_file as load
from torch2cpp.parity.compare import compare
from torch2cpp.parity.run import Outcome, call, compare_outcomes

ROOT = Path(__file__).resolve().parents[1]


def load_model_file(path: Path) -> ModelFile:
    """The model file at `path`."""
    return load(str(path))


def entry_of(file: ModelFile, model: nn.Module) -> Callable[..., Any]:
    """The entry of `model` as Python calls it."""
    return model if file.entry == "forward" else getattr(model, file.entry)


def run_eager(file: ModelFile, inputs: list[tuple[Any, ...]] | None = None) -> list[Outcome]:
    """Every input through Python, all on one instance."""
    function = entry_of(file, file.make_model())
    return [call(function, args) for args in (file.make_inputs() if inputs is None else inputs)]


def differences(want: list[Outcome], got: list[Outcome]) -> list[str]:
    """What differs between two runs, bit for bit, with the number of the input; empty when nothing does."""
    assert len(want) == len(got)
    found = [compare_outcomes(x, y, exact=True).differences for x, y in zip(want, got)]
    return [f"input {i}: {each}" for i, list_of_one in enumerate(found) for each in list_of_one]


def equal(want: Any, got: Any) -> bool:
    """Whether two values are the same bit for bit."""
    return compare(want, got, exact=True).equal


def decisions(value: Any) -> Any:
    """What is left of a result without its real numbers: nesting, shapes, ints, strings."""
    if isinstance(value, torch.Tensor) and value.is_floating_point():
        return tuple(value.shape)
    if isinstance(value, float):
        return "a float"
    if isinstance(value, dict):
        return {key: decisions(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [decisions(item) for item in value]
    if hasattr(value, "__dict__") and not isinstance(value, torch.Tensor):
        return {key: decisions(item) for key, item in vars(value).items()}
    return value


def jitter(value: Any, generator: torch.Generator, size: float) -> Any:
    """`value` with its floating-point tensors changed by about `size`, relatively."""
    if isinstance(value, torch.Tensor):
        if not value.is_floating_point():
            return value
        return value * (1 + size * torch.randn(value.shape, generator=generator)).to(value.dtype)
    if isinstance(value, dict):
        return {key: jitter(item, generator, size) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return type(value)(jitter(item, generator, size) for item in value)
    return value


def same_decisions_when_jittered(file: ModelFile, inputs: list[tuple[Any, ...]], size: float) -> bool:
    """Whether changing the inputs by about `size` changes no decision."""
    generator = torch.Generator().manual_seed(0)
    want = run_eager(file, inputs)
    got = run_eager(file, [jitter(args, generator, size) for args in inputs])
    return equal([decisions(o.value) for o in want], [decisions(o.value) for o in got])
