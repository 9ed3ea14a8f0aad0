"""The command line for other machines: `torch2cpp target add`, `torch2cpp target list`, `torch2cpp bundle`."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.table import Table

if TYPE_CHECKING:
    from torch2cpp.toolchain.targets.target import Target

target_app = typer.Typer(no_args_is_help=True, help="Machines other than this one.")
_err = Console(stderr=True, soft_wrap=True)

NameArgument = Annotated[str, typer.Argument(metavar="TARGET", help="aarch64-linux-gnu.")]
CpuOption = Annotated[
    str | None,
    typer.Option(help="The target's processor, as -mcpu= knows it: cortex-a53, cortex-a72, neoverse-n1, ..."),
]


@target_app.command()
def add(
    name: NameArgument,
    libtorch: Annotated[
        Path | None, typer.Option(help="A libtorch for it, of this PyTorch's release: include/ and lib/.")
    ] = None,
    sysroot: Annotated[Path | None, typer.Option(help="Its root folder, such as that of an SDK.")] = None,
    compiler: Annotated[str | None, typer.Option(help="A C++ compiler for it.")] = None,
    libraries: Annotated[
        str | None, typer.Option("--with", help="Backends whose library is fetched: onnxruntime; `none` for none.")
    ] = None,
) -> None:
    """Sets a target up: finds its compiler, fetches libtorch and the like into the cache folder."""
    from torch2cpp.cli import _reporting
    from torch2cpp.toolchain.targets.store import add_target

    with _reporting(False):
        backends = None if libraries is None else [b for b in libraries.split(",") if b not in ("", "none")]
        add_target(
            name, libtorch=libtorch, sysroot=sysroot, compiler=compiler, backends=backends, say=lambda s: _say(s)
        )
        _err.print(f"[green]added[/] {name}: --target {name}")


@target_app.command(name="list")
def list_() -> None:
    """Shows the targets there are and what those set up are built with."""
    from torch2cpp.toolchain.targets.store import find_target
    from torch2cpp.toolchain.targets.target import ARCHITECTURES, TargetError

    # Lines, not a table: paths are long, and scripts read them.
    print("native: this machine")
    for name in ARCHITECTURES:
        try:
            found = find_target(name)
        except TargetError as error:
            print(f"{name}: {str(error).removeprefix(f'target {name} ')}")
            continue
        print(f"{name}: ready")
        print(f"  compiler {found.compiler}, glibc {'.'.join(map(str, found.glibc))}")
        print(f"  libtorch {found.torch} in {found.libtorch}")
        for backend, path in found.libraries.items():
            print(f"  {backend} in {path}")


def bundle(
    project: Annotated[Path, typer.Argument(metavar="DIR", help="A project that `compile` made.")],
    out: Annotated[Path | None, typer.Option("-o", "--out", help="The folder to copy; DIR/bundle by default.")] = None,
    target: Annotated[
        str | None, typer.Option(help="The machine it is for; must be what the project was compiled for.")
    ] = None,
) -> None:
    """Makes the folder to copy to a device: program, libraries, weights, recorded inputs, self-test."""
    from torch2cpp.cli import _reporting
    from torch2cpp.toolchain.bundle import make_bundle

    with _reporting(False):
        made = make_bundle(project, out or project / "bundle", target)
        table = Table("part", "MB")
        for part, size in made.parts:
            table.add_row(part, f"{size / 1e6:.2f}")
        table.add_row("all", f"{sum(size for _, size in made.parts) / 1e6:.2f}", style="bold")
        Console(soft_wrap=True).print(table)
        glibc = ".".join(map(str, made.glibc))
        needs = f"glibc {glibc} or later" if made.glibc > (0, 0) else "no library"
        _err.print(f"[green]bundled[/] {made.folder}; it needs {needs}. On the device: ./verify")


def say_what_stood_in(machine: Target) -> None:
    """Tells where QEMU does not know the processor asked for: what ran then says nothing of its instructions."""
    from torch2cpp.toolchain.targets.emulator import ANY, emulated_processor
    from torch2cpp.toolchain.targets.target import TargetError, architecture_of

    if machine.native or machine.cpu in (None, ANY):
        return
    # Where QEMU is gone since, nothing ran this time.
    with suppress(TargetError):
        if emulated_processor(architecture_of(machine), machine.cpu) == ANY:
            said = f"note: QEMU knows no {machine.cpu}; `{ANY}`, its processor with all instructions, stood for it"
            _err.print(said, markup=False, highlight=False)


def register(app: typer.Typer) -> None:
    """Adds the commands to torch2cpp's own."""
    app.add_typer(target_app, name="target")
    app.command()(bundle)


def _say(text: str) -> None:
    _err.print(f"... {text}", markup=False, highlight=False)
