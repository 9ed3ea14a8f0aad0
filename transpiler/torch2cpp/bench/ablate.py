"""What each pass brings: the program without it, measured in turns with the whole one."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from dataclasses import replace

from torch2cpp.bench.measure import Effort, measure
from torch2cpp.bench.ours import Emitted
from torch2cpp.bench.result import OURS
from torch2cpp.bench.rivals import Calls
from torch2cpp.passes.order import ALL
from torch2cpp.pipeline import transpile
from torch2cpp.project import Project
from torch2cpp.regions.share import structural_key


def without_each_pass(
    project: Project, calls: Calls, writes: bool, resets: bool, effort: Effort, step: Callable[[str], None]
) -> dict[str, list[float]]:
    """Pass -> median microseconds per input without it; `torch2cpp` -> those of the whole program, in the same turns.

    A program that comes out the same without a pass is not built: its times are those of the whole.
    """
    options = project.transpiled.options
    rivals = [Emitted(OURS, project, calls, writes)]
    same: list[str] = []
    every = project.transpiled.calls
    examples = [args for _, args in every] if len(options.entries) == 1 else list(every)
    for name in sorted(ALL & frozenset(options.passes)):
        step(f"without {name}")
        out = options.out.parent / f"{options.out.name}_without_{name}"
        changed = replace(options, passes=frozenset(options.passes) - {name}, out=out, dump_dir=None)
        other = Project(project.model, transpile(copy.deepcopy(project.model), examples, changed))
        if _programs(other) == _programs(project):
            same.append(name)
            continue
        other.build(runner=False)
        rivals.append(Emitted(name, other, calls, writes))
    step("measure")
    times = measure(rivals, len(calls), resets, options.stateful, effort)
    return times | dict.fromkeys(same, times[OURS])


def _programs(project: Project) -> Sequence[str]:
    """The host program's text and the regions' structures; which backend compiles them is another matter."""
    folder = project.folder / "src"
    # The first lines say how it was made.
    host = [
        "\n".join(line for line in (folder / name).read_text().splitlines() if not line.startswith("//"))
        for name in (f"{project.name}.cpp", "regions.cpp")
    ]
    return host + [structural_key(region) for region in project.transpiled.program.regions.values()]
