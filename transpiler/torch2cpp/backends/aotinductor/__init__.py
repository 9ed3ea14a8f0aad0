"""The `aotinductor` backend: AOTInductor's generated C++, linked statically into the program.

region -> export.py (ExportedProgram) -> generate.py (Inductor's C++) -> rewrite.py (its kernels and
its run function, made local) -> backend.py (the region's class: checks, layout of inputs, the way
back to `aten` for what the compiled code was not made for).
"""

from torch2cpp.backends.aotinductor.backend import AotInductorBackend

__all__ = ["AotInductorBackend"]
