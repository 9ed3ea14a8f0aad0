"""Calls of library code: every path through it that sizes and numbers of run time can make it take.

The code runs once for each path. Where it comes to a decision that is not settled (Split), a branch
is made, and the code is run again for either way, taking what came before from the record. Each path
is then run in two more sample worlds, with other values for everything that varies: what comes out
otherwise there is no record of the code, and the call is refused.
"""

from __future__ import annotations

import dataclasses
import dis
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, final

from torch2cpp.binding.context import Context
from torch2cpp.binding.control import branch
from torch2cpp.binding.convert import resolve
from torch2cpp.binding.traced.effects import Snapshot
from torch2cpp.binding.traced.objects import library_class, object_key, with_content
from torch2cpp.binding.traced.outcome import Outcome, commit, outcome_of, signature
from torch2cpp.binding.traced.record import NeverTaken, Split, Step, Stopped
from torch2cpp.binding.traced.sampling import Samples
from torch2cpp.binding.traced.stand_ins import Untraceable
from torch2cpp.binding.traced.templates import Node, fill
from torch2cpp.binding.traced.tracer import Tracer
from torch2cpp.binding.values import WORLDS, AbsVal, DictObj, Host, ListObj, Rt, Static, Sym, Tensor, Tup
from torch2cpp.hostir.ops import Block, If, Raise, Yield
from torch2cpp.hostir.types import OptionalType

#: Decisions on one path that split it.
_MOST_SPLITS = 6


class NotTraced(Exception):
    """The call cannot be taken as a whole; says why."""


class TooManyPaths(NotTraced):
    """It depends on more sizes than can be told apart."""


class _TooManySplits(Untraceable):
    """See TooManyPaths."""


@final
@dataclass(frozen=True, slots=True)
class Job:
    """One call of library code."""

    function: Callable[..., Any]
    args: tuple[AbsVal, ...]
    kwargs: dict[str, AbsVal]
    #: What it is called in messages.
    name: str
    #: Objects of libraries among the arguments, innermost first: heap id -> (value, template, holes).
    objects: dict[int, tuple[AbsVal, Node, dict[str, AbsVal]]] = field(default_factory=dict)
    #: Whether sizes in an object that were the same in all samples are taken to be equal, and checked at run time.
    checks_sizes: bool = False


def call_whole(cx: Context, function: Callable[..., Any], args: list[AbsVal], kwargs: dict[str, AbsVal],
               name: str) -> AbsVal:  # fmt: skip
    """Calls library code on abstract values as one piece. Raises NotTraced with the reason."""
    job = Job(function, tuple(args), dict(kwargs), name)
    try:
        with _traced(cx):
            return _with_objects(cx, job)
    except TooManyPaths:
        with _traced(cx):
            return _with_objects(cx, dataclasses.replace(job, checks_sizes=True))


@contextmanager
def _traced(cx: Context) -> Iterator[None]:
    """Turns Untraceable into NotTraced, with nothing left of what was emitted."""
    try:
        with attempt(cx, Untraceable):
            yield
    except _TooManySplits as error:
        raise TooManyPaths(str(error)) from error
    except Untraceable as error:
        raise NotTraced(str(error)) from error


@contextmanager
def attempt(cx: Context, failure: type[BaseException]) -> Iterator[None]:
    """Nothing remains of what the body emitted and changed where it raises `failure`."""
    block, state, strict = cx.block, cx.state, cx.strict
    saved: list[tuple[Any, Any]] = [(table, table.copy()) for table in (cx.functions, cx.cells)]
    exits = [(label, len(label.exits)) for label in cx.labels]
    scratch = Block()
    cx.block, cx.state, cx.strict = scratch, state.copy(), True
    done = True
    try:
        yield
    except failure:
        done = False
        cx.state = state
        for label, n in exits:
            del label.exits[n:]
        for table, before in saved:
            table.clear()
            table.update(before)
        raise
    finally:
        cx.block, cx.strict = block, strict
        if done:
            block.ops.extend(scratch.ops)
            for path in (p for label in cx.labels for p in label.exits if p.block is scratch):
                path.block = block


# Arguments -----------------------------------------------------------------------------------------


def _with_objects(cx: Context, job: Job) -> AbsVal:
    """Settles what of the arguments may be one thing or another, then explores."""
    for v in _inner(cx, _arguments(job)):
        o = resolve(cx, v)
        if isinstance(o, Rt) and isinstance(o.type, OptionalType):
            return _with_optional(cx, job, v, o)
        if library_class(cx, v) is not None:
            if object_key(v) not in job.objects:

                def content(template: Node, holes: dict[str, AbsVal], v: AbsVal = v) -> AbsVal:
                    objects = {object_key(v): (v, template, holes), **job.objects}
                    return _with_objects(cx, dataclasses.replace(job, objects=objects))

                return with_content(cx, v, content)
    return _explore(cx, job, [], 0, _check_sizes(cx, job) if job.checks_sizes else {})


def _check_sizes(cx: Context, job: Job) -> dict[int, int]:
    """Raises at run time where sizes in an object differ that are taken to be equal (the lengths of a cache's layers).

    Gives the groups of these sizes, as `Samples` takes them.
    """
    groups: dict[Any, list[tuple[Tensor, int]]] = {}
    for key, (_, _, holes) in job.objects.items():
        for o in (resolve(cx, h) for h in holes.values()):
            for i, d in enumerate(o.meta.dims if isinstance(o, Tensor) else ()):
                if isinstance(d, Sym):
                    groups.setdefault((key, o.rank, i, d.hints), []).append((o, i))
    alike: dict[int, int] = {}
    differ: Any = None
    for number, ((first, i), *others) in enumerate(groups.values()):
        alike[id(first.meta.dims[i])] = -1 - number
        for other, j in others:
            alike[id(other.meta.dims[j])] = -1 - number
            one = cx.host("ne", cx.host("tensor.size", first.operand, i), cx.host("tensor.size", other.operand, j))
            differ = one if differ is None else cx.host("or", differ, one)
    if differ is not None:
        message = f"{job.name}: sizes in an object differ that were equal in every example"
        raising = Block(ops=[Raise("RuntimeError", ("RuntimeError", "Exception"), message, cx.span)])
        cx.emit(If((), differ, raising, Block(ops=[Yield((), cx.span)]), cx.span))
    return alike


