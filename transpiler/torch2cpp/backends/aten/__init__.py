"""The `aten` backend: a region written out as C++ `at::` calls, bit for bit equal to eager."""

from torch2cpp.backends.aten.backend import AtenBackend

__all__ = ["AtenBackend"]
