"""The Python API: `transpile(...)` gives a `Project` that can be built, checked and called."""

from __future__ import annotations

import copy
import importlib.util
import re
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, final

from torch import nn

if TYPE_CHECKING:
    from torch2cpp.bench.result import BenchResult

from torch2cpp.memory.plan import plan_memory
from torch2cpp.options import Options
from torch2cpp.parity.on_target import NotComparable, as_written, match_leaves, run_on_target
from torch2cpp.parity.run import Outcome, call
from torch2cpp.parity.verdict import Verdict, cover, judge
from torch2cpp.pipeline import Calls, Report, Transpiled, calls_of, is_exact, run_python
from torch2cpp.pipeline import transpile as run_pipeline
from torch2cpp.toolchain.build import Built, Progress, build
from torch2cpp.toolchain.targets.target import NATIVE, TargetError
from torch2cpp.toolchain.targets.toolchain import toolchain_of
from torch2cpp.toolchain.threads import using_threads


def transpile(
    model: nn.Module | Callable[..., Any],
    examples: Sequence[Any] | Mapping[str, Sequence[Any]],
    *,
    entry: str = "forward",
    entries: Sequence[str] | None = None,
    backend: str = "aotinductor",
    target: str = NATIVE,
    cpu: str | None = None,
    runtime: str = "libtorch",
    static: bool = False,
    max_sizes: Mapping[str, int] | None = None,
    threads: int | None = None,
    dynamic_shapes: Any = None,
    pin: Mapping[str, Any] | None = None,
    out: str | Path | None = None,
    name: str | None = None,
    stateful: bool = False,
    dump_dir: str | Path | None = None,
    report: Report = lambda _: None,
) -> Project:
    """Transpiles an entry of a model into a C++ project below `out`.

    `examples` are argument tuples; with several entries a dict of them by entry, or pairs of an entry and
    its arguments in the order of the calls. Together they should reach every branch. `entries` names all
    methods of one object to deploy; `stateful` says that the examples are
    successive calls on one instance; `threads` is how many tensor operations use while regions are compiled
    and checked; `target` is the machine the C++ is for, `cpu` its processor as `-mcpu=` knows it;
    with `runtime="slim"` the program needs no libtorch, and with `static` its runner no shared library at all;
    `max_sizes` are the largest sizes of such a program's inputs (`{"tokens[1]": 512}`, or by the names of
    `dynamic_shapes`), for which an instance takes its memory when it is made. Raises
    `toolchain.targets.target.TargetError` where that machine is not set up, `torch2cpp.Refused`, whose text
    says what cannot be transpiled, where, and what to write instead.
    """
    name = name or default_name(model)
    options = Options(
        name=name,
        entries=tuple(entries) if entries else (entry,),
        backend=backend,
        target=target,
        cpu=cpu,
        runtime=runtime,
        static=static,
        max_sizes=dict(max_sizes or {}),
        threads=threads,
        dynamic_shapes=dynamic_shapes,
        pin=dict(pin or {}),
        out=Path(out) if out is not None else Path("out") / name,
        dump_dir=Path(dump_dir) if dump_dir is not None else None,
        stateful=stateful,
    )
    pristine = copy.deepcopy(model)
    plain: Any = (
        dict(examples) if isinstance(examples, Mapping) else [e if isinstance(e, tuple) else (e,) for e in examples]
    )
    return Project(pristine, run_pipeline(model, plain, options, report))


def default_name(model: object) -> str:
    """`GreedyDecoder` -> `greedy_decoder`.

    >>> default_name(type("HTTPHead2d", (), {})())
    'http_head2d'
    """
    text = getattr(model, "__name__", None) or type(model).__name__
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", text).lower()


