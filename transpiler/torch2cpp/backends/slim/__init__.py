"""Programs without libtorch: what slim's runtime has, read from its own sources, and regions as calls of it.

operators.py (operators.h: what regions may call) -> calls.py (one operation as a call) -> backend.py (the region's
class); shim.py (the C functions that compiled regions may call); files.py (what the project gets of it).
"""

from torch2cpp.backends.slim.backend import SlimBackend
from torch2cpp.backends.slim.compiled import SlimInductorBackend

__all__ = ["SlimBackend", "SlimInductorBackend"]
