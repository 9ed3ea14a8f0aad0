"""The emitted C++, called through its Python module."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any, final

from torch2cpp.bench.rivals import Calls, clock
from torch2cpp.project import Project


@final
class Emitted:
    """A built project's class; tensors go in and out without copies."""

    def __init__(self, name: str, project: Project, calls: Calls, writes: bool) -> None:
        self.name = name
        self._project = project
        self._calls = calls
        self._writes = writes
        self._loaded = project.load()

    def reset(self) -> None:
        """The state before the first call."""
        if self._project.transpiled.view.stateful:
            getattr(self._loaded.instance, self._project.transpiled.view.state_methods.reset)()

    def timed(self, number: int) -> float:
        """Calls the entry's C++ method; what the call needs is made before."""
        return clock(self.prepare(number))

    def prepare(self, number: int) -> Callable[[], Any]:
        """A function that calls the entry's C++ method."""
        entry, args = self._calls[number]
        function = getattr(self._loaded.instance, entry)
        mine = copy.deepcopy(args) if self._writes else args
        return lambda: function(*mine)


@final
class RegionsOnly:
    """The same C++ with its clock on: how long a call spends in regions."""

    name = "regions_only"

    def __init__(self, emitted: Emitted, project: Project) -> None:
        self._emitted = emitted
        self._module = project.module

    def reset(self) -> None:
        """As the C++ itself."""
        self._emitted.reset()

    def timed(self, number: int) -> float:
        """Runs the call once and gives the sum over its regions."""
        run = self._emitted.prepare(number)
        self._module._set_profiling(True)
        clock(run)
        times: dict[str, tuple[int, float]] = self._module._region_times()
        self._module._set_profiling(False)
        return sum(seconds for _, seconds in times.values())
