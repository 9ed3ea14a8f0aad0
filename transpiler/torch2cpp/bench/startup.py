"""From the start of a process to its first answer, and the memory it takes at most.

Each rival is a program of its own that loads the model, makes one call and ends: the emitted runner,
Python with the eager model, and a C++ program over libtorch with the scripted model.
"""

from __future__ import annotations

import copy
import inspect
import re
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import torch

from torch2cpp.backends.verify_region import environment
from torch2cpp.bench.result import OURS, Startup
from torch2cpp.bench.rivals import CannotRun, one_line, scripted
from torch2cpp.bench.small_programs import measurer, script_runner
from torch2cpp.project import Project

#: Processes started of each, in turns; the first round warms the disk's cache.
ROUNDS = 6
#: Seconds after which a program is given up.
LIMIT = 300
#: Rivals that have a program of their own to start.
STARTED = ("eager", "torchscript")
#: Where libraries are that every program finds on a machine.
_SYSTEM = ("/lib", "/usr/lib")
#: Run by Python: the pickled model and arguments, the entry, and the model's modules by name and file.
_EAGER = """
import importlib.util, os, sys
import torch
pickled, entry, *modules = sys.argv[1:]
names, paths = modules[::2], modules[1::2]
sys.path[:0] = dict.fromkeys(map(os.path.dirname, paths))
for name, path in zip(names, paths):
    if name not in sys.modules:
        spec = importlib.util.spec_from_file_location(name, path)
        sys.modules[name] = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(sys.modules[name])
model, args = torch.load(pickled, weights_only=False)
with torch.no_grad():
    (model if entry == "forward" else getattr(model, entry, model))(*args)
print("done", flush=True)
os._exit(0)
"""


def startup(
    project: Project, rivals: Sequence[str], others: Mapping[str, Project] | None = None
) -> tuple[dict[str, Startup], dict[str, str]]:
    """Rival -> its figures on the first example that raises nothing; and why a rival has none.

    `others` are rivals that are emitted projects too.
    """
    others = others or {}
    number = next((i for i, outcome in enumerate(project.transpiled.outcomes) if not outcome.raised), None)
    if number is None or (number and project.transpiled.options.stateful):
        return {}, dict.fromkeys((*rivals, OURS), "every example raises")
    commands: dict[str, list[str]] = {}
    reasons: dict[str, str] = {}
    with tempfile.TemporaryDirectory() as name:
        for rival in (*(r for r in STARTED if r in rivals), *others, OURS):
            try:
                commands[rival] = _command(rival, others.get(rival, project), number, Path(name))
                _run(commands[rival])
            except CannotRun as reason:
                commands.pop(rival, None)
                reasons[rival] = str(reason)
        return _measure(commands), reasons


def _measure(commands: Mapping[str, list[str]]) -> dict[str, Startup]:
    found: dict[str, list[Startup]] = {name: [] for name in commands}
    for _ in range(ROUNDS):
        for name, command in commands.items():
            found[name].append(_run(command))
    return {
        name: Startup(
            statistics.median(each.milliseconds for each in rounds[1:]),
            max(each.megabytes for each in rounds),
            on_disk(Path(commands[name][0])) / 1e6,
        )
        for name, rounds in found.items()
    }


def on_disk(program: Path) -> int:
    """Bytes of a program with the shared libraries it brings; of Python, with the folder of torch."""
    if program == Path(sys.executable):
        return sum(p.stat().st_size for p in Path(torch.__file__).parent.rglob("*") if p.is_file())
    listed = subprocess.run(["ldd", program], env=environment(), capture_output=True, text=True, check=False).stdout
    found = {Path(path).resolve() for path in re.findall(r"=> (/\S+)", listed)}
    brought = [path for path in found if not str(path).startswith(_SYSTEM)]
    return sum(path.stat().st_size for path in (program.resolve(), *brought))


def _command(rival: str, project: Project, number: int, folder: Path) -> list[str]:
    """The program and its arguments. Raises CannotRun."""
    entry, args = project.transpiled.calls[number]
    match rival:
        case "eager":
            return _eager(project.model, entry, args, folder)
        case "torchscript":
            return _scripted(project, entry, args, folder)
        case _:
            cases = project.folder / "golden"
            given = cases / f"{entry}_{number}.in.safetensors"
            if not given.exists():
                raise CannotRun("its inputs are not recorded: they are large, or its results are random")
            runner = str(project.build(python=True).runner)
            weights = str(project.folder / "weights.safetensors")
            return [runner, "--entry", entry, "--input", str(given), "--weights", weights]


def _eager(model: Any, entry: str, args: Sequence[Any], folder: Path) -> list[str]:
    pickled = folder / "eager.pt"
    try:
        torch.save((model, tuple(args)), pickled)
    except Exception as error:  # whatever a model's own pickling raises
        raise CannotRun(f"it cannot be pickled: {one_line(error)}") from error
    return [sys.executable, "-c", _EAGER, str(pickled), entry, *_own_modules(model)]


def _own_modules(model: Any) -> list[str]:
    """Names and files of the modules that the model's classes come from, but installed ones. Raises CannotRun."""
    parts = model.modules() if isinstance(model, torch.nn.Module) else [model]
    made = [part if inspect.isfunction(part) else type(part) for part in parts]
    out = []
    for name in dict.fromkeys(each.__module__ for each in made):
        path = getattr(sys.modules.get(name), "__file__", None)
        if path is None:
            raise CannotRun(f"the source file of {name} is not known")
        if "site-packages" not in Path(path).parts:
            out += [name, path]
    return out


def _scripted(project: Project, entry: str, args: Sequence[Any], folder: Path) -> list[str]:
    try:
        module = scripted(project.transpiled.options.entries)(copy.deepcopy(project.model))
        if not isinstance(module, torch.jit.ScriptModule):
            raise CannotRun("a function, which has no file of its own")
        torch.jit.save(module, folder / "scripted.pt")
    except CannotRun:
        raise
    except Exception as error:  # models that do not script raise all sorts
        raise CannotRun(one_line(error)) from error
    torch.save(tuple(args), folder / "arguments.pt")
    return [str(script_runner()), str(folder / "scripted.pt"), str(folder / "arguments.pt"), entry]


def _run(command: Sequence[str]) -> Startup:
    """Raises CannotRun where the program fails."""
    with tempfile.NamedTemporaryFile("r") as found:
        done = subprocess.run(
            [measurer(), found.name, *command],
            capture_output=True,
            text=True,
            env=environment(),
            timeout=LIMIT,
            check=False,
        )
        if done.returncode != 0:
            words = " ".join((done.stdout + done.stderr).split())
            raise CannotRun(f"its program ended with {done.returncode}: {words[-300:]}")
        seconds, memory = found.read().split()
    return Startup(float(seconds) * 1e3, float(memory) / 1e6)
