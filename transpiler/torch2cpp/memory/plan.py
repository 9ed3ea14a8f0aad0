"""Measures what a program takes of memory on its largest inputs, and writes it into the project.

The program itself is the measure: it runs the recorded inputs as they are and brought to the sizes declared, as often
as it takes until it asks the C library for nothing after it was loaded. Ways that none of these take are not counted.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import save_file

from torch2cpp.binding.signature import declared_dims
from torch2cpp.emit.environment import render
from torch2cpp.emit.manifest import checksum_of
from torch2cpp.emit.view_model import MemoryView, ProjectView
from torch2cpp.emit.write_project import MEMORY_PLAN, format_cpp
from torch2cpp.hostir.program import Program
from torch2cpp.memory.sizes import Place, SizesError, largest, stretched
from torch2cpp.options import Options
from torch2cpp.parity.golden import flatten_arguments, storable, variant
from torch2cpp.toolchain.build import build
from torch2cpp.toolchain.targets.toolchain import toolchain_of

#: Runs until nothing more is taken: memory that lies otherwise may be parted otherwise.
ROUNDS = 5
#: Seconds that one of them may take.
TIMEOUT = 3600
_TAKEN = re.compile(r"^memory: (\d+) \+ (\d+) bytes (before the first|after the last) call$", re.MULTILINE)

Calls = Sequence[tuple[str, Sequence[Any]]]


def plan_memory(program: Program, view: ProjectView, calls: Calls, options: Options) -> MemoryView:
    """Finds the plan of a project that was written, and writes it there.

    Builds the project's runner. Raises SizesError where the inputs cannot have the sizes of `options.max_sizes`,
    BuildFailed where the project does not compile.
    """
    folder = options.out / "build" / "memory"
    shutil.rmtree(folder, ignore_errors=True)
    sizes = write_cases(program, calls, options, folder / "inputs")
    text = ", ".join(f"{name}[{dim}]={size}" for (name, dim), size in sorted(sizes.items()))
    plan = MemoryView(sizes=text)
    for _ in range(ROUNDS):
        _write(view, plan, options.out)
        before, after = _run(view, options, folder)
        if before == after:
            break
        plan = MemoryView(*after, sizes=text)
    _note(options.out, "memory", {"sizes": plan.sizes, "bytes": plan.bytes})
    return plan


def write_cases(program: Program, calls: Calls, options: Options, folder: Path) -> dict[Place, int]:
    """Writes the calls as files for the runner, as they are and brought to the sizes declared; gives those sizes."""
    flat = [flatten_arguments(variant(program, entry, args), args, program) for entry, args in calls]
    sizes = largest(options.max_sizes, flat, _declared(program, options.dynamic_shapes))
    folder.mkdir(parents=True, exist_ok=True)
    lines = []
    for kind, cases in (("large", [stretched(case, sizes) for case in flat]), ("recorded", flat)):
        for i, ((entry, _), case) in enumerate(zip(calls, cases, strict=True)):
            name = f"{kind}_{i}.in.safetensors"
            save_file(storable(dict(case)), folder / name)
            lines.append(f"{entry} {name} - close {'next' if options.stateful and i > 0 else 'fresh'}\n")
    (folder / "cases.txt").write_text("".join(lines))
    return sizes


def _declared(program: Program, dynamic_shapes: Any) -> dict[Place, str]:
    """The dimensions that `dynamic_shapes` speaks of, with their names where they have one."""
    out: dict[Place, str] = {}
    for function in program.entries.values():
        for place, dim in declared_dims(dynamic_shapes, [p.name for p in function.params]).items():
            out[place] = str(getattr(dim, "__name__", ""))
    return out


def _run(view: ProjectView, options: Options, folder: Path) -> tuple[tuple[int, int], tuple[int, int]]:
    """What the program had taken before its first call, and after its last."""
    toolchain = toolchain_of(options.machine)
    runner = build(options.out, view.namespace, target=options.machine, more=_static(options)).runner
    arguments = ("--golden", folder / "inputs", "--record", folder / "results", "--memory")
    threads = str(options.threads or torch.get_num_threads()) if options.machine.native else "1"
    done = subprocess.run(
        toolchain.command(runner, *arguments),
        env=os.environ | {"OMP_NUM_THREADS": threads},
        capture_output=True,
        text=True,
        check=False,
        timeout=TIMEOUT,
    )
    found = {when: (int(large), int(small)) for large, small, when in _TAKEN.findall(done.stdout)}
    if done.returncode != 0 or len(found) != 2:
        said = " ".join((done.stderr or done.stdout).split())[-300:] or f"it ended with status {done.returncode}"
        raise SizesError(f"the program does not run on inputs of the sizes declared: {said}")
    return found["before the first"], found["after the last"]


def _static(options: Options) -> dict[str, str] | None:
    return {"TORCH2CPP_STATIC": "ON"} if options.static else None


def _write(view: ProjectView, plan: MemoryView, folder: Path) -> None:
    text = render("project/memory_plan.h.j2", view=view, plan=plan)
    text = format_cpp(text, folder / ".clang-format")
    (folder / MEMORY_PLAN).write_text(text)
    _note(folder, "files", {MEMORY_PLAN: checksum_of(text.encode())})


def _note(folder: Path, key: str, more: dict[str, Any]) -> None:
    """Puts something into model.json."""
    path = folder / "model.json"
    about = json.loads(path.read_text())
    about[key] = (about[key] or {}) | more
    path.write_text(json.dumps(about, indent=2) + "\n")
