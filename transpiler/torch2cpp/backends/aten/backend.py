"""Writes regions as `at::` calls."""

from __future__ import annotations

from typing import final

from torch2cpp.backends.aten.write_region import RegionWriter
from torch2cpp.backends.aten.written import WrittenBackend


@final
class AtenBackend(WrittenBackend):
    """See the package's docstring."""

    name = "aten"
    writer = RegionWriter
    border = "aten/aten_border.h"
