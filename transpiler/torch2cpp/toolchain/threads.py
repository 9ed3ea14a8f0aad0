"""How many threads tensor operations use while something is compiled, checked or measured."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch


@contextmanager
def using_threads(threads: int | None) -> Iterator[None]:
    """So many threads within, as before after; no change for None."""
    if threads is None:
        yield
        return
    before = torch.get_num_threads()
    torch.set_num_threads(threads)
    try:
        yield
    finally:
        torch.set_num_threads(before)
