"""What the C++ is measured against."""

from __future__ import annotations

import contextlib
import copy
import time
from collections.abc import Callable, Sequence
from typing import Any, Protocol, final

import torch

from torch2cpp.backends.exported.export import quiet
from torch2cpp.bench.snapshot import Snapshot
from torch2cpp.parity.run import Outcome, call, compare_outcomes

#: Calls as the pipeline has them: entry and arguments.
Calls = Sequence[tuple[str, tuple[Any, ...]]]


class CannotRun(Exception):
    """A rival cannot run the model; the message is the reason, in one line."""


class Rival(Protocol):
    """One way to run the model."""

    @property
    def name(self) -> str:
        """Its name in the result."""

    def reset(self) -> None:
        """Sets the model's state back to what it was before the first call."""

    def timed(self, number: int) -> float:
        """Makes the call of this number and gives the seconds it took."""


def clock(run: Callable[[], Any]) -> float:
    """Seconds of a call. The model's own exceptions are results like any other."""
    start = time.perf_counter()
    with contextlib.suppress(Exception):
        run()
    return time.perf_counter() - start


@final
class PythonRival:
    """A module or function called from Python; `wrap` makes the model into what is called."""

    def __init__(
        self, name: str, model: Any, calls: Calls, wrap: Callable[[Any], Any], *, stateful: bool, writes: bool
    ) -> None:
        self.name = name
        self._calls = calls
        #: Whether calls change the model.
        self._stateful = stateful
        #: Whether calls write to their arguments, which then are fresh ones each time.
        self._writes = writes
        mine = copy.deepcopy(model)
        self._snapshot = Snapshot(mine)
        self._made = wrap(mine)
        self._pristine = copy.deepcopy(self._made) if isinstance(self._made, torch.jit.ScriptModule) else None

    def reset(self) -> None:
        """Sets the state back, where calls change it; what was compiled stays compiled."""
        if self._stateful and self._pristine is not None:
            self._made = copy.deepcopy(self._pristine)
        elif self._stateful:
            self._snapshot.restore()

    def timed(self, number: int) -> float:
        """Calls the entry; what the call needs is made before."""
        return clock(self.prepare(number))

    def prepare(self, number: int) -> Callable[[], Any]:
        """A function that calls the entry with the arguments of the call."""
        entry, args = self._calls[number]
        function = method(self._made, entry)
        mine = copy.deepcopy(args) if self._writes else args
        return lambda: function(*mine)


def method(instance: Any, entry: str) -> Callable[..., Any]:
    """An entry of a model; calling a module runs its hooks too, and a plain function is its own only entry."""
    found: Callable[..., Any] = getattr(instance, entry, instance) if entry != "forward" else instance
    return found


def compiled(entries: Sequence[str]) -> Callable[[Any], Any]:
    """torch.compile with its own defaults."""

    def wrap(model: Any) -> Any:
        if tuple(entries) == ("forward",) or not isinstance(model, torch.nn.Module):
            return torch.compile(model)
        for entry in entries:
            setattr(model, entry, torch.compile(getattr(model, entry)))
        return model

    return wrap


def scripted(entries: Sequence[str]) -> Callable[[Any], Any]:
    """Frozen TorchScript, for models that script at all. Raises CannotRun."""

    def wrap(model: Any) -> Any:
        if not isinstance(model, torch.nn.Module):
            return torch.jit.script(model)
        others = [entry for entry in entries if entry != "forward"]
        for entry in others:
            setattr(model, entry, torch.jit.export(getattr(model, entry)))
        return torch.jit.freeze(torch.jit.script(model.eval()), preserved_attrs=others or None)

    return wrap


def checked(make: Callable[[], PythonRival], wanted: Sequence[Outcome], resets: bool) -> PythonRival:
    """A rival that runs every call and gives Python's results. Raises CannotRun.

    Each call runs three times, so that what compiles on first calls has done so.
    """
    try:
        with quiet(), torch.no_grad():
            rival = make()
            for _ in range(3):
                rival.reset()
                got = []
                for number in range(len(wanted)):
                    if resets:
                        rival.reset()
                    run = rival.prepare(number)
                    got.append(call(run, ()))
    except CannotRun:
        raise
    except Exception as error:
        raise CannotRun(one_line(error)) from error
    for number, (want, outcome) in enumerate(zip(wanted, got, strict=True)):
        if outcome.raised and not want.raised:
            raise CannotRun(f"input {number}: {outcome.raised}: {outcome.message.strip().splitlines()[0]}"[:300])
        found = compare_outcomes(Outcome(want.value, want.raised, want.message), _plain(outcome), exact=False)
        if not found.equal and not want.raised:
            raise CannotRun(f"input {number}: another result than Python's: {found.differences[0]}"[:300])
    return rival


def _plain(outcome: Outcome) -> Outcome:
    return Outcome(outcome.value, outcome.raised, outcome.message)


def one_line(error: BaseException) -> str:
    """Type of an error and the beginning of its message."""
    return f"{type(error).__name__}: {' '.join(str(error).split())}"[:300]
