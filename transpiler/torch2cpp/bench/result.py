"""What a bench found, as one JSON line and as a table."""

from __future__ import annotations

import json
import math
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, final

import torch
from rich.table import Table

#: Columns in the order they are shown; `regions_only` is the C++ with only its regions counted.
OURS, REGIONS = "torch2cpp", "regions_only"
RIVALS = ("eager", "compile", "torchscript", "onnxruntime")
#: The same program over libtorch, where it is one without; and with ONNX Runtime for its regions.
LIBTORCH, ONNXRUNTIME = "libtorch", "cpp_onnxruntime"
#: Rivals that are emitted programs too.
EMITTED = (LIBTORCH, ONNXRUNTIME)


class UnknownRival(ValueError):
    """A name that is no rival's; the message lists the names there are."""


def choose_rivals(names: Sequence[str]) -> tuple[str, ...]:
    """The names, each once. Raises UnknownRival.

    >>> choose_rivals(["eager", "compile", "eager"])
    ('eager', 'compile')
    """
    known = (*RIVALS, *EMITTED)
    unknown = [name for name in names if name not in known]
    if unknown:
        raise UnknownRival(f"there is no rival {unknown[0]}; there are {', '.join(known)}")
    return tuple(dict.fromkeys(names))


@final
@dataclass(frozen=True, slots=True)
class Startup:
    """Milliseconds of a whole process with one call, and its peak resident memory in MB (10^6 bytes)."""

    milliseconds: float
    megabytes: float
    #: MB of the program with the libraries it brings, those of the system and weights aside.
    on_disk: float = 0.0


@final
@dataclass(frozen=True, slots=True)
class BenchResult:
    """Times in microseconds; None for a rival that cannot run the model, with its reason."""

    model: str
    threads: int
    backend: str
    #: What each input is, for people.
    inputs: tuple[str, ...]
    #: Rival -> time per input, None where it cannot run.
    times: Mapping[str, Sequence[float] | None]
    reasons: Mapping[str, str] = field(default_factory=dict)
    #: Seconds from the model to the C++ that runs.
    seconds: float = 0.0
    #: Pass -> time per input without it, where that was asked for; `torch2cpp` -> with all of them.
    ablation: Mapping[str, Sequence[float]] = field(default_factory=dict)
    #: Rival -> from the start of its process to the first answer, of those that were asked for and run.
    startup: Mapping[str, Startup] = field(default_factory=dict)
    #: Why a rival is not in `startup`.
    startup_reasons: Mapping[str, str] = field(default_factory=dict)

    @property
    def break_even_runs(self) -> int | None:
        """Runs after which compiling has paid for itself against eager; None where it never does."""
        eager, ours = self.times.get("eager"), self.times.get(OURS)
        if not eager or not ours:
            return None
        saved = statistics.mean(eager) - statistics.mean(ours)
        return math.ceil(self.seconds * 1e6 / saved) if saved > 0 else None

    def as_json(self) -> str:
        """One line."""
        rows = []
        for i, name in enumerate(self.inputs):
            row: dict[str, Any] = {"input": name}
            for rival in (*RIVALS, *EMITTED, OURS, REGIONS):
                if rival in self.times:
                    found = self.times[rival]
                    row[rival] = None if found is None else round(found[i], 2)
            rows.append(row)
        out: dict[str, Any] = {"model": self.model, "threads": self.threads, "rows": rows}
        out["break_even_runs"] = self.break_even_runs
        out["reasons"] = dict(self.reasons)
        out["backend"] = self.backend
        out["seconds"] = round(self.seconds, 2)
        if self.startup or self.startup_reasons:
            out["startup"] = {
                name: {
                    "milliseconds": round(s.milliseconds, 1),
                    "megabytes": round(s.megabytes, 1),
                    "megabytes_on_disk": round(s.on_disk, 2),
                }
                for name, s in self.startup.items()
            } | dict.fromkeys(self.startup_reasons)
            out["startup_reasons"] = dict(self.startup_reasons)
        if self.ablation:
            out["ablation"] = {name: [round(t, 2) for t in times] for name, times in self.ablation.items()}
        return json.dumps(out)

    def table(self) -> Table:
        """A row per input, and how much faster than each rival the C++ is."""
        names = [n for n in (*RIVALS, *EMITTED, OURS, REGIONS) if n in self.times]
        table = Table(title=f"{self.model}: microseconds, {self.threads} thread(s), backend {self.backend}")
        table.add_column("input")
        for name in names:
            table.add_column(name, justify="right")
        for i, label in enumerate(self.inputs):
            cells = [self.times[name] for name in names]
            table.add_row(label, *("-" if c is None else f"{c[i]:,.1f}" for c in cells))
        table.add_section()
        table.add_row("C++ faster by", *(self._gain(name) for name in names))
        if self.startup:
            table.add_section()
            each = [self.startup.get(name) for name in names]
            table.add_row("start to first answer, ms", *("" if s is None else f"{s.milliseconds:,.1f}" for s in each))
            table.add_row("peak memory, MB", *("" if s is None else f"{s.megabytes:,.1f}" for s in each))
            table.add_row("program on disk, MB", *("" if s is None else f"{s.on_disk:,.1f}" for s in each))
        return table

    def notes(self) -> list[str]:
        """Reasons, the break-even, what each pass brings."""
        out = [f"{name}: {reason}" for name, reason in self.reasons.items()]
        out += [f"{name}, start: {reason}" for name, reason in self.startup_reasons.items()]
        runs = self.break_even_runs
        said = "never" if runs is None else f"after {runs:,} runs"
        out.append(f"transpiled and built in {self.seconds:.1f} s, which pays for itself against eager {said}")
        whole = self.ablation.get(OURS)
        for name, times in self.ablation.items():
            if whole and name != OURS:
                out.append(f"without {name}: {geometric_mean([t / o for t, o in zip(times, whole)]):.3f} times as long")
        return out

    def _gain(self, name: str) -> str:
        ours, theirs = self.times.get(OURS), self.times[name]
        if not ours or not theirs or name in (OURS, REGIONS):
            return ""
        return f"{geometric_mean([t / o for t, o in zip(theirs, ours)]):.2f}x"


def geometric_mean(values: Sequence[float]) -> float:
    """Of ratios.

    >>> geometric_mean([2.0, 8.0])
    4.0
    """
    return math.exp(statistics.mean(math.log(v) for v in values))


def describe(value: Any) -> str:
    """An argument for people: tensors by their sizes.

    >>> describe((torch.zeros(1, 3), 2, [torch.zeros(4)]))
    '1x3, 2, [4]'
    """
    match value:
        case torch.Tensor():
            return "x".join(map(str, value.shape)) or "scalar"
        case tuple():
            return ", ".join(map(describe, value))
        case list():
            return f"[{', '.join(map(describe, value[:4]))}{', ...' if len(value) > 4 else ''}]"
        case _:
            return repr(value)[:40]
