"""The stages in order. Read this first; nothing else calls two stages.

    bind            nn.Module + entry + examples -> host IR            frontend/, binding/
    stages          host IR -> host IR                                 passes/order.py
    observe         runs the examples on the reference interpreter     hostir/interpret.py
    compile         regions -> checked C++ units                       regions/, backends/
    emit            program + units -> C++ project                     emit/
    record          the examples through Python -> golden/             parity/

Building and checking the project follow in `project.Project`, since they can be done again.
"""

from __future__ import annotations

import copy
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, final

from torch2cpp.backends.compile_regions import RegionOptions, compile_regions
from torch2cpp.backends.protocol import CompiledRegions
from torch2cpp.backends.registry import REFERENCE
from torch2cpp.backends.runtimes import choose_runtime
from torch2cpp.backends.served import check_served
from torch2cpp.diagnostics import SignatureError
from torch2cpp.emit.names import namespace_identifier
from torch2cpp.emit.view_model import ProjectView
from torch2cpp.emit.write_project import write_project
from torch2cpp.frontend.eager import eager
from torch2cpp.hostir.interpret import Interpreter
from torch2cpp.hostir.printer import print_program
from torch2cpp.hostir.program import Program
from torch2cpp.hostir.pyerror import PyError
from torch2cpp.hostir.verify import verify
from torch2cpp.memory.sizes import SizesError
from torch2cpp.options import Options
from torch2cpp.parity.coverage import Coverage, coverage
from torch2cpp.parity.golden import write_golden
from torch2cpp.parity.rounding import growing
from torch2cpp.parity.run import Outcome, call
from torch2cpp.passes.order import STAGE_NAMES, stages
from torch2cpp.regions.image_borders import image_groups
from torch2cpp.toolchain.targets.toolchain import toolchain_of
from torch2cpp.toolchain.threads import using_threads
from torch2cpp.toolchain.tools import cache_folder

#: Names of all stages, as `--dump-dir` numbers them.
STAGES = ("bind", *STAGE_NAMES, "observe", "compile", "emit", "record")

#: Called with the name of each stage as it begins.
Report = Callable[[str], None]


@final
@dataclass(frozen=True, slots=True)
class Observed:
    """What the examples did on the reference interpreter."""

    coverage: Coverage
    #: Inputs of region calls, by region.
    captured: Mapping[str, Sequence[tuple[Any, ...]]]


@final
@dataclass(frozen=True, slots=True)
class Transpiled:
    """The emitted project and what is known about it."""

    options: Options
    program: Program
    compiled: CompiledRegions
    view: ProjectView
    observed: Observed
    #: The examples as calls, and what Python gave for each.
    calls: tuple[tuple[str, tuple[Any, ...]], ...]
    outcomes: tuple[Outcome, ...]
    seconds: float


@final
@dataclass(slots=True)
class Dump:
    """Writes one numbered text per stage into a folder, or nothing."""

    folder: Path | None
    _written: int = field(default=0)

    def write(self, stage: str, text: str) -> None:
        """The text of a stage."""
        self._written += 1
        if self.folder is not None:
            self.folder.mkdir(parents=True, exist_ok=True)
            (self.folder / f"{self._written:02}_{stage}.txt").write_text(text)


#: Calls to make: entry and arguments.
Calls = Sequence[tuple[str, Sequence[Any]]]


def calls_of(examples: Any, entries: Sequence[str]) -> list[tuple[str, tuple[Any, ...]]]:
    """Examples as calls in order.

    They are argument tuples of the first entry, or a dict of entries with theirs, or, where there are
    several entries, pairs of an entry and its arguments. Raises SignatureError for an entry that is not there.

    >>> calls_of([(1, 2), 3], ["forward"])
    [('forward', (1, 2)), ('forward', (3,))]
    >>> calls_of([("forward", (1,)), ("reset", ()), ("forward", (2,))], ["forward", "reset"])
    [('forward', (1,)), ('reset', ()), ('forward', (2,))]
    """
    if isinstance(examples, dict):
        pairs = [(entry, args) for entry in entries for args in examples.get(entry, ())]
        unknown = sorted(set(examples) - set(entries))
    elif len(entries) > 1 and all(_is_call(each) for each in examples):
        pairs = list(examples)
        unknown = sorted({entry for entry, _ in pairs} - set(entries))
    else:
        pairs, unknown = [(entries[0], args) for args in examples], []
    if unknown:
        raise SignatureError(f"examples of {', '.join(unknown)}, which is none of the entries {', '.join(entries)}")
    return [(entry, args if isinstance(args, tuple) else (args,)) for entry, args in pairs]


def _is_call(example: Any) -> bool:
    return isinstance(example, tuple) and len(example) == 2 and isinstance(example[0], str)


def by_entry(calls: Calls) -> dict[str, Sequence[Any]]:
    """The arguments of calls, by their entry."""
    entries = dict.fromkeys(entry for entry, _ in calls)
    return {entry: [tuple(args) for e, args in calls if e == entry] for entry in entries}


def analyse(model: Any, examples: Any, options: Options, report: Report = lambda _: None,
            dump: Dump | None = None) -> Program:  # fmt: skip
    """The first half: the program with its regions, not compiled. Raises diagnostics.Refused."""
    from torch2cpp.binding.entry import bind

    dump = dump or Dump(options.dump_dir)
    model = eager(model)
    report("bind")
    calls = calls_of(examples, options.entries)
    program = bind(
        model,
        by_entry(calls) or {options.entries[0]: []},
        entries=list(options.entries),
        dynamic_shapes=options.dynamic_shapes,
        pin=dict(options.pin),
    )
    if options.name:
        program.name = namespace_identifier(options.name)
    _stage(program, "bind", options, dump)
    for name, change in stages(options.passes):
        report(name)
        program = change(program)
        _stage(program, name, options, dump)
    return program


