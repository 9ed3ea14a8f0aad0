"""A project may be named as a helper of its own regions."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from torch2cpp.emit.names import HELPERS, namespace_identifier

TEMPLATES = Path(__file__).resolve().parents[3] / "templates"


@pytest.mark.parametrize("header", ["aten/aten_border.h", "slim/slim_border.h"])
def test_helpers_of_regions_are_known(header: str) -> None:
    text = (TEMPLATES / header).read_text()
    functions = set(re.findall(r"^(?:\[\[noreturn\]\] )?(?:inline|auto)\b[^=(]*?(\w+)\(", text, re.MULTILINE))
    assert functions
    assert functions <= HELPERS


def test_a_project_of_that_name_has_a_namespace_of_another() -> None:
    assert namespace_identifier("own") == "own_"
    assert namespace_identifier("early_exit") == "early_exit"
