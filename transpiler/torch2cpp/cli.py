"""The command line: `torch2cpp check`, `compile`, `bench`, `explain`."""

from __future__ import annotations

import ctypes
import os
import sys
import tempfile
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stdout
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

from torch2cpp.backends.registry import AUTO, DEFAULT, UnknownBackend
from torch2cpp.backends.runtimes import UnknownRuntime
from torch2cpp.bench.result import UnknownRival, choose_rivals
from torch2cpp.cli_target import CpuOption, register, say_what_stood_in
from torch2cpp.cli_verdict import print_verdict
from torch2cpp.diagnostics import Refused, SignatureError
from torch2cpp.memory.sizes import SizesError, parse_sizes
from torch2cpp.model_file import ModelFile, ModelFileError, load_model_file
from torch2cpp.options import Options
from torch2cpp.parity.verdict import Verdict
from torch2cpp.passes.order import UnknownPass, choose_passes
from torch2cpp.toolchain.build import build
from torch2cpp.toolchain.tools import ToolMissing

#: Exit codes: every input matched; some did not; the user's program is refused; a fault of ours.
OK, DIFFERS, REFUSED, FAULT = 0, 1, 2, 70
#: What says that the user's program or choice cannot be had.
_USER_ERRORS = (
    Refused,
    SignatureError,
    SizesError,
    ModelFileError,
    ToolMissing,
    UnknownBackend,
    UnknownPass,
    UnknownRival,
    UnknownRuntime,
)

app = typer.Typer(add_completion=False, no_args_is_help=True, help="PyTorch models with branches, as C++ projects.")
#: Long lines stay whole: they are cut by whoever reads them.
_err = Console(stderr=True, soft_wrap=True)

FileArgument = Annotated[str, typer.Argument(metavar="FILE.py[:factory]", help="A model file.")]
BackendOption = Annotated[
    str,
    typer.Option(help="What compiles the regions: aten, aotinductor, onnxruntime, torchscript, openvino, or auto."),
]
ThreadsOption = Annotated[int | None, typer.Option(help="Threads of tensor operations; torch's own number by default.")]
StaticOption = Annotated[
    bool, typer.Option("--static", help="Links the program without shared libraries; with --runtime slim.")
]
RuntimeOption = Annotated[
    str, typer.Option(help="What programs stand on: libtorch, or slim, which is part of them and small.")
]
SizesOption = Annotated[
    str,
    typer.Option(help="Largest sizes of inputs, such as batch=8,tokens[1]=512: memory for them is taken at the start."),
]
TargetOption = Annotated[str, typer.Option(help="The machine the C++ is for.")]
DumpOption = Annotated[Path | None, typer.Option(help="Writes one numbered text per stage into this folder.")]
PassesOption = Annotated[
    str, typer.Option(help="Passes over the host program: `all`, names, or `all,-NAME` to leave some out.")
]
RoundingOption = Annotated[
    bool,
    typer.Option(
        "--free-rounding",
        help="Keeps the fastest code though the program makes more of its rounding than rtol 1e-4, atol 1e-5.",
    ),
]
EntryOption = Annotated[str | None, typer.Option(help="The method to deploy; the file's ENTRY by default.")]


def main() -> None:
    """The command's entry point."""
    app()


@app.command()
def check(
    file: FileArgument,
    backend: BackendOption = "aotinductor",
    target: TargetOption = "native",
    cpu: CpuOption = None,
    entry: EntryOption = None,
    out: Annotated[Path | None, typer.Option("-o", "--out", help="Keeps the project in this folder.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Prints one line of JSON and nothing else.")] = False,
    dump_dir: DumpOption = None,
    passes: PassesOption = "all",
    threads: ThreadsOption = None,
    free_rounding: RoundingOption = False,
    runtime: RuntimeOption = "libtorch",
    static: StaticOption = False,
    max_sizes: SizesOption = "",
) -> None:
    """Transpiles, builds, and compares with Python on every input of the file."""
    with _reporting(as_json), _folder(out) as folder, _prints_to_stderr(as_json) as answer:
        _check_static(static, runtime)
        project, _ = _project(
            file,
            Options(
                backend=backend,
                target=target,
                cpu=cpu,
                runtime=runtime,
                static=static,
                max_sizes=parse_sizes(max_sizes),
                out=folder,
                dump_dir=dump_dir,
                passes=choose_passes(passes),
                threads=threads,
                free_rounding=free_rounding,
            ),
            entry,
            as_json,
        )
        with _progress(as_json) as step:
            project.build(runner=out is not None, progress=lambda done, of, what: step(f"build {done}/{of}", what))
            step("check", "")
            verdict = project.check()
        if as_json:
            answer(verdict.as_json())
        else:
            print_verdict(verdict, project, _err)
            say_what_stood_in(project.transpiled.options.machine)
        raise typer.Exit(OK if verdict.ok else DIFFERS)


