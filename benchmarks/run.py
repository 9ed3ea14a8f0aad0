"""Measures all models and writes JSON and charts; see README.md."""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from chart import draw
from machine import machine
from models import Model, models

HERE = Path(__file__).resolve().parent
RIVALS = "eager,compile,torchscript,onnxruntime"


def main() -> int:
    """The command."""
    arguments = _arguments()
    chosen = [m for m in models() if not arguments.only or m.name in arguments.only.split(",")]
    threads = [int(n) for n in arguments.threads.split(",")]
    arguments.out.mkdir(parents=True, exist_ok=True)
    if not arguments.chart:
        for count in threads:
            for model in chosen:
                _measure(model, count, arguments)
    results = _collect(arguments.out)
    (arguments.out / "results.json").write_text(json.dumps(results, indent=1) + "\n")
    for count in sorted({r["threads"] for r in results["models"]}):
        draw(results, count, arguments.out / f"speed_{count}")
    return 0 if all("error" not in r for r in results["models"]) else 1


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default="", help="names of model files, separated by commas")
    parser.add_argument("--threads", default="1,2", help="numbers of threads, separated by commas")
    parser.add_argument("--backend", default="auto")
    parser.add_argument(
        "--against", default=RIVALS, help="the rivals; compiling some networks takes longer than an hour"
    )
    parser.add_argument("--seconds", type=float, default=30.0, help="how long to measure each model")
    parser.add_argument("--inputs", type=int, default=10, help="inputs of each model, spread over those it has")
    parser.add_argument("--limit", type=float, default=3600.0, help="seconds after which a model is given up")
    parser.add_argument("--again", action="store_true", help="measures what was measured before too")
    parser.add_argument("--chart", action="store_true", help="draws the charts only")
    parser.add_argument("--out", type=Path, default=HERE / "results")
    return parser.parse_args()


def _measure(model: Model, threads: int, arguments: argparse.Namespace) -> None:
    """Runs `torch2cpp bench` in a process of its own and keeps its line."""
    path = arguments.out / f"{model.name}_{threads}.json"
    if path.exists() and not arguments.again:
        return
    command = [
        sys.executable,
        "-c",
        "from torch2cpp.cli import main; main()",
        "bench",
        str(model.path),
        "--json",
        "--against",
        arguments.against,
    ]
    command += ["--backend", arguments.backend, "--threads", str(threads)]
    command += ["--seconds", str(arguments.seconds), "--inputs", str(arguments.inputs)]
    started = time.perf_counter()
    print(f"{model.name}, {threads} thread(s) ...", end=" ", flush=True)
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=arguments.limit, check=False)
        found = json.loads(done.stdout.splitlines()[-1]) if done.returncode == 0 else {"error": _last(done.stderr)}
    except subprocess.TimeoutExpired:
        found = {"error": f"not done after {arguments.limit:.0f} s"}
    print(found.get("error") or f"{time.perf_counter() - started:.0f} s", flush=True)
    left_out = [r for r in RIVALS.split(",") if r not in arguments.against.split(",")]
    if "reasons" in found:
        found["reasons"] |= dict.fromkeys(left_out, "it was left out of this run")
    own = {"name": model.name, "title": model.title, "group": model.group, "threads": threads}
    path.write_text(json.dumps(found | own | {"machine": machine()}) + "\n")


def _last(text: str) -> str:
    lines = [line for line in text.splitlines() if line.strip()]
    return lines[-1] if lines else "no output"


def _collect(folder: Path) -> dict[str, Any]:
    """All that was measured, in the order of the models; the machine of the last one measured."""
    order = {m.name: i for i, m in enumerate(models())}
    found = [json.loads(path.read_text()) for path in sorted(folder.glob("*_*.json")) if path.stem != "results"]
    found.sort(key=lambda r: (r["threads"], order.get(r["name"], len(order))))
    machines = [r.pop("machine") for r in found]
    for each in found:
        for kind in ("reasons", "startup_reasons"):
            # Where the files lie here tells nobody anything.
            each[kind] = {r: re.sub(r"(?<![\w.])/\S*/", "", text) for r, text in each.get(kind, {}).items()}
    latest = max(machines, key=lambda m: m["date"], default=machine())
    return {"machine": latest, "models": found}


if __name__ == "__main__":
    sys.exit(main())
