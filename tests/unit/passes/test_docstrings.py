"""The examples in the docstrings of the host IR and of the passes are true."""

from __future__ import annotations

import doctest
import importlib
import pkgutil

import pytest

import torch2cpp.hostir
import torch2cpp.passes

MODULES = [
    f"{package.__name__}.{module.name}"
    for package in (torch2cpp.hostir, torch2cpp.passes)
    for module in pkgutil.iter_modules(package.__path__)
]


@pytest.mark.parametrize("name", MODULES)
def test_examples(name):
    assert doctest.testmod(importlib.import_module(name)).failed == 0


@pytest.mark.parametrize("name", [m for m in MODULES if ".passes." in m])
def test_modules_say_what_they_do(name):
    text = importlib.import_module(name).__doc__ or ""
    assert len(text.splitlines()[0]) > 20
