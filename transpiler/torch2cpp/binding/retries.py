"""A fact about what a call or an iteration made itself: only that part is bound again, not the whole entry.

Each fact that is learned would otherwise cost a round over the program, and in what is unrolled, every iteration learns
its own. Nothing bound before the part can depend on a site that was not seen before it, so that binding the part
again gives what a whole round would.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from torch2cpp.binding.context import Context, Restart

T = TypeVar("T")

#: Times that one part is bound again by itself; after them the whole is, which has a limit of its own.
MOST = 100


def again_where_confined(cx: Context, action: Callable[[], T]) -> T:
    """What `action` gives; it runs again after a `Restart` for sites that it was the first to see.

    Raises Restart for any other.
    """
    place = _Place(cx)
    for _ in range(MOST):
        try:
            return action()
        except Restart as restart:
            if not place.confines(restart):
                raise
            place.go_back()
    return action()


class Mark:
    """A moment of binding: the operations and exits of after it can be dropped."""

    def __init__(self, cx: Context) -> None:
        self._block, self._ops = cx.block, len(cx.block.ops)
        self._exits = [(label, len(label.exits)) for label in cx.labels]

    def drop(self) -> None:
        del self._block.ops[self._ops :]
        for label, count in self._exits:
            del label.exits[count:]


class _Place:
    """Where binding is, to come back to as if nothing had been bound afterwards."""

    def __init__(self, cx: Context) -> None:
        self._cx = cx
        self._begun = cx.stamp()
        self._state, self._block = cx.state.copy(), cx.block
        self._mark = Mark(cx)
        self._problems = len(cx.problems)
        self._functions = len(cx.functions)
        self._iterators = len(cx.iterators)
        self._lists = [
            (each, len(each)) for each in (cx.catching, cx.kept, cx.write_logs, cx.loop_starts, cx.open_loops)
        ]
        self._tables = [(each, len(each)) for each in (cx.cells, cx.payload, cx.weights)]
        self._flags = {name: getattr(cx, name) for name in _FLAGS}

    def confines(self, restart: Restart) -> bool:
        """Whether what was learned is about sites of after this place. A function of the IR may rest on anything."""
        if not restart.sites or len(self._cx.functions) != self._functions:
            return False
        return all(self._first_seen(site) > self._begun for site in restart.sites)

    def _first_seen(self, site: Any) -> int:
        """When facts of the site can have been asked for at the earliest; 0 where that is not known.

        A key that was made from a site, such as (site, "collect"), did not exist before it.
        """
        seen = self._cx.first_seen.get(site)
        if seen is not None:
            return seen
        return max(map(self._first_seen, site), default=0) if isinstance(site, tuple) else 0

    def go_back(self) -> None:
        cx = self._cx
        cx.state, cx.block = self._state.copy(), self._block
        self._mark.drop()
        del cx.problems[self._problems :]
        while len(cx.iterators) > self._iterators:
            it, uses, collected = cx.iterators.pop()
            it.uses, it.collected = uses, collected
        for each, count in self._lists:
            del each[count:]
        for table, count in self._tables:
            while len(table) > count:
                table.popitem()
        for name, value in self._flags.items():
            setattr(cx, name, value)


#: What is set while something is bound, and set back by whoever set it.
_FLAGS = (
    "path",
    "span",
    "inner",
    "in_function",
    "returning",
    "peeking",
    "strict",
    "storing",
    "storing_field",
    "inside_options",
)
