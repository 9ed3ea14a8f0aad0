"""Objects of libraries in the model for which objects of classes of our own stand: their state can be kept."""

from __future__ import annotations

import itertools
from typing import Any

import torch

from torch2cpp.binding.context import Context
from torch2cpp.binding.in_python import generators, iterators
from torch2cpp.binding.values import Static


def has_stand_in(value: Any) -> bool:
    """Whether another object stands for this one."""
    ours = isinstance(value, generators.Generator | generators.DefaultGenerator)
    return isinstance(value, torch.Generator | itertools.count) and not ours


def stand_in(cx: Context, value: Any) -> Static:
    """The object that stands for a generator of random numbers or an `itertools.count` of the model."""
    if not has_stand_in(value):
        return Static(value)
    if id(value) not in cx.facts.stand_ins:
        cx.facts.stand_ins[id(value)] = _made(value)
        cx.keep.append(value)
    return Static(cx.facts.stand_ins[id(value)])


def _made(value: Any) -> Any:
    if value is torch.default_generator:
        return generators.DefaultGenerator()
    if isinstance(value, torch.Generator):
        generator = generators.Generator.__new__(generators.Generator)
        generator._state = value.get_state()
        return generator
    _, arguments = value.__reduce__()
    count: Any = iterators.Count
    return count(*arguments)
