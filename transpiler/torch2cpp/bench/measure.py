"""Rivals in turns, so that whatever disturbs the machine disturbs all alike."""

from __future__ import annotations

import gc
import statistics
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import final

import torch

from torch2cpp.bench.rivals import Rival

#: Calls of one rival in one turn, where a call changes nothing. The first is not counted, for it finds the caches
#: as the rival before left them.
IN_A_ROW = 4


@final
@dataclass(frozen=True, slots=True)
class Effort:
    """How long to measure."""

    #: Turns that each rival has at least and at most.
    least: int = 5
    most: int = 200
    #: Seconds after which no further turn begins.
    seconds: float = 20.0


def measure(
    rivals: Sequence[Rival], inputs: int, resets: bool, successive: bool, effort: Effort
) -> dict[str, list[float]]:
    """Rival -> median microseconds per input.

    `resets`: calls change the model and each begins anew; `successive`: each continues where the last one ended.
    """
    times: dict[str, list[list[float]]] = {r.name: [[] for _ in range(inputs)] for r in rivals}
    repeat = 1 if resets or successive else IN_A_ROW
    begin = time.perf_counter()
    turn = 0
    enabled = gc.isenabled()
    gc.disable()
    try:
        while turn < effort.least or (turn < effort.most and time.perf_counter() - begin < effort.seconds):
            for i in range(len(rivals)):
                # Who comes first changes from turn to turn.
                rival = rivals[(turn + i) % len(rivals)]
                with torch.no_grad():
                    _turn(rival, times[rival.name], inputs, resets, repeat)
            turn += 1
            gc.collect(0)
    finally:
        if enabled:
            gc.enable()
    return {name: [statistics.median(each) for each in rows] for name, rows in times.items()}


def _turn(rival: Rival, into: list[list[float]], inputs: int, resets: bool, repeat: int) -> None:
    rival.reset()
    for number in range(inputs):
        for i in range(repeat):
            if resets:
                rival.reset()
            microseconds = rival.timed(number) * 1e6
            if i > 0 or repeat == 1:
                into[number].append(microseconds)
