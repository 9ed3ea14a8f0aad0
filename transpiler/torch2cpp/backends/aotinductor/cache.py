"""Inductor's output kept between runs.

Inductor's own caches are off: what they hand back comes without the guards that were added when it
was made. An entry here holds code and requirements together, under a key of everything they follow
from: the region, the sizes and strides of the example, the settings, the machine, and this package.
"""

from __future__ import annotations

import hashlib
import json
import platform
from collections.abc import Callable
from dataclasses import asdict
from functools import lru_cache
from pathlib import Path
from typing import Any

import torch

from torch2cpp.backends.aotinductor.generate import Generated, inductor_options
from torch2cpp.backends.exported.export import NotExportable, Sample
from torch2cpp.backends.exported.shapes import InputLayout, Requirements
from torch2cpp.backends.protocol import Safety, Target

Made = tuple[Generated, Requirements]


def cached(
    folder: Path,
    region_key: str,
    example: Sample,
    safety: Safety,
    threads: int,
    target: Target,
    make: Callable[[], Made],
) -> Made:
    """What `make` gives, from the folder where it is known; refusals (NotExportable) are kept too."""
    layout = [(str(x.dtype), tuple(x.shape), x.stride()) for x in example]
    parts = (
        region_key,
        repr(layout),
        json.dumps(inductor_options(safety, threads, target), sort_keys=True),
        _machine(target),
    )
    path = folder / "inductor" / f"{hashlib.sha256(chr(0).join(parts).encode()).hexdigest()[:40]}.json"
    if path.exists():
        return _read(json.loads(path.read_text(encoding="utf-8")))
    try:
        generated, needs = make()
    except NotExportable as refusal:
        _write(path, {"refusal": str(refusal), "operators": sorted(refusal.operators)})
        raise
    dtypes = [str(i.dtype).removeprefix("torch.") for i in needs.inputs]
    inputs = [{"dtype": d, "sizes": i.sizes, "strides": i.strides} for d, i in zip(dtypes, needs.inputs)]
    _write(path, {
        "generated": asdict(generated),
        "inputs": inputs,
        "symbols": needs.symbols,
        "conditions": needs.conditions,
    })  # fmt: skip
    return generated, needs


def _read(entry: dict[str, Any]) -> Made:
    if "refusal" in entry:
        raise NotExportable(entry["refusal"], frozenset(entry["operators"]))
    made = entry["generated"]
    generated = Generated(
        made["wrapper"], tuple(made["flags"]), tuple(made["definitions"]), tuple(made["channels_last"])
    )
    inputs = tuple(
        InputLayout(getattr(torch, i["dtype"]), tuple(i["sizes"]), tuple(i["strides"])) for i in entry["inputs"]
    )
    symbols = tuple((name, i, d) for name, i, d in entry["symbols"])
    return generated, Requirements(inputs, symbols, tuple(entry["conditions"]))


def _write(path: Path, entry: dict[str, Any]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    # Another process may write the same entry: whoever is last wins, nobody reads half of one.
    partial = path.with_suffix(f".{platform.node()}-{id(entry)}")
    partial.write_text(json.dumps(entry), encoding="utf-8")
    partial.replace(path)


@lru_cache(maxsize=4)
def _machine(target: Target) -> str:
    """The torch release, the processor's features and this package's own text."""
    features = _features() if target.native else target.name
    here = Path(__file__).parent
    files = [*sorted(here.glob("*.py")), *sorted((here.parent / "exported").glob("*.py"))]
    own = "".join(p.read_text(encoding="utf-8") for p in files)
    graph = (here.parents[1] / "regions/as_graph.py").read_text(encoding="utf-8")
    return "\0".join((torch.__version__, platform.machine(), features, own, graph))


def _features() -> str:
    info = Path("/proc/cpuinfo")
    lines = info.read_text(encoding="utf-8").splitlines() if info.exists() else []
    return next((line for line in lines if line.lower().startswith(("flags", "features"))), platform.processor())
