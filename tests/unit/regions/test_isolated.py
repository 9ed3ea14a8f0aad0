"""Functions in child processes: results and exceptions come back, a dead process gives None."""

from __future__ import annotations

import os
import signal

import pytest
import torch

from torch2cpp.regions.isolated import run_isolated


def test_the_result_comes_back() -> None:
    x = torch.arange(6.0).view(2, 3)
    got = run_isolated(lambda: [(x.t() + 1, 3, None)])
    assert torch.equal(got[0][0], x.t() + 1)
    assert got[0][1:] == (3, None)


def test_an_exception_comes_back() -> None:
    def fails() -> None:
        raise ValueError("no")

    with pytest.raises(ValueError, match=r"^no$"):
        run_isolated(fails)


def test_a_process_that_dies_gives_none() -> None:
    assert run_isolated(lambda: os.kill(os.getpid(), signal.SIGSEGV)) is None
    assert run_isolated(lambda: os._exit(0)) is None
