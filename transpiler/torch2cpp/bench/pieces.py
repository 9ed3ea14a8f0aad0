"""DyCL's own way: each branch-free piece exported to ONNX and run by ONNX Runtime, driven from Python.

The pieces are the program's regions. Which of them run for an input, and on what, is recorded once on the
reference interpreter; a timed call runs them one after the other as a Python host module does: tensors
become numpy arrays, a session runs, its results become tensors. Python's own decisions between the
pieces are not counted, which favours this rival.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, final

import torch

from torch2cpp.backends.exported.export import NotExportable, short_reason
from torch2cpp.backends.protocol import Context, Target
from torch2cpp.bench.rivals import Calls, CannotRun, clock
from torch2cpp.hostir.interpret import Interpreter
from torch2cpp.hostir.program import Program, Region
from torch2cpp.hostir.pyerror import PyError
from torch2cpp.regions.run_eager import run_region
from torch2cpp.regions.samples import Sample, clone, make_samples
from torch2cpp.regions.share import share


@final
class Pieces:
    """All calls as their pieces. Raises CannotRun where no piece has an ONNX graph."""

    name = "onnxruntime"

    def __init__(self, program: Program, calls: Calls, resets: bool, cache: Path, threads: int) -> None:
        recorded = record(program, calls, resets)
        self._program = program
        self._threads = threads
        self._cache = cache
        #: Regions without an ONNX graph, which run eagerly, and why.
        self.refused: dict[str, str] = {}
        self._run = self._runners(recorded)
        self._calls = [[(self._run[r.name], args) for r, args in each] for each in recorded]
        if not self._run or len(self.refused) == len(self._run):
            raise CannotRun(next(iter(self.refused.values()), "it has no regions"))

    def reset(self) -> None:
        """Nothing: the inputs of every piece are recorded."""

    def timed(self, number: int) -> float:
        """Runs the pieces of one call in order."""
        steps = self._calls[number]

        def run() -> None:
            for piece, args in steps:
                piece(args)

        return clock(run)

    def _runners(self, recorded: Sequence[Sequence[tuple[Region, Sample]]]) -> dict[str, Callable[[Sample], Any]]:
        sharing = share(self._program.regions.values())
        samples: dict[str, list[Sample]] = {}
        used: dict[str, Region] = {}
        for each in recorded:
            for region, args in each:
                used[region.name] = region
                samples.setdefault(sharing.instances[region.name][0].name, []).append(args)
        for distinct in (d for d in sharing.distinct if d.name in samples):
            # Those recorded come first; the others are for sizes of 1, which the exporter would take for constants.
            made = make_samples(distinct.region, self._program.weights, samples[distinct.name])
            samples[distinct.name] = made or samples[distinct.name]
        context = Context(self._program.name, Target(), samples, self._program.weights, self._cache)
        out: dict[str, Callable[[Sample], Any]] = {}
        for name, region in used.items():
            distinct, weights = sharing.instances[name]
            try:
                out[name] = _session(distinct, weights, context, self._threads)
            except Exception as error:  # the exporter's refusals and ONNX Runtime's are alike here
                self.refused[name] = str(error) if isinstance(error, NotExportable) else short_reason(error)
                out[name] = _eager(region, self._program.weights)
        return out


def record(program: Program, calls: Calls, resets: bool) -> list[list[tuple[Region, Sample]]]:
    """The regions that each call runs, in order, with their inputs."""
    out: list[list[tuple[Region, Sample]]] = []
    interpreter = Interpreter(program, on_region=lambda region, args: out[-1].append((region, clone(args))))
    for entry, args in calls:
        if resets:
            interpreter.reset()
        out.append([])
        try:
            interpreter.run(entry, args)
        except PyError:
            continue
    return out


def _eager(region: Region, weights: Mapping[str, torch.Tensor]) -> Callable[[Sample], Any]:
    return lambda args: run_region(region, args, weights)


def _session(distinct: Any, weights: Sequence[str], context: Context, threads: int) -> Callable[[Sample], Any]:
    """A session over the graph, with the weights of one instance. Raises NotExportable."""
    import onnxruntime  # type: ignore[import-untyped]

    from torch2cpp.backends.exported.engine_backend import WORTH_RUNNING
    from torch2cpp.backends.exported.suitable import unsuitable
    from torch2cpp.backends.onnxruntime.backend import exported_graph

    # Our own backend cuts regions around what the engine does otherwise, such as the order of equal elements; this
    # rival takes them whole.
    refusal = unsuitable(distinct.region, WORTH_RUNNING)
    if refusal is not None:
        raise NotExportable(refusal.reason)
    graph = exported_graph(distinct, context)
    inputs, outputs, names = graph["names"]
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    options.log_severity_level = 3
    arrays = [context.weights[w].detach().contiguous().numpy() for w in weights]
    values = [onnxruntime.OrtValue.ortvalue_from_numpy(a) for a in arrays]
    if values:
        options.add_external_initializers(list(names), values)
    session = onnxruntime.InferenceSession(graph["data"], options, providers=["CPUExecutionProvider"])

    def run(args: Sample) -> Any:
        feeds = {name: x.numpy(force=True) for name, x in zip(inputs, args)}
        return tuple(torch.from_numpy(a) for a in session.run(outputs, feeds))

    # A piece that does not run on what it is given has no time.
    first = context.samples[distinct.name][0]
    run(first)
    # The session reads the weights where they are.
    run.__dict__["keeps"] = (arrays, values)
    return run
