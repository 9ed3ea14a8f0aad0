"""The backends by name. Adding one is a line here and a folder of templates."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from torch2cpp.backends.aotinductor import AotInductorBackend
from torch2cpp.backends.aten import AtenBackend
from torch2cpp.backends.protocol import Backend

BACKENDS: Mapping[str, Callable[[], Backend]] = {
    "aten": AtenBackend,
    "aotinductor": AotInductorBackend,
}
#: Takes every region that PyTorch's C++ can run, bit for bit as eager: what all others fall back on.
REFERENCE = "aten"
DEFAULT = "aotinductor"
