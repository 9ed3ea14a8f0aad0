"""What is between the regions: the cost of a region call and of a decision, in nanoseconds.

Writes results/dispatch.json. A region call is measured in C++ beside its compiled function called bare, medians of
nine turns; loops of an emitted program are measured through its Python module, many iterations a call.
"""

from __future__ import annotations

import argparse
import json
import re
import shlex
import statistics
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Any

import torch
from dispatch_model import ENTRIES, make_inputs, make_model
from machine import machine

import torch2cpp
from torch2cpp.toolchain.tools import compiler, ninja, torch_folder

HERE = Path(__file__).resolve().parent
ITERATIONS = 200_000


def main() -> int:
    """The command."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=HERE / "results")
    options = parser.parse_args()
    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory() as folder:
        project = torch2cpp.transpile(
            make_model(), make_inputs(), entries=ENTRIES, out=Path(folder) / "steps", threads=1
        )
        project.build()
        found = {"region": _region(project, Path(folder)), "loops": _loops(project.load())}
    print(json.dumps(found, indent=1))
    options.out.mkdir(parents=True, exist_ok=True)
    (options.out / "dispatch.json").write_text(json.dumps(found | {"machine": machine()}, indent=1) + "\n")
    return 0


def _region(project: Any, folder: Path) -> Any:
    """Nanoseconds and allocations of a call of the program's region, and of its compiled function bare."""
    build, unit = project.folder / "build", project.folder / "src/regions/aotinductor_0.cpp"
    (name,) = re.findall(r'#include "(\w+)/\1.cpp"', unit.read_text())
    (class_name,) = re.findall(r"^class (\w+) \{", (unit.parent / name / f"{name}.h").read_text(), re.MULTILINE)
    source, program = folder / "dispatch.cpp", folder / "dispatch"
    text = (HERE / "dispatch.cpp.in").read_text()
    words = {"UNIT": str(unit), "NAMESPACE": project.name, "CLASS": class_name, "FOLDER": name}
    for word, meaning in words.items():
        text = text.replace(f"@{word}@", meaning)
    source.write_text(text)
    # As the project compiles the unit.
    told = subprocess.run([ninja(), "-C", str(build), "-t", "commands"], capture_output=True, text=True, check=True)
    command = shlex.split(next(line for line in told.stdout.splitlines() if line.endswith(f"-c {unit}")))
    command = command[command.index(compiler()) :] if compiler() in command else command
    output = command.index("-o")
    command = [*command[:output], *command[output + 2 : -2], "-c", str(source), "-o", f"{program}.o"]
    command = _without(command, ("-MF", "-MT", "-MQ"))
    subprocess.run(command, check=True, cwd=build)
    lib = torch_folder() / "lib"
    link = [compiler(), f"{program}.o", str(build / f"lib{project.name}.a"), "-o", str(program)]
    link += [f"-L{lib}", f"-Wl,-rpath,{lib}", "-Wl,--no-as-needed", "-ltorch_cpu", "-lc10", "-fopenmp", "-lz"]
    subprocess.run(link, check=True)
    done = subprocess.run([str(program)], capture_output=True, text=True, check=True, env={"OMP_NUM_THREADS": "1"})
    return json.loads(done.stdout)


def _without(command: list[str], options: tuple[str, ...]) -> list[str]:
    """The command without these options and their values, and without `-MD`."""
    kept = []
    words = iter(command)
    for word in words:
        if word in options:
            next(words)
        elif word != "-MD":
            kept.append(word)
    return kept


def _loops(program: Any) -> dict[str, float]:
    """Nanoseconds of one iteration, by entry."""
    inputs = {"calls": (torch.zeros(16),), "decisions": (3,), "tensor_decisions": (torch.tensor(True), 1)}
    return {entry: _iteration(getattr(program, entry), inputs.get(entry, (0,))) for entry in ENTRIES}


def _iteration(run: Any, args: tuple[Any, ...]) -> float:
    times = []
    for _ in range(9):
        began = time.perf_counter()
        run(*args, ITERATIONS)
        times.append(time.perf_counter() - began)
    return round(statistics.median(times) / ITERATIONS * 1e9, 2)


if __name__ == "__main__":
    raise SystemExit(main())
