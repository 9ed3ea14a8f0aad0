"""The examples in docstrings of emission, parity and toolchain hold."""

from __future__ import annotations

import doctest
import importlib
import pkgutil

import pytest

import torch2cpp.emit
import torch2cpp.parity
import torch2cpp.toolchain
import torch2cpp.toolchain.targets

MODULES = [
    f"{package.__name__}.{module.name}"
    for package in (torch2cpp.emit, torch2cpp.parity, torch2cpp.toolchain, torch2cpp.toolchain.targets)
    for module in pkgutil.iter_modules(package.__path__)
] + ["torch2cpp.pipeline", "torch2cpp.project"]


@pytest.mark.parametrize("name", MODULES)
def test_docstrings(name: str):
    assert doctest.testmod(importlib.import_module(name)).failed == 0
