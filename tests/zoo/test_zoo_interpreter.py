"""The nine networks, as host IR in the reference interpreter, equal Python bit for bit."""

from __future__ import annotations

import pytest

from model_files import load_model_file
from through_interpreter import assert_same_as_python
from zoo_files import NETWORKS, ZOO, images_of


@pytest.mark.parametrize("name", NETWORKS)
def test_some_inputs(name: str) -> None:
    assert_same_as_python(load_model_file(ZOO / f"{name}.py"), some=slice(images_of(name) // 4))


@pytest.mark.slow
@pytest.mark.parametrize("name", NETWORKS)
def test_all_hundred_inputs(name: str) -> None:
    assert_same_as_python(load_model_file(ZOO / f"{name}.py"))
