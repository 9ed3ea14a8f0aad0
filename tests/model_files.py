"""Model files (DESIGN.md's form) for tests: load one, run it eagerly, compare what comes out."""

from __future__ import annotations

import copy
import dataclasses
import importlib.util
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import torch
from torch import nn

from torch2cpp.hostir.pyerror import PyError
from torch2cpp.hostir.pyvalues import Named

ROOT = Path(__file__).resolve().parents[1]


@dataclass(frozen=True)
class ModelFile:
    """A Python file with `make_model`, `make_inputs` and perhaps `ENTRY` and `STATEFUL`."""

    path: Path
    module: ModuleType

    @property
    def name(self) -> str:
        return self.path.stem

    @property
    def entry(self) -> str:
        return getattr(self.module, "ENTRY", "forward")

    @property
    def stateful(self) -> bool:
        """Whether the inputs are successive calls on one instance."""
        return getattr(self.module, "STATEFUL", False)

    def make_model(self) -> nn.Module:
        return self.module.make_model()

    def make_inputs(self) -> list[tuple[Any, ...]]:
        return self.module.make_inputs()

    def function(self, model: nn.Module) -> Callable[..., Any]:
        """The entry of `model` as Python calls it."""
        return model if self.entry == "forward" else getattr(model, self.entry)


@dataclass(frozen=True)
class Outcome:
    """What a call did: the value it returned, or the exception it raised."""

    value: Any = None
    #: Type name of the exception, None when the call returned.
    raised: str | None = None
    message: str = ""
    #: The tensors among the arguments after the call, since a model may write to them.
    arguments: tuple[torch.Tensor, ...] = ()


def load_model_file(path: Path) -> ModelFile:
    """Import a model file under a name of its own; files beside it can be imported, as when it is run."""
    if str(path.parent) not in sys.path:
        sys.path.append(str(path.parent))
    name = "model_file_" + "_".join(path.relative_to(ROOT).with_suffix("").parts)
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return ModelFile(path, module)


def call(function: Callable[..., Any], args: tuple[Any, ...]) -> Outcome:
    """Call on copies of `args`; the result is a copy too, so that later calls cannot change it."""
    args = copy.deepcopy(args)
    tensors = tuple(leaf for _, leaf in flatten(args) if isinstance(leaf, torch.Tensor))
    with torch.no_grad():
        try:
            value = function(*args)
        except Exception as error:  # the model's own exceptions are results like any other
            return Outcome(None, exception_name(error), str(error), copy.deepcopy(tensors))
    value, tensors = copy.deepcopy((value, tensors))
    return Outcome(value, arguments=tensors)


def exception_name(error: Exception) -> str:
    """The Python type name; for what the interpreter or the C++ raised, the one it carries."""
    return error.name if isinstance(error, PyError) else type(error).__name__


def run_eager(file: ModelFile, model: nn.Module | None = None, inputs: Any = None) -> list[Outcome]:
    """Every input through Python, on one instance, as the file's author meant."""
    model = file.make_model() if model is None else model
    return [call(file.function(model), args) for args in (file.make_inputs() if inputs is None else inputs)]


def flatten(value: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """(path, leaf) pairs, with one pair for each container that names its kind and size."""
    if isinstance(value, np.generic):
        value = value.item()  # a numpy scalar is its Python value
    if isinstance(value, dict):
        yield path, ("dict", tuple(map(repr, value)))
        for key, item in value.items():
            yield from flatten(item, f"{path}[{key!r}]")
    elif (fields := named_fields(value)) is not None:
        yield path, (fields[0], tuple(fields[1]))
        for name, item in fields[1].items():
            yield from flatten(item, f"{path}.{name}")
    elif isinstance(value, list | tuple):
        yield path, (type(value).__name__, len(value))
        for i, item in enumerate(value):
            yield from flatten(item, f"{path}[{i}]")
    else:
        yield path, value


def named_fields(value: Any) -> tuple[str, dict[str, Any]] | None:
    """Class name and fields of a dataclass, NamedTuple or object of a user class; None for anything else."""
    if isinstance(value, Named):
        return value.class_name, value.fields
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return type(value).__name__, value._asdict()
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return type(value).__name__, {f.name: getattr(value, f.name) for f in dataclasses.fields(value)}
    return None


def difference(want: Any, got: Any, rtol: float = 0.0, atol: float = 0.0) -> str | None:
    """None when equal in nesting, types, dtypes, shapes and values (bit for bit by default), else a sentence."""
    want_leaves, got_leaves = list(flatten(want)), list(flatten(got))
    for (path, x), (other, y) in zip(want_leaves, got_leaves):
        found = None if path == other else f"nesting: {path} against {other}"
        found = found or leaf_difference(x, y, rtol, atol)
        if found:
            return f"result{path}: {found}"
    if len(want_leaves) != len(got_leaves):
        return f"nesting: {len(want_leaves)} nodes against {len(got_leaves)}"
    return None


def leaf_difference(x: Any, y: Any, rtol: float, atol: float) -> str | None:
    """The same for two leaves."""
    if isinstance(x, torch.Tensor) and isinstance(y, torch.Tensor):
        if x.shape != y.shape or x.dtype != y.dtype:
            return f"{x.dtype}{list(x.shape)} against {y.dtype}{list(y.shape)}"
        if torch.allclose(x, y, rtol=rtol, atol=atol, equal_nan=True):
            return None
        largest = (x.double() - y.double()).abs().max().item() if not x.is_complex() else (x - y).abs().max().item()
        return f"values differ by up to {largest:.3g}"
    if type(x) is not type(y):
        return f"{type(x).__name__} {x!r} against {type(y).__name__} {y!r}"
    if isinstance(x, float):
        same = x == y or (x != x and y != y) or abs(x - y) <= atol + rtol * abs(y)
        return None if same else f"{x!r} against {y!r}"
    return None if x == y else f"{x!r} against {y!r}"


def outcome_difference(want: Outcome, got: Outcome, rtol: float = 0.0, atol: float = 0.0) -> str | None:
    """None when both calls did the same, to their arguments too."""
    if (want.raised, want.message) != (got.raised, got.message):
        said = [f"{o.raised}: {o.message}" if o.raised else "a result" for o in (want, got)]
        return f"{said[0]} against {said[1]}"
    found = difference(want.value, got.value, rtol, atol)
    return found or difference(want.arguments, got.arguments, rtol, atol)


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
