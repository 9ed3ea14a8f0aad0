"""The chart: how many times as fast as eager each way runs each model."""

from __future__ import annotations

import math
import statistics
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("Agg")
from matplotlib import pyplot as plt
from matplotlib.ticker import FixedLocator, NullLocator

#: Rival -> (name for people, colour); told apart in grey and by the colour-blind too.
SERIES = {
    "compile": ("torch.compile", "#c7c7c7"),
    "torchscript": ("TorchScript, frozen", "#92b4d8"),
    "onnxruntime": ("ONNX pieces from Python (DyCL's way)", "#e8a45b"),
    "torch2cpp": ("torch2cpp, C++", "#1f5c99"),
}
TICKS = (0.25, 0.5, 1, 2, 4, 8, 16, 32, 64)


def speedup(result: dict[str, Any], rival: str) -> float | None:
    """Geometric mean over the inputs of eager's time by the rival's; None where it has no time.

    >>> speedup({"rows": [{"eager": 8.0, "x": 4.0}, {"eager": 8.0, "x": 1.0}]}, "x")
    4.0
    """
    rows = result.get("rows", [])
    pairs = [(row.get("eager"), row.get(rival)) for row in rows]
    if not pairs or any(not eager or not mine for eager, mine in pairs):
        return None
    return math.exp(statistics.mean(math.log(eager / mine) for eager, mine in pairs))


def draw(results: dict[str, Any], threads: int, path: Path) -> None:
    """Writes `path`.png and `path`.svg: one group of bars a model."""
    rows = [r for r in results["models"] if r["threads"] == threads]
    plt.rcParams |= {"font.family": "DejaVu Sans", "font.size": 9, "svg.hashsalt": "torch2cpp"}
    figure, axes = plt.subplots(figsize=(9, 1.6 + 0.62 * len(rows)), layout="constrained")
    height = 0.8 / len(SERIES)
    most = 1.0
    for i, row in enumerate(rows):
        for j, (rival, (_, colour)) in enumerate(SERIES.items()):
            y = i + (j - (len(SERIES) - 1) / 2) * height
            value = speedup(row, rival)
            if value is None:
                axes.text(1.02, y, _why_no_bar(row, rival), va="center", fontsize=6.5,
                          color="#777777")  # fmt: skip
                continue
            most = max(most, value)
            axes.barh(y, value - 1, left=1, height=height * 0.92, color=colour)
            ours = rival == "torch2cpp"
            axes.text(max(value, 1) * 1.02, y, f"{value:.2g}" if value < 10 else f"{value:.0f}", va="center",
                      fontsize=7.5 if ours else 6.5, fontweight="bold" if ours else "normal")  # fmt: skip
    axes.set_xscale("log", base=2)
    axes.set_xlim(0.25, most * 1.6)
    axes.xaxis.set_major_locator(FixedLocator([t for t in TICKS if t <= most * 1.6]))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.xaxis.set_major_formatter(lambda value, _: f"{value:g}x")
    axes.set_yticks(range(len(rows)), [r["title"] for r in rows])
    axes.set_ylim(len(rows) - 0.45, -0.55)
    axes.axvline(1, color="black", linewidth=0.8)
    axes.grid(axis="x", color="#e5e5e5", linewidth=0.6)
    axes.set_axisbelow(True)
    axes.spines[["top", "right", "left"]].set_visible(False)
    axes.tick_params(axis="y", length=0)
    _separate_groups(axes, rows)
    about = results["machine"]
    plural = "thread" if threads == 1 else "threads"
    axes.set_title(f"Speed against eager PyTorch, {threads} {plural}", loc="left", fontweight="bold", fontsize=11)
    axes.set_xlabel(f"times as fast as eager; {about['processor']}, PyTorch {about['versions'].get('torch', '')}")
    handles = [plt.Rectangle((0, 0), 1, 1, color=colour) for _, colour in SERIES.values()]
    figure.legend(handles, [name for name, _ in SERIES.values()], loc="outside lower center", ncols=4, frameon=False,
                  fontsize=8)  # fmt: skip
    figure.savefig(path.with_suffix(".png"), dpi=160)
    figure.savefig(path.with_suffix(".svg"), metadata={"Date": None})
    plt.close(figure)


def _why_no_bar(row: dict[str, Any], rival: str) -> str:
    if "rows" not in row or "left out" in row.get("reasons", {}).get(rival, ""):
        return "not measured"
    return "cannot run it"


def _separate_groups(axes: Any, rows: list[dict[str, Any]]) -> None:
    for i in range(1, len(rows)):
        if rows[i]["group"] != rows[i - 1]["group"]:
            axes.axhline(i - 0.5, color="#999999", linewidth=0.6, linestyle=(0, (2, 2)))
