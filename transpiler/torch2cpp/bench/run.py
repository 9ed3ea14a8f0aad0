"""One project against its rivals."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import torch

from torch2cpp.bench.ablate import without_each_pass
from torch2cpp.bench.measure import Effort, measure
from torch2cpp.bench.otherwise import otherwise
from torch2cpp.bench.ours import Emitted, RegionsOnly
from torch2cpp.bench.pieces import Pieces
from torch2cpp.bench.result import EMITTED, OURS, RIVALS, BenchResult, choose_rivals, describe
from torch2cpp.bench.rivals import Calls, CannotRun, PythonRival, Rival, checked, compiled, scripted
from torch2cpp.bench.startup import STARTED, startup
from torch2cpp.parity.compare import tensors_in
from torch2cpp.parity.run import Outcome
from torch2cpp.project import Project
from torch2cpp.toolchain.threads import using_threads
from torch2cpp.toolchain.tools import cache_folder

#: Called with what is being done.
Step = Callable[[str], None]


def bench(
    project: Project,
    against: Sequence[str] = RIVALS,
    *,
    effort: Effort | None = None,
    inputs: int | None = None,
    ablate: bool = False,
    start: bool = False,
    step: Step = lambda _: None,
) -> BenchResult:
    """Times of the C++ and the rivals on the examples, in turns. Raises UnknownRival.

    With `inputs`, on so many of the examples: spread over all, the first ones where they are successive calls.
    `ablate` measures the program without each pass too, `start` the time from the start of a process to its first
    answer, and its memory. Builds the project where that was not done. Uses as many threads as the project was
    transpiled for.
    """
    against = choose_rivals(against)
    with using_threads(project.transpiled.options.threads):
        found = _bench(project, against, effort or Effort(), _choose(project, inputs), ablate, step)
        if start:
            step("start")
            # What does not script, say, is not tried once more.
            able = [name for name in against if name not in found.reasons]
            figures, reasons = startup(project, able, _others(project, found))
            unable = {name: found.reasons[name] for name in STARTED if name in found.reasons}
            found = replace(found, startup=figures, startup_reasons=unable | reasons)
        return found


def _others(project: Project, found: BenchResult) -> Mapping[str, Project]:
    """Projects that are rivals, by the rival's name; those that were just built are not built again."""
    return {name: otherwise(project, name) for name in EMITTED if found.times.get(name)}


def _choose(project: Project, inputs: int | None) -> list[int]:
    """Numbers of the calls to measure."""
    count = len(project.transpiled.calls)
    if inputs is None or inputs >= count:
        return list(range(count))
    if project.transpiled.options.stateful:
        return list(range(inputs))
    return [i * count // inputs for i in range(inputs)]


def _bench(
    project: Project, against: Sequence[str], effort: Effort, numbers: Sequence[int], ablate: bool, step: Step
) -> BenchResult:
    transpiled = project.transpiled
    calls, outcomes = [transpiled.calls[i] for i in numbers], [transpiled.outcomes[i] for i in numbers]
    successive = transpiled.options.stateful
    resets = transpiled.view.stateful and not successive
    writes = _writes(calls, outcomes)
    step("build")
    ours = Emitted(OURS, project, calls, writes)
    rivals: list[Rival] = [ours]
    reasons: dict[str, str] = {}
    for name in against:
        step(name)
        try:
            rivals.append(_rival(name, project, calls, outcomes, resets, writes))
        except CannotRun as reason:
            reasons[name] = str(reason)
    step("measure")
    rivals.append(RegionsOnly(ours, project))
    found = measure(rivals, len(calls), resets, successive, effort)
    times: dict[str, Sequence[float] | None] = dict.fromkeys(against)
    times.update(found)
    ablation: Mapping[str, Sequence[float]] = {}
    if ablate:
        ablation = without_each_pass(project, calls, writes, resets, effort, step)
    return BenchResult(
        model=project.name,
        threads=torch.get_num_threads(),
        backend=transpiled.options.backend,
        inputs=tuple(f"{i}: {describe(args)}" for i, (_, args) in zip(numbers, calls)),
        times=times,
        reasons=reasons,
        seconds=transpiled.seconds + project.seconds_build,
        ablation=ablation,
    )


def _rival(name: str, project: Project, calls: Calls, outcomes: Sequence[Outcome], resets: bool, writes: bool) -> Rival:
    """Raises CannotRun."""
    transpiled = project.transpiled
    entries = transpiled.options.entries
    if name in EMITTED:
        return Emitted(name, otherwise(project, name), calls, writes)
    if name == "onnxruntime":
        try:
            return Pieces(transpiled.program, calls, resets, cache_folder(), torch.get_num_threads())
        except ImportError as error:
            raise CannotRun(f"{error}: pip install 'torch2cpp[onnxruntime]'") from error
    wraps: dict[str, Callable[[Any], Any]] = {
        "eager": lambda model: model,
        "compile": compiled(entries),
        "torchscript": scripted(entries),
    }
    stateful = transpiled.view.stateful
    return checked(
        lambda: PythonRival(name, project.model, calls, wraps[name], stateful=stateful, writes=writes),
        outcomes,
        resets,
    )


def _writes(calls: Calls, outcomes: Sequence[Outcome]) -> bool:
    """Whether some call leaves its tensors other than they were, or may."""
    for (_, args), outcome in zip(calls, outcomes):
        before = list(tensors_in(args))
        if len(before) != len(outcome.arguments):
            return True
        for a, b in zip(before, outcome.arguments):
            if a.shape != b.shape or a.dtype != b.dtype or not torch.equal(a, b):
                return True
        if any(isinstance(x, list | dict | set) for x in args):
            return True
    return False
