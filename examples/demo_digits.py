"""The whole way on real data: train, transpile, build, and run the C++ program on unseen images.

    python examples/demo_digits.py [--out DIR] [--backend NAME]

Trains the early-exit network of `early_exit.py` on scikit-learn's 1,797 scanned digits, turns
it into a C++ project, and compares the C++ program with Python on the images kept out.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import tempfile
import time
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F
from early_exit import EarlyExitNet
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, track
from rich.table import Table
from sklearn.datasets import load_digits

import torch2cpp

HELD_OUT = 450
EPOCHS = 15
TIMED_IMAGES = 200
THREADS = 1  # more gains nothing on 8x8 images
console = Console()


@dataclass(frozen=True)
class Digits:
    """Images (n, 1, 8, 8) in 0..1 and labels (n,), split into those for training and those kept out."""

    train_images: torch.Tensor
    train_labels: torch.Tensor
    test_images: torch.Tensor
    test_labels: torch.Tensor


@dataclass(frozen=True)
class Answers:
    """What a program said about each image: class scores (n, 10), and the exit it left at (n,)."""

    logits: torch.Tensor
    exits: torch.Tensor

    @property
    def classes(self) -> torch.Tensor:
        return self.logits.argmax(dim=1)


def read_digits() -> Digits:
    data = load_digits()
    images = torch.tensor(data.images, dtype=torch.float32).unsqueeze(1) / 16
    labels = torch.tensor(data.target)
    order = torch.randperm(len(images), generator=torch.Generator().manual_seed(0))
    train, test = order[:-HELD_OUT], order[-HELD_OUT:]
    return Digits(images[train], labels[train], images[test], labels[test])


def train(digits: Digits) -> EarlyExitNet:
    """Every exit is trained at once, as in the shallow-deep networks paper."""
    torch.manual_seed(0)
    model = EarlyExitNet().train()
    steps = EPOCHS * -(-len(digits.train_images) // 64)
    optimizer = torch.optim.Adam(model.parameters())
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, max_lr=0.01, total_steps=steps)
    for _ in track(range(EPOCHS), "training", console=console):
        for batch in torch.randperm(len(digits.train_images)).split(64):
            images, labels = digits.train_images[batch], digits.train_labels[batch]
            loss = sum(F.cross_entropy(logits, labels) for logits in model.all_exits(images))
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            schedule.step()
    return model.eval()


def examples_for(model: EarlyExitNet, images: torch.Tensor) -> list[tuple[torch.Tensor]]:
    """One image of each exit, and a batch, so that the batch size varies and every branch is taken."""
    with torch.no_grad():
        depths = [model(image.unsqueeze(0))[1] for image in images]
    firsts = [images[depths.index(depth)].unsqueeze(0) for depth in sorted(set(depths))]
    return [(image,) for image in firsts] + [(images[:16],)]


def transpile_and_build(model: EarlyExitNet, examples: list[tuple[torch.Tensor]], out: Path, backend: str):
    """The project and its binaries, with the stage and the file at hand shown."""
    columns = TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn()
    with Progress(*columns, console=console) as progress:
        task = progress.add_task("transpiling", total=None)
        project = torch2cpp.transpile(
            model,
            examples,
            backend=backend,
            out=out,
            report=lambda stage: progress.update(task, description=f"transpiling: {stage}"),
        )

        def built(done: int, total: int, what: str) -> None:
            progress.update(task, description=f"building {done}/{total}", completed=done, total=total)

        binaries = project.build(progress=built)
        progress.update(task, description="transpiled and built", completed=1, total=1)
    return project, binaries


def ask_python(model: EarlyExitNet, images: torch.Tensor) -> Answers:
    with torch.no_grad():
        answers = [model(image.unsqueeze(0)) for image in track(images, "Python on unseen images", console=console)]
    return Answers(torch.cat([logits for logits, _ in answers]), torch.tensor([depth for _, depth in answers]))


def ask_program(runner: Path, images: torch.Tensor) -> Answers:
    """The standalone C++ program, one call per image, with images and answers in .npz files."""
    with tempfile.TemporaryDirectory() as folder, console.status("C++ program on unseen images"):
        inputs, outputs = Path(folder) / "images", Path(folder) / "answers"
        inputs.mkdir()
        for i, image in enumerate(images):
            np.savez(inputs / f"{i:04}.npz", images=image.unsqueeze(0).numpy())
        words = [runner, "--inputs", inputs, "--outputs", outputs, "--threads", str(THREADS)]
        said = subprocess.run(words, check=True, capture_output=True, text=True).stdout
        answers = [dict(np.load(file)) for file in sorted(outputs.iterdir())]
    console.print(f"the program by itself, {said.strip()}")
    logits = torch.cat([torch.from_numpy(answer["out.0"]) for answer in answers])
    return Answers(logits, torch.tensor([int(answer["out.1"]) for answer in answers]))


def time_side_by_side(python, cpp, images: torch.Tensor) -> tuple[float, float]:
    """Median seconds per image of both in this process, taken in turns."""
    seconds: dict[str, list[float]] = {"python": [], "cpp": []}
    with torch.no_grad():
        for image in track(images[:TIMED_IMAGES], "timing, in turns", console=console):
            for name, program in (("python", python), ("cpp", cpp)):
                start = time.perf_counter()
                program(image.unsqueeze(0))
                seconds[name].append(time.perf_counter() - start)
    return statistics.median(seconds["python"]), statistics.median(seconds["cpp"])


def show(digits: Digits, python: Answers, cpp: Answers, seconds: tuple[float, float], exits: int) -> None:
    """The comparison on the held-out images."""
    total = len(digits.test_labels)
    table = Table(title=f"{total} images kept out of training", title_justify="left")
    table.add_column("")
    table.add_column("Python", justify="right")
    table.add_column("C++", justify="right")
    table.add_row(
        "accuracy", *(f"{100 * (a.classes == digits.test_labels).float().mean():.1f}%" for a in (python, cpp))
    )
    counts = [Counter(answers.exits.tolist()) for answers in (python, cpp)]
    for exit_id in range(exits):
        name = f"left at exit {exit_id + 1} of {exits}"
        table.add_row(name, *(f"{100 * count[exit_id] / total:.1f}%" for count in counts))
    table.add_row("median time per image", *(f"{1e6 * s:.0f} us" for s in seconds))
    console.print(table)
    same = (python.classes == cpp.classes) & (python.exits == cpp.exits)
    console.print(f"same class and same exit: {int(same.sum())} of {total}")
    console.print(f"largest difference of a class score: {(python.logits - cpp.logits).abs().max():.1e}")
    console.print(f"in the same process, in turns, C++ takes {seconds[1] / seconds[0]:.2f} of Python's time")


def show_program(project, runner: Path) -> None:
    """What was emitted, and proof that no Python is in it."""
    libraries = subprocess.run(["ldd", runner], check=True, capture_output=True, text=True).stdout
    assert "libpython" not in libraries, "the program depends on Python"
    host = project.folder / "src" / f"{project.name}.cpp"
    regions = list((project.folder / "src" / "regions").rglob("*.cpp"))
    lines = sum(len(file.read_text().splitlines()) for file in regions)
    program, reports = project.transpiled.program, project.transpiled.compiled.reports
    console.print(f"\nregions: {len(program.regions)}, distinct: {len(reports)}, {lines} generated lines")
    console.print(f"host program: {len(host.read_text().splitlines())} lines; read it in {shown(host)}")
    console.print(f"program: {shown(runner)}, {len(libraries.splitlines())} shared libraries, no libpython among them")


def shown(path: Path) -> str:
    """The path from here."""
    return os.path.relpath(path)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--out", type=Path, default=Path("out") / "digits", help="folder of the C++ project")
    parser.add_argument("--backend", default="aotinductor", help="what compiles the regions")
    arguments = parser.parse_args()
    torch.set_num_threads(THREADS)
    started = time.perf_counter()

    digits = read_digits()
    model = train(digits)
    examples = examples_for(model, digits.train_images[:300])
    project, binaries = transpile_and_build(model, examples, arguments.out, arguments.backend)
    python = ask_python(model, digits.test_images)
    cpp = ask_program(binaries.runner, digits.test_images)
    seconds = time_side_by_side(model, project.load(), digits.test_images)
    show(digits, python, cpp, seconds, exits=len(model.blocks))
    show_program(project, binaries.runner)
    console.print(f"done in {time.perf_counter() - started:.0f} s")


if __name__ == "__main__":
    main()