def _check_static(static: bool, runtime: str) -> None:
    if static and runtime != "slim":
        raise typer.BadParameter("--static needs --runtime slim: libtorch is a shared library")


@app.command(name="compile")
def compile_(
    file: FileArgument,
    out: Annotated[Path, typer.Option("-o", "--out", help="Folder of the project.")],
    backend: BackendOption = "aotinductor",
    target: TargetOption = "native",
    cpu: CpuOption = None,
    entry: EntryOption = None,
    python: Annotated[bool, typer.Option(help="Builds the pybind11 module too.")] = True,
    dump_dir: DumpOption = None,
    passes: PassesOption = "all",
    threads: ThreadsOption = None,
    profile: Annotated[
        bool,
        typer.Option("--profile", help="Puts clocks into branches; the program's --profile and --trace read them."),
    ] = False,
    free_rounding: RoundingOption = False,
    again: Annotated[bool, typer.Option("--again", help="Transpiles also where nothing has changed.")] = False,
    runtime: RuntimeOption = "libtorch",
    static: StaticOption = False,
    max_sizes: SizesOption = "",
) -> None:
    """Transpiles and builds a project; where nothing has changed since, only what is not built yet."""
    with _reporting(False):
        _check_static(static, runtime)
        options = Options(
            backend=backend,
            target=target,
            cpu=cpu,
            out=out,
            dump_dir=dump_dir,
            passes=choose_passes(passes),
            threads=threads,
            profile=profile,
            free_rounding=free_rounding,
            runtime=runtime,
            static=static,
            max_sizes=parse_sizes(max_sizes),
        )
        name = _transpiled(file, options, entry, again)
        with _progress(False) as step:
            built = build(
                out,
                name,
                python=python and options.machine.native,
                more={"TORCH2CPP_STATIC": "ON"} if static else None,
                progress=lambda done, of, what: step(f"build {done}/{of}", what),
                target=options.machine,
            )
        _err.print(f"[green]built[/] {built.runner}")
        _err.print(f"host program: {out / 'src' / (name + '.cpp')}")
        say_what_stood_in(options.machine)


@app.command()
def bench(
    file: FileArgument,
    against: Annotated[
        str, typer.Option(help="Rivals, separated by commas; also cpp_onnxruntime, and libtorch with --runtime slim.")
    ] = "eager,compile,torchscript,onnxruntime",
    backend: BackendOption = "auto",
    threads: ThreadsOption = None,
    ablate: Annotated[bool, typer.Option("--ablate", help="Measures the program without each pass too.")] = False,
    seconds: Annotated[float, typer.Option(help="How long to measure.")] = 20.0,
    inputs: Annotated[int | None, typer.Option(help="Measures so many of the file's inputs.")] = None,
    start: Annotated[
        bool, typer.Option("--start/--no-start", help="Measures from a process's start to its first answer too.")
    ] = True,
    entry: EntryOption = None,
    out: Annotated[Path | None, typer.Option("-o", "--out", help="Keeps the project in this folder.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Prints one line of JSON and nothing else.")] = False,
    passes: PassesOption = "all",
    free_rounding: RoundingOption = False,
    runtime: RuntimeOption = "libtorch",
    static: StaticOption = False,
) -> None:
    """Measures the C++ against Python and other compilers on the file's inputs, all in turns."""
    from torch2cpp.bench.measure import Effort
    from torch2cpp.bench.run import bench as run_bench

    with _reporting(as_json), _folder(out) as folder, _prints_to_stderr(as_json) as answer:
        _check_static(static, runtime)
        rivals = choose_rivals([name for name in against.split(",") if name])
        options = Options(
            # Without libtorch there is one backend to choose from.
            backend=DEFAULT if runtime == "slim" and backend == AUTO else backend,
            out=folder,
            passes=choose_passes(passes),
            threads=threads,
            free_rounding=free_rounding,
            runtime=runtime,
            static=static,
        )
        project, _ = _project(file, options, entry, as_json)
        with _progress(as_json) as step:
            project.build(runner=False, progress=lambda done, of, what: step(f"build {done}/{of}", what))
            effort = Effort(seconds=seconds)
            result = run_bench(
                project,
                rivals,
                effort=effort,
                inputs=inputs,
                ablate=ablate,
                start=start,
                step=lambda what: step(what, ""),
            )
        if as_json:
            answer(result.as_json())
            return
        Console().print(result.table())
        for note in result.notes():
            _err.print(note, markup=False, highlight=False)


