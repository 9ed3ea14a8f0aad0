"""What thousands of programs in one process need: forgetting them, and an end to their memory."""

from __future__ import annotations

import resource
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from torch2cpp.binding.entry import LINE_KINDS
from torch2cpp.frontend.source import parse_function

#: Bytes that programs may take beside what the process has already.
MORE = 6 * 2**30


def forget() -> None:
    """Empties what is remembered of each program."""
    parse_function.cache_clear()
    LINE_KINDS.clear()


@contextmanager
def bounded_memory() -> Iterator[None]:
    """A string that doubles in a loop ends as a MemoryError, here as in Python."""
    before = resource.getrlimit(resource.RLIMIT_AS)
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    resource.setrlimit(resource.RLIMIT_AS, (pages * resource.getpagesize() + MORE, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, before)
