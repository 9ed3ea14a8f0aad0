"""How many regions the nine networks need: those that differ only in weights are compiled once."""

from __future__ import annotations

import importlib

import pytest
import torch

from model_files import load_model_file
from through_interpreter import bound, formed
from torch2cpp.binding.entry import bind
from torch2cpp.hostir.ops import Loop, RegionCall, walk
from torch2cpp.hostir.program import Program
from torch2cpp.regions.share import share
from zoo_files import ZOO, recorder


def distinct(program: Program) -> int:
    return len(share(program.regions.values()).distinct)


#: The most distinct regions of a network. BlockDrop is FlatResNet32 and the policy network before it.
MOST = {"skipnet_rnn": 14, "skipnet_ff": 14, "blockdrop": 9}


@pytest.mark.parametrize("name", MOST)
def test_skipped_blocks_share_their_regions(name: str) -> None:
    program = formed(bound(load_model_file(ZOO / f"{name}.py")))
    assert distinct(program) <= MOST[name]
    # The host program is loops over the blocks of each group.
    loops = [op for op in walk(program.entries["forward"].body) if isinstance(op, Loop)]
    assert len(loops) == 3 and len(program.regions) > 20


def test_flat_resnet_needs_eight_regions() -> None:
    torch.manual_seed(0)
    model = importlib.import_module("blockdrop").FlatResNet([5, 5, 5]).eval()
    examples = [(torch.randn(n, 3, 32, 32), torch.randint(0, 2, (n, 15)).float()) for n in (1, 2)]
    assert distinct(formed(bind(model, examples))) <= 8


@pytest.mark.parametrize("name", recorder.CAPTIONERS)
def test_captioners_call_few_regions_in_their_loop(name: str) -> None:
    program = formed(bound(load_model_file(ZOO / f"{name}.py")))
    loops = [op for op in walk(program.entries["forward"].body) if isinstance(op, Loop)]
    called = {r for loop in loops for op in walk(loop.body) if isinstance(op, RegionCall) for r in op.regions}
    assert loops and 0 < len(called) <= 4