def _arguments(job: Job) -> list[AbsVal]:
    """Everything that the code is given, the contents of objects of libraries included."""
    return [*job.args, *job.kwargs.values(), *(h for _, _, holes in job.objects.values() for h in holes.values())]


def _inner(cx: Context, vals: list[AbsVal]) -> Iterator[AbsVal]:
    """The values themselves, and those inside of sequences and dicts of known length."""
    for v in vals:
        yield v
        match resolve(cx, v):
            case Tup() | ListObj() as o:
                yield from _inner(cx, list(o.elems))
            case DictObj() as o:
                yield from _inner(cx, list(o.items.values()))


def _with_optional(cx: Context, job: Job, v: AbsVal, optional: Rt) -> AbsVal:
    from torch2cpp.binding.optional import held, is_none

    if not any(v is a for a in (*job.args, *job.kwargs.values())):
        raise Untraceable("a container with a value that may be None is given to it")

    def swapped(to: AbsVal) -> Job:
        args = tuple(to if a is v else a for a in job.args)
        kwargs = {k: to if a is v else a for k, a in job.kwargs.items()}
        return dataclasses.replace(job, args=args, kwargs=kwargs)

    missing = is_none(cx, optional)
    if isinstance(missing, Static):
        return _with_objects(cx, swapped(Static(None) if missing.value else held(cx, optional)))
    return branch(
        cx,
        missing.operand,
        lambda: _with_objects(cx, swapped(Static(None))),
        lambda: _with_objects(cx, swapped(held(cx, optional))),
        job.name,
        cx.span,
    )


# Paths -----------------------------------------------------------------------------------------------


def _explore(cx: Context, job: Job, steps: list[Step], depth: int, alike: dict[int, int]) -> AbsVal:
    samples = Samples(_leaves(cx, job), alike)
    tracer = Tracer(cx, steps, samples, 0, recording=True)
    try:
        out = _run(job, tracer)
    except Split as split:
        if depth == _MOST_SPLITS:
            raise _TooManySplits(f"it decides by more than {_MOST_SPLITS} things of run time") from split
        condition = split.condition

        def way(taken: bool) -> AbsVal:
            return _explore(cx, job, [*tracer.steps, Step("decision", taken, (), condition)], depth + 1, alike)

        return branch(cx, condition, lambda: way(True), lambda: way(False), job.name, cx.span)
    except Stopped as stopped:
        raise stopped.inner from None
    except NeverTaken:
        if depth == 0:
            raise Untraceable("no sample sizes lead through it") from None
        cx.raise_(RuntimeError, f"{job.name}: sizes that it was not recorded for")
    except Exception as error:
        if depth == 0 or not _raised_on_purpose(error):
            raise Untraceable(f"it raises {type(error).__name__}: {error}") from error
        cx.raise_(type(error), str(error))
    for world in range(1, WORLDS):
        again = Tracer(cx, steps, samples, world, recording=False)
        try:
            other = _run(job, again)
        except (Split, Stopped, NeverTaken, Exception) as error:
            raise Untraceable(f"with other sizes it gives {type(error).__name__}: {error}") from error
        if signature(other) != signature(out):
            raise Untraceable("its result holds a size of run time as a constant, or differs from run to run")
    return commit(cx, out, job.objects)


def _leaves(cx: Context, job: Job) -> list[Tensor | Host]:
    found = [resolve(cx, v) for v in _inner(cx, _arguments(job))]
    return [o for o in found if isinstance(o, Tensor | Host)]


def _run(job: Job, tracer: Tracer) -> Outcome:
    """One run of the code, with nothing changed that outlives it."""
    before = Snapshot([job.function, *(a.value for a in (*job.args, *job.kwargs.values()) if isinstance(a, Static))])
    made: list[tuple[int, Any]] = []

    def action() -> Any:
        for key, (_, template, holes) in job.objects.items():
            made.append((key, fill(template, lambda name, holes=holes: tracer.stand_in(holes[name]), {})))  # type: ignore[misc]
            tracer.objects[key] = made[-1][1]
        args = [tracer.stand_in(a) for a in job.args]
        kwargs = {k: tracer.stand_in(v) for k, v in job.kwargs.items()}
        return job.function(*args, **kwargs)

    try:
        result = tracer.run(action)
        outcome = outcome_of(tracer, result, made, before)
    finally:
        changed = before.restore()
    if changed is not None:
        raise Untraceable(f"it changes an attribute: {changed}")
    if any(list(now) != list(then) for now, then in tracer.containers):
        raise Untraceable("it changes a container that it is given")
    return outcome


def _raised_on_purpose(error: BaseException) -> bool:
    """Whether a `raise` statement made the exception, not an operation on a stand-in."""
    tb = error.__traceback__
    while tb is not None and tb.tb_next is not None:
        tb = tb.tb_next
    if tb is None:
        return False
    return dis.opname[tb.tb_frame.f_code.co_code[tb.tb_lasti]] == "RAISE_VARARGS"