@final
class Project:
    """An emitted C++ project."""

    def __init__(self, model: Any, transpiled: Transpiled) -> None:
        self.model = model
        self.transpiled = transpiled
        self._built: Built | None = None
        self._module: ModuleType | None = None
        self._seconds_build = 0.0
        self._planned = False

    @property
    def folder(self) -> Path:
        """Where the project is."""
        return self.transpiled.options.out

    @property
    def name(self) -> str:
        """Namespace, library and package name."""
        return self.transpiled.view.namespace

    def build(
        self, *, python: bool = True, runner: bool = True, warnings: bool = False, progress: Progress | None = None
    ) -> Built:
        """Builds library, runner and pybind11 module; raises BuildFailed where the C++ does not compile.

        For another machine there is no module, and always the runner: it is what inputs are checked with.
        """
        started = time.perf_counter()
        target = self.transpiled.options.machine
        self.plan_memory()
        self._built = build(
            self.folder,
            self.name,
            python=python and target.native,
            runner=runner or not target.native,
            warnings=warnings,
            progress=progress,
            target=target,
            more={"TORCH2CPP_STATIC": "ON"} if self.transpiled.options.static else None,
        )
        self._seconds_build += time.perf_counter() - started
        return self._built

    def plan_memory(self) -> None:
        """Measures what instances take of memory for `max_sizes`, once; `build` does it. Raises SizesError."""
        done = self.transpiled
        if done.options.max_sizes and not self._planned:
            plan_memory(done.program, done.view, done.calls, done.options)
            self._planned = True

    def adopt(self, built: Built) -> None:
        """Takes binaries that something else built, such as `toolchain.build.build_together`."""
        self._built = built

    @property
    def seconds_build(self) -> float:
        """Seconds spent on building so far."""
        return self._seconds_build

    @property
    def module(self) -> ModuleType:
        """The loaded pybind11 module; builds it where that was not done. Raises TargetError for another machine's."""
        if not self.transpiled.options.machine.native:
            raise TargetError(f"a program for {self.transpiled.options.target} cannot be loaded here; check() runs it")
        if self._built is None or not self._built.module.exists():
            self.build(runner=False)
        assert self._built is not None
        if self._module is None:
            self._module = load_module(self.name, self._built.module)
        return self._module

    def load(self, weights: str | Path = "") -> Any:
        """A fresh C++ instance: callable as the model is, with one method per entry."""
        made = getattr(self.module, self.transpiled.view.class_name)
        return Loaded(made(str(weights or self.folder / "weights.safetensors")), self.transpiled.options.entries[0])

    def check(self, inputs: Sequence[Any] | Mapping[str, Sequence[Any]] | None = None) -> Verdict:
        """Compares C++ with Python on the inputs: values, nesting, exceptions, written arguments.

        Without inputs, on the examples; else on argument tuples, by entry where there are several.
        """
        with using_threads(self.transpiled.options.threads):
            return self._check(inputs)

    def _check(self, inputs: Sequence[Any] | Mapping[str, Sequence[Any]] | None) -> Verdict:
        stateful = self.transpiled.options.stateful
        if inputs is None:
            calls, want = list(self.transpiled.calls), list(self.transpiled.outcomes)
        else:
            calls = calls_of(inputs, self.transpiled.options.entries)
            want = run_python(self.model, calls, stateful or not self.transpiled.view.stateful)
        verdict = Verdict(seconds_transpile=self.transpiled.seconds, seconds_build=self._seconds_build)
        verdict.regions = len(self.transpiled.program.regions)
        verdict.distinct_regions = len(self.transpiled.compiled.reports)
        cover(verdict, self.transpiled.observed.coverage)
        exact = is_exact(self.transpiled.compiled, self.transpiled.options)
        if self.transpiled.options.machine.native:
            loaded = self.load()
            got = [self._call(loaded, entry, args, fresh=not stateful) for entry, args in calls]
            judge(verdict, want, got, exact)
            return verdict
        try:
            judge(verdict, *self._on_target(calls, want), exact)
        except NotComparable as error:
            verdict.error = f"{self.name} on {self.transpiled.options.target}: {error}"
        return verdict

    def _on_target(self, calls: Calls, want: list[Outcome]) -> tuple[list[Outcome], list[Outcome]]:
        """What Python and a program of another machine did, in the same form. Raises NotComparable."""
        built = self._built or self.build()
        program, toolchain = self.transpiled.program, toolchain_of(self.transpiled.options.machine)
        stateful = self.transpiled.options.stateful
        got = run_on_target(program, built.runner, calls, built.folder / "check", toolchain, stateful=stateful)
        written = [as_written(program, each, outcome) for each, outcome in zip(calls, want)]
        return written, [match_leaves(x, y) for x, y in zip(written, got)]

    def _call(self, loaded: Loaded, entry: str, args: Sequence[Any], fresh: bool) -> Outcome:
        if fresh and self.transpiled.view.stateful:
            getattr(loaded.instance, self.transpiled.view.state_methods.reset)()
        return call(getattr(loaded.instance, entry), args)

    def bench(self, against: Sequence[str] = ("eager",), *, ablate: bool = False) -> BenchResult:
        """Times on the examples, in turns with rivals: eager, compile, torchscript, onnxruntime."""
        from torch2cpp.bench.run import bench

        return bench(self, against, ablate=ablate)

    def explain(self) -> str:
        """Each source line marked static, host or tensor, the host IR, and the regions."""
        from torch2cpp.explain import explain

        return explain(self.transpiled.program)


@final
class Loaded:
    """A C++ instance that is called as the Python model is."""

    def __init__(self, instance: Any, entry: str) -> None:
        self.instance = instance
        self._entry = entry

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Calls the first entry."""
        return getattr(self.instance, self._entry)(*args, **kwargs)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.instance, name)


#: Modules loaded so far in this process, by their file.
_LOADED: dict[tuple[int, int, int], ModuleType] = {}


def load_module(name: str, path: Path) -> ModuleType:
    """Loads a built pybind11 module; each file is a module of its own, also after it was built again.

    pybind11 hands out the first module again for a name it has seen, wherever the file is; only the last part of
    a dotted name has to be the file's.
    """
    info = path.stat()
    key = (info.st_dev, info.st_ino, info.st_mtime_ns)
    if key not in _LOADED:
        spec = importlib.util.spec_from_file_location(f"torch2cpp_loaded_{len(_LOADED)}.{name}", path)
        assert spec is not None and spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        _LOADED[key] = module
    return _LOADED[key]
