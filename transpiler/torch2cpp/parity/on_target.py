"""Calls through a program of another machine: inputs go to it as files, and so do its results come back.

Values are compared in the form they have in those files: named tensors, one for each leaf of a nested value.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file, save_file

from torch2cpp.hostir.program import Function, Program
from torch2cpp.hostir.random_ops import is_random
from torch2cpp.parity.compare import tensors_in
from torch2cpp.parity.golden import flatten_arguments, flatten_value, storable, variant
from torch2cpp.parity.run import Outcome
from torch2cpp.toolchain.targets.toolchain import Toolchain

#: Seconds that a program may take for all calls, on an emulated processor.
TIMEOUT = 3600

Calls = Sequence[tuple[str, Sequence[Any]]]


class NotComparable(RuntimeError):
    """What the program does on its machine cannot be compared with Python."""


def run_on_target(
    program: Program, runner: Path, calls: Calls, folder: Path, toolchain: Toolchain, *, stateful: bool
) -> list[Outcome]:
    """What each call does there, its values in the form that `as_written` gives.

    `runner` is the emitted command-line program; what lies in `folder` is replaced. Raises NotComparable for
    a program that draws random numbers, and for one that crashes or does not end.
    """
    if is_random(program):
        raise NotComparable(
            "it draws random numbers, and a program on another machine has no seed in common with Python"
        )
    shutil.rmtree(folder, ignore_errors=True)
    inputs, results = folder / "inputs", folder / "results"
    inputs.mkdir(parents=True)
    lines = []
    for i, (entry, args) in enumerate(calls):
        flat = flatten_arguments(variant(program, entry, args), args, program)
        save_file(storable(flat), inputs / f"{i}.in.safetensors")
        lines.append(f"{entry} {i}.in.safetensors - close {'next' if stateful and i > 0 else 'fresh'}\n")
    (inputs / "cases.txt").write_text("".join(lines))
    command = toolchain.command(runner, "--golden", inputs, "--record", results)
    # As the regions were checked.
    environment = os.environ | {"OMP_NUM_THREADS": "1"}
    try:
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False, timeout=TIMEOUT)
    except subprocess.TimeoutExpired as error:
        raise NotComparable(f"its program ran for more than {TIMEOUT} s; check it with fewer inputs") from error
    if done.returncode != 0:
        said = (done.stderr or done.stdout).strip().splitlines()
        raise NotComparable(
            f"its program ended with status {done.returncode}: {' '.join(said[-3:]) or 'it said nothing'}"
        )
    return [_result(program, each, results, i) for i, each in enumerate(calls)]


def as_written(program: Program, call: tuple[str, Sequence[Any]], outcome: Outcome) -> Outcome:
    """What Python did, in the form that the results of a program of another machine have."""
    entry, args = call
    function = variant(program, entry, args)
    names = _argument_names(function, args, program)
    arguments = tuple(x for name, x in zip(names, outcome.arguments) if name is not None)
    if outcome.raised:
        return Outcome(None, outcome.raised, outcome.message, arguments)
    flat: dict[str, torch.Tensor] = {}
    flatten_value(outcome.value, function.result, "out", program, flat)
    return Outcome(_leaves(flat, _host_values(flat, outcome.value)), arguments=arguments)


def match_leaves(want: Outcome, got: Outcome) -> Outcome:
    """The result with numbers of the host as Python has them, as far as Python's own result says which these are."""
    if not isinstance(want.value, dict) or not isinstance(got.value, dict):
        return got
    hosts = {name for name, value in want.value.items() if not isinstance(value, torch.Tensor)}
    return Outcome(_leaves(got.value, hosts), got.raised, got.message, got.arguments)


def _host_values(flat: dict[str, torch.Tensor], value: Any) -> set[str]:
    """Names of what was no tensor before it was written."""
    tensors = {id(x) for x in tensors_in(value)}
    return {name for name, x in flat.items() if x.dim() == 0 and id(x) not in tensors}


def _leaves(flat: dict[str, torch.Tensor], hosts: Iterable[str]) -> dict[str, Any]:
    scalars = set(hosts)
    return {name: x.item() if name in scalars and x.dim() == 0 else x for name, x in sorted(flat.items())}


def _argument_names(function: Function, args: Sequence[Any], program: Program) -> list[str | None]:
    """For each tensor among the arguments the name it has in the file; None for one that is not in it."""
    flat = flatten_arguments(function, args, program)
    names = {id(x): name for name, x in flat.items()}
    return [names.get(id(x)) for x in tensors_in(tuple(args))]


def _result(program: Program, call: tuple[str, Sequence[Any]], results: Path, number: int) -> Outcome:
    entry, args = call
    after = load_file(results / f"{number}.after.safetensors")
    names = _argument_names(variant(program, entry, args), args, program)
    arguments = tuple(after[name] for name in names if name is not None)
    error = results / f"{number}.error.txt"
    if error.exists():
        raised, _, message = error.read_text(encoding="utf-8").partition(": ")
        return Outcome(None, raised, message, arguments)
    return Outcome(dict(load_file(results / f"{number}.out.safetensors")), arguments=arguments)
