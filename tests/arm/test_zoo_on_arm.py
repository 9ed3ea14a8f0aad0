"""The nine networks on an emulated 64-bit Arm processor: two inputs each, since it is many times slower."""

from __future__ import annotations

from pathlib import Path

import pytest

from arm_target import assert_same_on_target, for_target
from zoo_files import NETWORKS, ZOO


@pytest.mark.arm
@pytest.mark.parametrize("name", NETWORKS)
def test_a_network(name: str, tmp_path: Path) -> None:
    assert_same_on_target(for_target(ZOO / f"{name}.py", "aotinductor", tmp_path / name, inputs=2))
