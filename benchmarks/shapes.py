"""One program for all sizes: 200 texts of random lengths, compiling included, each way in a process of its own.

Writes results/shapes.json. Every process begins with empty caches. The C++ is also measured against a build whose only
size is 128, in turns, on a text of that length.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from machine import machine
from text_exits import make_inputs, make_model, requests

HERE = Path(__file__).resolve().parent
WAYS = ("eager", "compile", "compile_dynamic", "torch2cpp")
#: Length of the build for one size.
ONE = 128


def main() -> int:
    """The command."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--way", choices=(*WAYS, "specialised"), help="measures one way in this process")
    parser.add_argument("--count", type=int, default=200)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--backend", default="aotinductor")
    parser.add_argument("--out", type=Path, default=HERE / "results")
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    if options.way:
        print(json.dumps(_measure(options)))
        return 0
    found: dict[str, Any] = {"count": options.count, "threads": options.threads, "backend": options.backend}
    for way in (*WAYS, "specialised"):
        found[way] = _in_process(way, options)
        print(way, found[way], flush=True)
    options.out.mkdir(parents=True, exist_ok=True)
    (options.out / "shapes.json").write_text(json.dumps(found | {"machine": machine()}, indent=1) + "\n")
    return 0


def _in_process(way: str, options: argparse.Namespace) -> Any:
    with tempfile.TemporaryDirectory() as empty:
        variables = os.environ | {"TORCHINDUCTOR_CACHE_DIR": f"{empty}/inductor", "TORCH2CPP_CACHE": f"{empty}/own"}
        variables["OMP_NUM_THREADS"] = str(options.threads)
        command = [sys.executable, __file__, "--way", way, "--count", str(options.count)]
        command += ["--threads", str(options.threads), "--backend", options.backend]
        done = subprocess.run(command, env=variables, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        return {"error": done.stderr.strip().splitlines()[-1]}
    return json.loads(done.stdout.strip().splitlines()[-1])


def _measure(options: argparse.Namespace) -> dict[str, Any]:
    model = make_model()
    texts = requests(options.count)
    if options.way == "specialised":
        return _specialised(model, options)
    with torch.no_grad():
        want = [model(ids) for ids in texts]
        began = time.perf_counter()
        run = _made(options.way, model, options)
        seconds_before = time.perf_counter() - began
        times: list[float] = []
        for ids, expected in zip(texts, want):
            start = time.perf_counter()
            got = run(ids)
            times.append(time.perf_counter() - start)
            assert got[1] == expected[1], "another exit"
            torch.testing.assert_close(got[0], expected[0], rtol=1e-4, atol=1e-5)
        # Once more: everything that compiles on its first call has done so.
        again = []
        for ids in texts:
            start = time.perf_counter()
            run(ids)
            again.append(time.perf_counter() - start)
    return {
        "seconds_before_first_call": round(seconds_before, 3),
        "seconds_of_all_calls": round(sum(times), 3),
        "seconds_in_all": round(seconds_before + sum(times), 3),
        "seconds_of_all_calls_again": round(sum(again), 3),
        "longest_call": round(max(times), 3),
    }


def _made(way: str, model: torch.nn.Module, options: argparse.Namespace) -> Callable[[torch.Tensor], Any]:
    match way:
        case "eager":
            return model
        case "compile":
            return torch.compile(model, dynamic=False)
        case "compile_dynamic":
            return torch.compile(model, dynamic=True)
        case _:
            return _emitted(model, make_inputs(), options)


def _emitted(model: torch.nn.Module, examples: list[Any], options: argparse.Namespace) -> Callable[[torch.Tensor], Any]:
    import torch2cpp

    folder = tempfile.mkdtemp()
    project = torch2cpp.transpile(
        model, examples, backend=options.backend, out=Path(folder) / "text_exits", threads=options.threads
    )
    loaded: Callable[[torch.Tensor], Any] = project.load()
    return loaded


def _specialised(model: torch.nn.Module, options: argparse.Namespace) -> dict[str, Any]:
    """Medians in turns at one length: the build for all sizes, the build for that one."""
    generator = torch.Generator().manual_seed(3)
    texts = [torch.randint(0, 4000, (1, ONE), generator=generator) for _ in range(6)]
    with torch.no_grad():
        for_all = _emitted(model, make_inputs(), options)
        for_one = _emitted(model, [(ids,) for ids in texts], options)
        times: dict[str, list[list[float]]] = {
            "for_all_sizes": [[] for _ in texts],
            "for_this_size": [[] for _ in texts],
        }
        for _ in range(200):
            for name, run in (("for_all_sizes", for_all), ("for_this_size", for_one)):
                for i, ids in enumerate(texts):
                    start = time.perf_counter()
                    run(ids)
                    times[name][i].append(time.perf_counter() - start)
    medians = {name: statistics.mean(map(statistics.median, rows)) * 1e6 for name, rows in times.items()}
    return {name: round(t, 1) for name, t in medians.items()} | {
        "ratio": round(medians["for_all_sizes"] / medians["for_this_size"], 3)
    }


if __name__ == "__main__":
    sys.exit(main())