def transpile(model: Any, examples: Any, options: Options, report: Report = lambda _: None) -> Transpiled:
    """All stages up to the emitted project. Raises diagnostics.Refused for what cannot be transpiled."""
    with using_threads(options.threads):
        return _transpile(model, examples, options, report)


def _transpile(model: Any, examples: Any, options: Options, report: Report) -> Transpiled:
    started = time.perf_counter()
    # What is missing is told before any work.
    toolchain_of(options.machine)
    check_served(options.backend, options.machine)
    if options.max_sizes and not choose_runtime(options.runtime).is_slim:
        raise SizesError("the largest sizes of inputs are for programs without libtorch, which has its own memory")
    dump = Dump(options.dump_dir)
    model = eager(model)
    # Python's own results come from a model that binding has not looked at.
    pristine = copy.deepcopy(model)
    program = analyse(model, examples, options, report, dump)

    report("observe")
    calls = calls_of(examples, options.entries)
    observed = observe(program, calls, options.stateful)
    dump.write("observe", _observed_text(observed))

    report("compile")
    region_options = _region_options(program, calls, observed, options)
    compiled = compile_regions(program.regions.values(), program.weights, region_options)
    dump.write("compile", _compiled_text(compiled))

    report("emit")
    view = write_project(
        program,
        compiled,
        options.out,
        options.described,
        options.profile,
        options.fingerprint,
        options.machine,
        choose_runtime(options.runtime),
        bool(options.max_sizes),
    )
    dump.write("emit", _emitted_text(options.out))

    report("record")
    outcomes = run_python(pristine, calls, options.stateful or not view.stateful)
    cases = [(entry, args, outcome) for (entry, args), outcome in zip(calls, outcomes)]
    golden = options.out / "golden"
    exact = is_exact(compiled, options)
    written = write_golden(golden, program, cases, exact=exact, stateful=options.stateful)
    dump.write("record", f"{written} cases\n")
    seconds = time.perf_counter() - started
    return Transpiled(options, program, compiled, view, observed, tuple(calls), tuple(outcomes), seconds)


def is_exact(compiled: CompiledRegions, options: Options) -> bool:
    """Whether results must be equal bit for bit: every region runs the very kernels of ATen that Python runs."""
    return options.machine.native and all(report.chosen == REFERENCE for report in compiled.reports)


def run_python(model: Any, calls: Calls, stateful: bool) -> list[Outcome]:
    """The calls through Python: on one instance when `stateful`, else each on a fresh copy of the model.

    A model that keeps nothing between calls needs no copies: they take long for large ones.
    """

    def function(instance: Any, entry: str) -> Callable[..., Any]:
        # Calling the module runs its hooks too; a plain function is its own only entry.
        found: Callable[..., Any] = getattr(instance, entry, instance) if entry != "forward" else instance
        return found

    if stateful:
        shared = copy.deepcopy(model)
        return [call(function(shared, entry), args) for entry, args in calls]
    return [call(function(copy.deepcopy(model), entry), args) for entry, args in calls]


def observe(program: Program, calls: Calls, stateful: bool) -> Observed:
    """Runs the calls on the reference interpreter: which branches they take, what regions are given."""
    interpreter = Interpreter(program, capture=4)
    for entry, args in calls:
        if not stateful:
            interpreter.reset()
        try:
            interpreter.run(entry, args)
        except PyError:
            # The example shows an exception of the model's own; parity compares it.
            continue
    return Observed(coverage(program, [interpreter]), interpreter.captured)


def _region_options(program: Program, calls: Calls, observed: Observed, options: Options) -> RegionOptions:
    below = choose_runtime(options.runtime)
    return RegionOptions(
        namespace=namespace_identifier(program.name),
        work=options.out / "build" / "regions_check",
        cache=cache_folder(),
        backend=options.backend,
        target=options.machine,
        runtime=below,
        image_groups=() if below.is_slim else image_groups(program),
        recorded=observed.captured,
        # The reference backend has nothing to be compared with but the whole program's parity.
        verify=options.verify_regions and options.backend != REFERENCE,
        # Where there is no libtorch, no backend rounds as eager does.
        grows=None
        if options.free_rounding or below.is_slim
        else lambda each: growing(program, calls, options.stateful, each),
    )


def _stage(program: Program, name: str, options: Options, dump: Dump) -> None:
    dump.write(name, print_program(program))
    if options.verify_ir:
        verify(program)


def _observed_text(observed: Observed) -> str:
    lines = [f"{len(observed.coverage.taken)} of {len(observed.coverage.ways)} ways of branches taken"]
    lines += [f"not taken: {span} {way}" for span, way in observed.coverage.missed]
    lines += [f"region {name}: {len(calls)} inputs kept" for name, calls in sorted(observed.captured.items())]
    return "\n".join(lines) + "\n"


def _compiled_text(compiled: CompiledRegions) -> str:
    lines = []
    for report in compiled.reports:
        lines.append(f"{report.region}: {report.chosen}, checked on {report.samples} inputs")
        lines += [f"  {b} ({s}): {'-' if e is None else f'{e:.3g}'} {why}" for b, s, e, why in report.tried]
    return "\n".join(lines) + "\n"


def _emitted_text(folder: Path) -> str:
    mine = [
        p
        for p in sorted(folder.rglob("*"))
        if p.is_file() and p.relative_to(folder).parts[0] not in ("build", "runtime")
    ]
    return "".join(f"{p.relative_to(folder)} {len(p.read_bytes().splitlines())}\n" for p in mine)
