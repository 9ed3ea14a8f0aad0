"""What slim's operators do otherwise than PyTorch's.

    python slim_differences.py LIBRARY

prints it for a library of `slim_driver.build_driver`, and ends with 1 where there is something.
"""

from __future__ import annotations

import copy
import sys
from pathlib import Path
from typing import Any

import torch

from slim_cases import GROUPS
from slim_cases_layers import GROUPS as LAYERS
from slim_cases_statistics import GROUPS as STATISTICS
from slim_driver import Driver, SlimError

#: Both begin here before each call.
SEED = 1234
#: The others of their results are for gradients.
FIRST_ONLY = ("aten::embedding_bag",)
ALL_GROUPS = GROUPS | LAYERS | STATISTICS


def differences(driver: Driver, group: str) -> list[str]:
    """What is not as in eager, for all cases of a group."""
    out = []
    for overload, args, kwargs in ALL_GROUPS[group]():
        mine = copy.deepcopy((args, kwargs))
        theirs = copy.deepcopy((args, kwargs))
        shown = f"{overload._schema.name}.{overload._schema.overload_name}{_described(args)} {kwargs}"
        torch.manual_seed(SEED)
        driver.seed(SEED)
        try:
            want = _flat(overload(*theirs[0], **theirs[1]))
        except Exception as error:  # what eager refuses, slim must refuse
            want = error
        try:
            got = driver.call(overload, *mine[0], **mine[1])
        except SlimError as error:
            if not isinstance(want, Exception):
                out.append(f"{shown} raises {error}")
            continue
        if isinstance(want, Exception):
            out.append(f"{shown} does not raise {type(want).__name__}: {want}")
            continue
        if overload._schema.name in FIRST_ONLY:
            want = want[:1]
        pairs = [*zip(got, want, strict=True), *zip(_tensors(mine[0]), _tensors(theirs[0]), strict=True)]
        out += [f"{shown}: {why}" for g, w in pairs if (why := _difference(g, w))]
    return out


def _flat(result: Any) -> list[torch.Tensor]:
    if isinstance(result, torch.Tensor):
        return [result]
    return [t for each in result if each is not None for t in _flat(each)]


def _tensors(tree: Any) -> list[torch.Tensor]:
    if isinstance(tree, torch.Tensor):
        return [tree]
    return [t for each in tree for t in _tensors(each)] if isinstance(tree, list | tuple) else []


def _described(args: Any) -> str:
    return str(tuple(f"{a.dtype}{list(a.shape)}" if isinstance(a, torch.Tensor) else a for a in args))[:160]


def _difference(got: torch.Tensor, want: torch.Tensor) -> str:
    if got.dtype != want.dtype or got.shape != want.shape:
        return f"{got.dtype} {list(got.shape)} instead of {want.dtype} {list(want.shape)}"
    loose = {torch.bfloat16: (1e-2, 1e-2), torch.float16: (1e-3, 1e-3)}
    rtol, atol = loose.get(want.dtype, (1e-4, 1e-5))
    try:
        torch.testing.assert_close(got, want, rtol=rtol, atol=atol, equal_nan=True)
    except AssertionError as error:
        return str(error).replace("\n", " ")[:200]
    return ""


def main(library: str) -> int:
    """All groups; gives the number of those with differences."""
    driver = Driver(Path(library))
    wrong = 0
    for group in ALL_GROUPS:
        found = differences(driver, group)
        print(group, *found, sep="\n  ", flush=True)
        wrong += bool(found)
    return wrong


if __name__ == "__main__":
    sys.exit(min(main(sys.argv[1]), 1))
