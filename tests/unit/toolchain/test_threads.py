"""The number of threads holds within, and is set back."""

from __future__ import annotations

import pytest
import torch

from torch2cpp.toolchain.threads import using_threads


def test_set_back_after_errors_too() -> None:
    before = torch.get_num_threads()
    with pytest.raises(ValueError, match="inside"), using_threads(before + 1):
        assert torch.get_num_threads() == before + 1
        raise ValueError("inside")
    assert torch.get_num_threads() == before


def test_none_changes_nothing() -> None:
    before = torch.get_num_threads()
    with using_threads(None):
        assert torch.get_num_threads() == before
