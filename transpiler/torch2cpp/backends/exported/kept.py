"""Graphs kept between runs, since exporting takes seconds."""

from __future__ import annotations

import base64
import hashlib
import json
import os
from collections.abc import Callable, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

import torch

from torch2cpp.backends.exported.export import NotExportable, Sample
from torch2cpp.backends.exported.shapes import InputLayout, Requirements


def kept(
    folder: Path, backend: str, versions: Sequence[str], region_key: str, example: Sample, make: Callable[[], Any]
) -> Any:
    """What `make` gives (JSON values, bytes, Requirements), from the folder where it is known; refusals too.

    An entry's name follows from the region, the example's layout, the versions named and this package's text.
    """
    layout = repr([(str(x.dtype), tuple(x.shape), x.stride()) for x in example])
    parts = (region_key, layout, *versions, torch.__version__, _own_text(backend))
    path = folder / backend / f"{hashlib.sha256(chr(0).join(parts).encode()).hexdigest()[:40]}.json"
    if path.exists():
        entry = json.loads(path.read_text(encoding="utf-8"))
        if "refusal" in entry:
            raise NotExportable(entry["refusal"], frozenset(entry["operators"]))
        return _decode(entry["made"])
    try:
        made = make()
    except NotExportable as refusal:
        _write(path, {"refusal": str(refusal), "operators": sorted(refusal.operators)})
        raise
    _write(path, {"made": _encode(made)})
    return made


def _write(path: Path, entry: dict[str, Any]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    # Another process may write the same entry: whoever is last wins, nobody reads half of one.
    partial = path.with_suffix(f".{os.getpid()}")
    partial.write_text(json.dumps(entry), encoding="utf-8")
    partial.replace(path)


def _encode(value: Any) -> Any:
    match value:
        case bytes():
            return {"bytes": base64.b64encode(value).decode()}
        case Requirements():
            inputs = [[str(i.dtype).removeprefix("torch."), i.sizes, i.strides] for i in value.inputs]
            return {"requirements": [inputs, value.symbols, value.conditions]}
        case dict():
            return {"dict": {k: _encode(v) for k, v in value.items()}}
        case list() | tuple():
            return [_encode(v) for v in value]
        case _:
            return value


def _decode(value: Any) -> Any:
    match value:
        case {"bytes": text}:
            return base64.b64decode(text)
        case {"requirements": [inputs, symbols, conditions]}:
            layouts = (InputLayout(getattr(torch, dtype), tuple(n), tuple(s)) for dtype, n, s in inputs)
            return Requirements(tuple(layouts), tuple((n, i, d) for n, i, d in symbols), tuple(conditions))
        case {"dict": items}:
            return {k: _decode(v) for k, v in items.items()}
        case list():
            return [_decode(v) for v in value]
        case _:
            return value


@lru_cache(maxsize=8)
def _own_text(backend: str) -> str:
    here = Path(__file__).parent
    files = [*sorted(here.glob("*.py")), *sorted((here.parent / backend).glob("*.py"))]
    files.append(here.parents[1] / "regions/as_graph.py")
    return "".join(p.read_text(encoding="utf-8") for p in files)