@app.command()
def explain(
    file: FileArgument, entry: EntryOption = None, dump_dir: DumpOption = None, passes: PassesOption = "all"
) -> None:
    """Shows what is static, host or tensor, the host IR and the regions; builds nothing."""
    from torch2cpp.explain import explain as explain_program
    from torch2cpp.pipeline import analyse

    with _reporting(False):
        chosen = Options(dump_dir=dump_dir, passes=choose_passes(passes))
        _, options, model, inputs = _made(file, chosen, entry)
        print(explain_program(analyse(model, inputs, options)))


def _project(file: str, options: Options, entry: str | None, quiet: bool) -> tuple[Any, ModelFile]:
    # Imported here: they bring in torch's compiler, which `--help` need not wait for.
    import copy

    from torch2cpp.pipeline import transpile
    from torch2cpp.project import Project

    model_file, options, model, inputs = _made(file, options, entry)
    pristine = copy.deepcopy(model)
    with _progress(quiet) as step:
        transpiled = transpile(model, inputs, options, lambda stage: step(stage, ""))
    return Project(pristine, transpiled), model_file


def _transpiled(file: str, options: Options, entry: str | None, again: bool) -> str:
    """Writes the project unless it is there already; gives its name."""
    from torch2cpp.up_to_date import fingerprint, is_up_to_date, name_of

    _, options, model, inputs = _made(file, options, entry)
    mark = fingerprint(model, inputs, options)
    if not again and is_up_to_date(options.out, mark):
        _err.print("nothing has changed: not transpiled again")
        return name_of(options.out)

    from torch2cpp.memory.plan import plan_memory
    from torch2cpp.pipeline import transpile

    with _progress(False) as step:
        options = replace(options, fingerprint=mark or "")
        done = transpile(model, inputs, options, lambda stage: step(stage, ""))
        if options.max_sizes:
            step("memory", "")
            plan_memory(done.program, done.view, done.calls, options)
        return done.view.namespace


def _made(file: str, options: Options, entry: str | None) -> tuple[ModelFile, Options, Any, Any]:
    """The model file, the options with what it says, its model and its inputs."""
    model_file = load_model_file(file)
    return model_file, _with_file(options, model_file, entry), model_file.make_model(), model_file.make_inputs()


def _with_file(options: Options, file: ModelFile, entry: str | None) -> Options:
    return replace(
        options,
        name=file.name,
        entries=(entry,) if entry else file.entries,
        stateful=file.stateful,
        dynamic_shapes=file.dynamic_shapes,
        pin=file.pin,
    )


@contextmanager
def _folder(out: Path | None) -> Iterator[Path]:
    """The folder given, or one that goes away."""
    if out is not None:
        yield out
        return
    with tempfile.TemporaryDirectory(prefix="torch2cpp_") as name:
        yield Path(name) / "project"


@contextmanager
def _prints_to_stderr(wanted: bool) -> Iterator[Callable[[str], None]]:
    """Sends what the model prints, in Python and in C++, to standard error; gives a function for the answer."""
    if not wanted:
        yield print
        return
    answers: list[str] = []
    sys.stdout.flush()
    before = os.dup(1)
    os.dup2(2, 1)
    try:
        with redirect_stdout(sys.stderr):
            yield answers.append
    finally:
        # What C++ printed is still in its buffer, or in ours.
        ctypes.CDLL(None).fflush(None)
        os.dup2(before, 1)
        os.close(before)
        for line in answers:
            print(line)


@contextmanager
def _reporting(as_json: bool) -> Iterator[None]:
    """Turns exceptions into messages and exit codes."""
    try:
        yield
    except typer.Exit:
        raise
    except _USER_ERRORS as error:
        _fail(str(error), REFUSED, as_json)
    except Exception as error:
        _err.print(traceback.format_exc(), markup=False, highlight=False)
        _err.print("This is a fault of torch2cpp, not of your model. Please report it with the text above.")
        _fail(f"{type(error).__name__}: {error}", FAULT, as_json, printed=True)


def _fail(message: str, code: int, as_json: bool, printed: bool = False) -> None:
    if as_json:
        print(Verdict(error=message).as_json())
    elif not printed:
        _err.print(message, markup=False, highlight=False)
    raise typer.Exit(code)


@contextmanager
def _progress(quiet: bool) -> Iterator[Callable[[str, str], None]]:
    """A function that shows the current step."""
    if quiet or not sys.stderr.isatty():
        yield (lambda stage, _: None) if quiet else _plain_steps()
        return
    columns = (SpinnerColumn(), TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn())
    with Progress(*columns, console=_err, transient=True) as progress:
        task = progress.add_task("", total=None)
        yield lambda stage, what: progress.update(task, description=f"{stage} {what}"[:60])


def _plain_steps() -> Callable[[str, str], None]:
    last = ""

    def step(stage: str, _: str) -> None:
        nonlocal last
        name = stage.split()[0]
        if name != last:
            last = name
            _err.print(f"... {name}", highlight=False)

    return step


# Last, as it comes last in the list of commands.
register(app)
